package identities

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	owner = "identities" // the namespace that offers the identity
	group = "infrastructure.cluster.x-k8s.io"
)

// api is a cluster that counts what is read of it, and forbids some.
type api struct {
	client.Client
	mu        sync.Mutex
	asked     []string
	at        []time.Time // of what was asked
	forbidden string
	hangs     string // until the caller gives up
	hung      []time.Duration
}

func newAPI(objects ...client.Object) *api {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("azureclusteridentities." + group)
	crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"})
	return &api{Client: fake.NewClientBuilder().WithObjects(append(objects, crd)...).Build()}
}

func (a *api) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = "Secret"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked, a.at = append(a.asked, kind+" "+key.String()), append(a.at, time.Now())
	if kind == a.hangs {
		began := time.Now()
		a.mu.Unlock()
		<-ctx.Done()
		a.mu.Lock()
		a.hung = append(a.hung, time.Since(began))
		return ctx.Err()
	}
	if kind == a.forbidden {
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, key.Name, nil)
	}
	return a.Client.Get(ctx, key, o, options...)
}

func identityOf(allowed map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"type": "ServicePrincipal", "tenantID": "t", "clientID": "c", "allowedNamespaces": allowed,
		"clientSecret": map[string]any{"name": "proof", "namespace": owner},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1beta1", Kind: Kind})
	o.SetNamespace(owner)
	o.SetName(blue.Name)
	return o
}

func proof(value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: "proof"}, Data: map[string][]byte{"clientSecret": []byte(value)},
	}
}

func team(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: labels}}
}

var (
	blue = types.NamespacedName{Namespace: owner, Name: "blue"}
	m1   = types.NamespacedName{Namespace: "team", Name: "m1"}
	mine = Use{Machine: m1, Identity: blue}
)

// started is a keeper that runs until the test ends.
func started(t *testing.T, a *api) *Keeper {
	t.Helper()
	k := &Keeper{Live: a}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- k.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		expect.OK(t, <-over)
	})
	return k
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // because time stands still in the bubble otherwise
	synctest.Wait()
}

// settled is the answer once all is read that is needed for it.
func settled(k *Keeper, p azure.Provider, use Use) (Rights, error) {
	for range 5 {
		rights, err := k.Of(p, use)
		if err != phase.ErrAwaited { //nolint:errorlint // because it is returned as it is
			return rights, err
		}
		pass(time.Second / 5)
	}
	return k.Of(p, use)
}

func TestOf(t *testing.T) {
	labels, list := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"azure": "yes"}}}, map[string]any{
		"list": []any{"team"},
	}
	labeled := team(map[string]string{"azure": "yes"})
	for _, test := range []struct {
		name      string
		use       Use
		objects   []client.Object
		forbidden string
		provider  azure.Provider
		want      string
	}{
		{name: "listed", use: mine, objects: []client.Object{identityOf(list), proof("s"), team(nil)}},
		{name: "by a label", use: mine, objects: []client.Object{identityOf(labels), proof("s"), labeled}},
		{
			name: "without the label", use: mine,
			objects: []client.Object{identityOf(labels), proof("s"), team(nil)}, want: "does not allow namespace team",
		},
		{
			name: "labels that may not be read", use: mine, forbidden: "Namespace",
			objects: []client.Object{identityOf(labels), proof("s"), labeled}, want: "does not allow namespace team",
		},
		{
			name: "listed, and labels may not be read", use: mine, forbidden: "Namespace",
			objects: []client.Object{identityOf(list), proof("s"), labeled},
		},
		{
			name: "may not be read", use: mine, forbidden: Kind,
			objects: []client.Object{identityOf(list), proof("s"), labeled},
			want:    "the manager may not read identity identities/blue; give its account that right",
		},
		{name: "does not exist", use: mine, want: "AzureClusterIdentity identities/blue does not exist; create it"},
		{
			name: "its Secret does not exist", use: mine, objects: []client.Object{identityOf(list), team(nil)},
			want: "Secret proof of AzureClusterIdentity identities/blue does not exist; create it in namespace identities",
		},
		{name: "the manager's own, not allowed", use: Use{Machine: m1}, want: "the manager may not use its own for namespace team"},
		{
			name: "the manager's own", use: Use{Machine: m1},
			provider: azure.Provider{Namespaces: []string{"team"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(test.objects...)
				a.forbidden = test.forbidden
				rights, err := settled(started(t, a), test.provider, test.use)
				switch {
				case test.want == "" && (err != nil || rights.Provider == nil):
					t.Errorf("refused: %v", err)
				case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
					phase.Of(err).Reason != infrav1.CredentialsMissingReason):
					t.Errorf("the answer is %v, wanted %q", err, test.want)
				}
				if test.want == "" && test.use.Identity.Name != "" && string(rights.Data["clientSecret"]) != "s" {
					t.Errorf("the proof is %s", rights.Data)
				}
			})
		})
	}
}

// wakes feeds a queue. It returns a function with the machines that were woken since its last call.
func wakes(t *testing.T, k *Keeper) (woken func() []string) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	expect.OK(t, k.Feed(t.Context(), queue))
	return func() (names []string) {
		synctest.Wait()
		for queue.Len() > 0 {
			request, _ := queue.Get()
			names = append(names, request.Name)
			queue.Done(request)
		}
		slices.Sort(names)
		return names
	}
}

