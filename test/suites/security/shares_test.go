package security

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestShares: a tenant with a namespace, or two, wants more of the managers than a namespace may have.
func TestShares(t *testing.T) {
	t.Parallel()
	attempt(t,
		attack{"tenant", "opens accounts in one namespace and goes on with them in another, to have any number", passOn},
		attack{"operator", "writes an entry of --tenants that would lift more than it says", entriesOfTenants},
		attack{"tenant", "has Clusters come and go, so that no look at them is paid for", comeAndGo},
		attack{"workload cluster", "has findings without end in a thousand Clusters, so that nobody else's are told", flood},
		attack{"tenant", "changes 2,000 kubeconfigs at each look, so that they are read without a pause", changeKubeconfigs},
		attack{"tenant", "has 100 Clusters asked for at once, so that all of them stay connected", connectAtOnce},
	)
}

// passOn has a second namespace hold the accounts of a first one, which lets them go and opens others.
func passOn(t *testing.T) string {
	r := &accounts.Register{Changed: func(...cloud.Key) {}, Now: time.Now}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	defer func() {
		end()
		expect.OK(t, <-ended)
	}()
	p, most := fake.Provider{World: &fake.World{}}, tenants.Limits(nil).Allowed("any", tenants.Accounts)
	get := func(namespace, name string) error {
		secret := cloud.Key{Namespace: namespace, Name: name}
		return expect.ErrorOf(r.Get(p, secret, map[string][]byte{"clientSecret": []byte(name)}, false))
	}
	open := func(namespace, name string) {
		wait.Eventually(t, "an account to be opened", func(context.Context) error { return get(namespace, name) })
	}
	for round := range 4 {
		for i := range most {
			name := fmt.Sprint(round, "-", i)
			open("opener", name)
			expect.OK(t, get("heir", name))
		}
		for i := range most {
			r.Gone(p, cloud.Key{Namespace: "opener", Name: fmt.Sprint(round, "-", i)})
		}
	}
	stays := 0
	for round := range 4 {
		for i := range most {
			if get("heir", fmt.Sprint(round, "-", i)) == nil {
				stays++
			}
		}
	}
	if stays > most {
		t.Errorf("the namespace has %d accounts, and may have %d", stays, most)
	}
	refused, _ := errors.AsType[*cloud.Error](get("heir", "one more"))
	if refused == nil || refused.Reason != infrav1.TooManyAccountsReason {
		t.Errorf("one more: %v", refused)
	}
	return fmt.Sprintf("%d accounts stay: %s", stays, infrav1.TooManyAccountsReason)
}

// entriesOfTenants sets the flag to what people write, and to what a template makes of a tenant's words.
func entriesOfTenants(t *testing.T) string {
	refused, shipped := 0, tenants.Limits(nil).Allowed("", tenants.Accounts)
	for _, entry := range []string{
		" team:accounts=64", "team :accounts=64", "*:accounts=64", "te*m:accounts=64", "team,other:accounts=64", "team/x:accounts=64",
		"team\n:accounts=64", ":accounts=64", "team::accounts=64", "team:accounts=64,other:accounts=64", "team:accounts=٦٤",
		"team:accounts=0x40", "team:accounts=1e3", "team:accounts=64 ", "team:accounts=99999999999999999999", "team:Accounts=64",
		"team:accounts=64,", "team:,accounts=64", "team:accounts=-1", "team:accounts==64", "TEAM:accounts=64", "team.x:accounts=64",
	} {
		limits, err := tenants.Parse([]string{entry})
		if err != nil {
			refused++
		}
		for _, namespace := range []string{"team", "other", "x", "*", ""} {
			if got := limits.Allowed(namespace, tenants.Accounts); got != shipped {
				t.Errorf("%q gives %q %d accounts", entry, namespace, got)
			}
		}
	}
	return fmt.Sprintf("%d of 22 are refused, and none lifts anything", refused)
}

