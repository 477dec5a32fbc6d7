package identities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// hostile is the use of an identity of a namespace that names many, by a machine.
func hostile(machine, identity int, holds bool) Use {
	return Use{
		Machine:  types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint("m-", machine)},
		Identity: types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint("id-", identity)}, Holds: holds,
	}
}

// forget drops what was asked so far.
func (a *api) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = nil
}

// hanging is a cluster that does not answer for objects of the hostile namespace.
type hanging struct{ *api }

// Get is part of client.Reader.
func (h hanging) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if key.Namespace == "hostile" {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.api.Get(ctx, key, o, options...)
}

// TestManyIdentities: beside a thousand machines of a namespace, each with an identity that does not exist or is not answered,
// the first machine of another namespace has its rights within a second, and a Secret that changes is seen in its period.
func TestManyIdentities(t *testing.T) {
	lifted, second := expect.Got(tenants.Parse([]string{"hostile:identities=1000"}))(t), time.Second
	for name, c := range map[string]struct {
		limits  tenants.Limits
		hangs   bool
		longest time.Duration
	}{
		"that do not exist": {nil, false, second}, "of which all count": {lifted, false, second + second/5},
		"that are not answered": {nil, true, second}, "that are not answered, of which all count": {lifted, true, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(identityOf(map[string]any{"list": []any{"team"}}), proof("one"), team(nil))
			k := &Keeper{Live: a, Limits: c.limits}
			if c.hangs {
				k.Live = hanging{a}
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { expect.Fine(t, k.Start(ctx)) })
			running.Go(func() {
				for ctx.Err() == nil {
					for i := range 1000 {
						_, _ = k.Of(azure.Provider{}, hostile(i, i, false))
					}
					limited, cancel := context.WithTimeout(ctx, 5*time.Second)
					<-limited.Done()
					cancel()
				}
			})
			pass(time.Minute)
			began := time.Now()
			for {
				if _, err := k.Of(azure.Provider{}, mine); err == nil {
					break
				}
				pass(time.Millisecond)
			}
			first := time.Since(began)
			pass(time.Minute)
			expect.OK(t, a.Update(t.Context(), proof("two")))
			began = time.Now()
			for string(expect.Got(k.Of(azure.Provider{}, mine))(t).Data["clientSecret"]) != "two" {
				pass(time.Millisecond)
			}
			t.Logf("beside 1,000 identities %s: rights after %s, a new Secret after %s", name, first, time.Since(began))
			expect.Same(t, "rights within five reads, or six where all count", true, first <= c.longest)
			expect.Same(t, "a new Secret in its period", true, time.Since(began) <= reads.Interval+5*time.Second)
			cancel()
			running.Wait()
		})
	}
}

// TestRoomForIdentities: machines of a namespace use as many as it may have. One that may have a VM, as one that is deleted, uses
// one of as many again, and beyond that waits for a turn of a minute.
func TestRoomForIdentities(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var noticed []int
	k := &Keeper{Notices: &tenants.Notices{Publish: func(n tenants.Notice) { noticed = append(noticed, n.Count) }}}
	k.Clock = func() time.Time { return now }
	refuses := func(what string, use Use, count int) {
		t.Helper()
		_, err := k.Of(azure.Provider{}, use)
		expect.Same(t, what, infrav1.TooManyAccountsReason, phase.Of(err).Reason)
		expect.Says(t, what, err, fmt.Sprintf("already use %d identities of the kind AzureClusterIdentity", count))
		expect.Same(t, what+": it comes again", 2*time.Minute, phase.Of(err).After)
	}
	accepts := func(what string, use Use) {
		t.Helper()
		_, err := k.Of(azure.Provider{}, use)
		expect.Same(t, what+", which waits for a read", true, errors.Is(err, phase.ErrAwaited))
	}
	for i := range 16 {
		accepts("a machine", hostile(i, i, false))
		accepts("another one with the same identity", hostile(100+i, i, false))
		now = now.Add(time.Second)
	}
	refuses("one more", hostile(50, 50, false), 16)
	_, err := k.Proof(hostile(50, 50, false))
	expect.Same(t, "one more, whose Secret is looked for", infrav1.TooManyAccountsReason, phase.Of(err).Reason)
	expect.Same(t, "noticed", []int{12, 16}, noticed)
	accepts("another namespace", Use{Machine: m1, Identity: hostile(0, 50, false).Identity})
	for i := 16; i < 32; i++ {
		accepts("with a VM", hostile(i, i, true))
		now = now.Add(time.Second)
	}
	refuses("with a VM, before a turn is over", hostile(32, 32, true), 32)
	now = now.Add(28 * time.Second)
	accepts("with a VM, later", hostile(32, 32, true))
	refuses("the one whose turn is over", hostile(0, 0, false), 16)
	refuses("with a VM, until the next turn is over", hostile(33, 33, true), 32)
	count, _, _ := k.used("hostile")
	expect.Same(t, "identities of the namespace", 32, count)

	now = now.Add(keep + time.Second)
	for range k.wanted {
	}
	expect.Same(t, "kept for nobody", 0, len(k.readings))
	accepts("when nobody has asked for long", hostile(50, 50, false))
}