// TestChanges: each object is read every 10 seconds, however many machines ask; a change wakes them all, and what stays does not.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(identityOf(map[string]any{}), proof("one"), team(nil))
		k := started(t, a)
		woken := wakes(t, k)
		m2 := types.NamespacedName{Namespace: "team", Name: "m2"}
		for _, m := range []types.NamespacedName{m1, m2} {
			_ = expect.Got(settled(k, azure.Provider{}, Use{Machine: m, Identity: blue}))(t)
		}
		woken()
		a.forget()
		pass(reads.Interval + time.Second)
		expect.Same(t, "woken without a change", 0, len(woken()))
		a.mu.Lock()
		slices.Sort(a.asked)
		expect.Same(t, "read in 10 s", []string{
			"AzureClusterIdentity identities/blue", "CustomResourceDefinition /azureclusteridentities." + group, "Namespace /team",
			"Secret identities/proof",
		}, a.asked)
		a.mu.Unlock()
		changed := proof("two")
		expect.OK(t, a.Update(t.Context(), changed))
		pass(reads.Interval + time.Second)
		expect.Same(t, "woken by a change", []string{"m1", "m2"}, woken())
		rights := expect.Got(k.Of(azure.Provider{}, mine))(t)
		expect.Same(t, "proof", "two", string(rights.Data["clientSecret"]))
		expect.OK(t, a.Delete(t.Context(), changed))
		pass(reads.Interval + time.Second)
		expect.Same(t, "woken by a loss", []string{"m1", "m2"}, woken())
	})
}

// TestForgotten: no machine has asked for half an hour. What cannot be read keeps its last answer until then.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(identityOf(map[string]any{}), proof("one"), team(nil))
		k := started(t, a)
		_ = expect.Got(settled(k, azure.Provider{}, mine))(t)
		a.mu.Lock()
		a.forbidden = "Secret"
		a.mu.Unlock()
		pass(reads.Interval + time.Second)
		rights := expect.Got(k.Of(azure.Provider{}, mine))(t)
		expect.Same(t, "proof that can no longer be read", "one", string(rights.Data["clientSecret"]))
		pass(keep + reads.Interval + time.Second)
		a.forget()
		pass(time.Minute)
		expect.Same(t, "read for nobody", 0, len(a.asked))
		k.mu.Lock()
		defer k.mu.Unlock()
		expect.Same(t, "known for nobody", 0, len(k.readings))
	})
}

// TestPace: what is asked for is read one after the other, 200 ms apart. A reading that hangs is given up after 10 s.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		k, began := started(t, a), time.Now()
		for _, name := range []string{"one", "two", "three"} {
			secretOf := object{Kind: secret, NamespacedName: types.NamespacedName{Namespace: owner, Name: name}}
			_, _ = k.ask(secretOf, types.NamespacedName{Namespace: "team", Name: name}) // a machine has one at a time
		}
		pass(time.Second)
		var after []time.Duration
		a.mu.Lock()
		for _, at := range a.at {
			after = append(after, at.Sub(began))
		}
		expect.Same(t, "times", []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond}, after)
		a.hangs = "Secret"
		a.mu.Unlock()
		pass(20 * time.Second)
		a.mu.Lock()
		defer a.mu.Unlock()
		expect.Same(t, "time of one that hangs", 10*time.Second, a.hung[0])
	})
}

// TestForbiddenThenMissing: machines are woken when it turns out that what they may read now does not exist.
func TestForbiddenThenMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.forbidden = Kind
		k := started(t, a)
		woken := wakes(t, k)
		_, err := settled(k, azure.Provider{}, mine)
		expect.Says(t, "identity", err, "may not read")
		expect.Same(t, "woken by the first answer", []string{"m1"}, woken())
		a.mu.Lock()
		a.forbidden = ""
		a.mu.Unlock()
		pass(reads.Interval + time.Second)
		expect.Same(t, "woken by the next answer", []string{"m1"}, woken())
	})
}

// TestKeptForHalfAnHour: what was asked for half an hour ago is kept, and forgotten a moment later.
func TestKeptForHalfAnHour(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	k := &Keeper{readings: map[object]*reading{{Kind: identity, NamespacedName: blue}: {
		asked: map[types.NamespacedName]time.Time{m1: now.Add(-30 * time.Minute)}, Turn: reads.Turn{Due: now},
	}}}
	k.Clock = func() time.Time { return now }
	first, wait := k.Next(k.wanted)
	expect.Same(t, "whose turn it is", identity+" "+blue.String(), first.Kind+" "+first.String())
	expect.Same(t, "wait", time.Duration(0), wait)
	now = now.Add(1)
	for range k.wanted {
	}
	expect.Same(t, "kept", 0, len(k.readings))
}

// TestWithoutSecret: an identity that needs no proof has none, and no Secret is read for it.
func TestWithoutSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := identityOf(map[string]any{"list": []any{"team"}})
		spec, _ := o.Object["spec"].(map[string]any)
		const client = "99999999-0000-4000-8000-000000000009"
		spec["type"], spec["clientID"] = "WorkloadIdentity", client
		delete(spec, "clientSecret")
		a := newAPI(o, team(nil))
		lent := expect.Got(azure.Provider{}.Lend([]string{client + "=team"}))(t)
		rights := expect.Got(settled(started(t, a), lent, mine))(t)
		expect.Same(t, "proof", 0, len(rights.Data))
		a.mu.Lock()
		defer a.mu.Unlock()
		expect.Same(t, "a Secret is read", false, slices.ContainsFunc(a.asked, func(what string) bool {
			return strings.HasPrefix(what, "Secret ")
		}))
	})
}