// comeAndGo has ten Clusters at a time, each of which is gone after a look that took a second of a processor.
func comeAndGo(t *testing.T) (verdict string) {
	synctest.Test(t, func(t *testing.T) {
		const span = 30 * time.Minute
		m, used, began := &tenants.Meter{Work: func(f func()) time.Duration { f(); return time.Second }}, 0, time.Now()
		for next := 0; time.Since(began) < span; next++ {
			for i := range 10 {
				cluster := types.NamespacedName{Namespace: "evil", Name: fmt.Sprint(next, "-", i)}
				if m.Rest(cluster, time.Now()) == 0 {
					m.Charge(cluster, time.Now, func() { used++ })
				}
				m.Forget(cluster, time.Now())
			}
			honest := types.NamespacedName{Namespace: "honest", Name: "prod"}
			expect.Same(t, "rest of another namespace", time.Duration(0), m.Rest(honest, time.Now()))
			<-time.After(time.Second)
		}
		share := float64(used) / span.Seconds()
		if share > 0.27 {
			t.Errorf("the namespace had %.0f %% of a processor", 100*share)
		}
		verdict = fmt.Sprintf("%.0f %% of a processor over %s", 100*share, span)
	})
	return verdict
}

// flood has each of a thousand Clusters ask for ten events each second.
func flood(t *testing.T) (verdict string) {
	synctest.Test(t, func(t *testing.T) {
		const minutes = 10
		p, events := &tenants.Pace{}, 0
		for second := range minutes * 60 {
			for range 1000 {
				events += p.Take(tenants.Events, "evil", 10, time.Now())
			}
			if second%60 == 0 {
				expect.Same(t, "events of another namespace", 10, p.Take(tenants.Events, "honest", 10, time.Now()))
			}
			<-time.After(time.Second)
		}
		if events > tenants.Events.AtOnce*(minutes+1) {
			t.Errorf("%d events in %d minutes", events, minutes)
		}
		verdict = fmt.Sprintf("%d events in %d minutes, of six millions", events, minutes)
	})
	return verdict
}

// secrets is a management cluster whose kubeconfigs a function makes, and which counts how often they are read.
type secrets struct {
	client.Reader
	reads atomic.Int64
	made  func(read int64) []byte
}

// Get implements client.Reader.
func (s *secrets) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if secret, ok := o.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{"value": s.made(s.reads.Add(1))}
	}
	return nil
}

func changeKubeconfigs(t *testing.T) (verdict string) {
	synctest.Test(t, func(t *testing.T) {
		const minutes = 10
		s := &secrets{made: func(read int64) []byte { return fmt.Appendf(nil, "clusters: [%d", read) }}
		c := &workload.Clusters{Live: s}
		for range minutes * 60 {
			for i := range 2000 {
				_, err := c.GetClient(t.Context(), client.ObjectKey{Namespace: "evil", Name: fmt.Sprint(i)})
				if !workload.OutOfReach(err) {
					t.Fatalf("it is not out of reach: %v", err)
				}
			}
			<-time.After(time.Second)
		}
		a := s.reads.Load() / minutes
		if a > 60*10+64 { // a tenth of what the manager may ask for
			t.Errorf("%d reads a minute", a)
		}
		before := s.reads.Load()
		_, _ = c.GetClient(t.Context(), client.ObjectKey{Namespace: "honest", Name: "prod"})
		expect.Same(t, "reads for another namespace at once", int64(1), s.reads.Load()-before)
		verdict = fmt.Sprintf("%d reads a minute, and another namespace's is read at once", a)
	})
	return verdict
}

// connectAtOnce has sixteen workers of a manager use one Cluster after the other.
func connectAtOnce(t *testing.T) string {
	server := newPeer(t, true, answers(http.StatusOK, `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}`))
	s := &secrets{made: func(int64) []byte {
		return kubeconfig(fields{"server": server.URL, "certificate-authority-data": server.ca()}, fields{"token": "own"})
	}}
	c := &workload.Clusters{Live: s, QPS: 1000, Burst: 1000, UserAgent: "us"}
	const clusters = 100
	world.Together(clusters, func(n int) {
		wait.Eventually(t, "a Cluster to answer", func(ctx context.Context) error {
			api, err := c.GetClient(ctx, client.ObjectKey{Namespace: "evil", Name: fmt.Sprint(n)})
			if err == nil {
				err = api.List(ctx, &corev1.NodeList{}, client.Limit(1))
			}
			return err
		})
	})
	wait.Until(t, "the connections beyond the limit to be closed", func() (any, bool) {
		open := server.open()
		return open, open <= tenants.Limits(nil).Allowed("evil", tenants.Clusters)
	})
	return fmt.Sprintf("%d Clusters have answered, %d are connected", clusters, server.open())
}