// TestWokenByRoom: a machine that was refused an identity is woken once, as soon as its namespace uses fewer than it may: because
// a machine uses another one, or because no machine has asked for one in half an hour.
func TestWokenByRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Keeper{Live: newAPI()}
		woken := wakes(t, k)
		ask := func(machine, identity int, holds bool) {
			_, _ = k.Of(azure.Provider{}, hostile(machine, identity, holds))
		}
		for i := range 16 {
			ask(i, i, false)
		}
		ask(16, 16, true)
		ask(50, 50, false)
		ask(51, 51, false)
		_, _ = k.Proof(hostile(52, 52, false))
		ask(15, 14, false)
		_, _ = k.Of(azure.Provider{}, Use{Machine: m1, Identity: blue})
		expect.Same(t, "woken while it is full", 0, len(woken()))
		ask(14, 13, false)
		ask(15, 13, false)
		expect.Same(t, "woken by one that is left", []string{"m-50", "m-51", "m-52"}, woken())
		ask(13, 12, false)
		expect.Same(t, "woken again", 0, len(woken()))

		ask(50, 50, false)
		ask(51, 51, false)
		pass(keep)
		for i := range 13 {
			ask(i, i, false)
		}
		for range k.wanted {
		}
		expect.Same(t, "woken before that", 0, len(woken()))
		pass(time.Second)
		for range k.wanted {
		}
		expect.Same(t, "woken by time", []string{"m-51"}, woken())
	})
}

// TestIdentitiesThatChange: a machine that names another identity every second, and an identity that names another Secret at each
// read, keep no more than one of each.
func TestIdentitiesThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(identityOf(map[string]any{"list": []any{"team"}}), team(nil))
		k := started(t, a)
		most := 0
		for i := range 1200 {
			changed := identityOf(map[string]any{"list": []any{"team"}})
			name := fmt.Sprint("proof-", i)
			changed.Object["spec"].(map[string]any)["clientSecret"] = map[string]any{"name": name, "namespace": owner}
			if i%10 == 0 { // as often as it is read
				a.put(t, changed)
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: name}}
				secret.Data = map[string][]byte{"clientSecret": []byte(strings.Repeat("x", 1000))}
				expect.OK(t, a.Create(t.Context(), secret))
			}
			_, _ = k.Of(azure.Provider{}, mine)
			_, err := k.Of(azure.Provider{}, hostile(0, i, true))
			expect.Same(t, "a change is no refusal", false, phase.Of(err).Reason == infrav1.TooManyAccountsReason)
			pass(time.Second)
			k.mu.Lock()
			most = max(most, len(k.readings))
			k.mu.Unlock()
		}
		t.Logf("at most %d objects are kept", most)
		expect.Same(t, "objects that are kept", true, most <= 12)
	})
}
