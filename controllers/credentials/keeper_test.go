package credentials

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// keeping is a keeper whose time is the test's, at an API server in memory.
type keeping struct {
	*Keeper
	api   client.WithWatch
	clock time.Time
	reads []read
	refusal,
	patchRefusal error
	events  *events.FakeRecorder
	fed     workqueue.TypedRateLimitingInterface[ctrl.Request]
	patches int
	during  func() // a patch
	lines   []string
}

// read is a Secret that was read, and when.
type read struct {
	At   time.Duration
	Name types.NamespacedName
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newKeeping(t *testing.T) *keeping {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, corev1.AddToScheme(scheme))
	k := &keeping{clock: start, events: events.NewFakeRecorder(10)}
	k.api = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(calls.Ask(func(c calls.Call) error {
		switch c.Verb {
		case "get":
			k.reads = append(k.reads, read{k.clock.Sub(start), c.Key})
			return k.refusal
		case "patch":
			k.patches++
			if k.during != nil {
				k.during()
			}
			return k.patchRefusal
		}
		return nil
	})).Build()
	k.Keeper = &Keeper{
		Live: k.api, Client: k.api, Events: k.events, Reader: reads.Reader{Clock: func() time.Time { return k.clock }},
		secretOf: func(m *infrav1.WindowsMachine) (name types.NamespacedName) {
			if m.Spec.VSphere != nil {
				name = types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.IdentityRef.Name}
			}
			return name
		},
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	t.Cleanup(queue.ShutDown)
	k.fed = queue
	expect.OK(t, k.Feed(t.Context(), queue))
	return k
}

// pass has the keeper work for some time.
func (k *keeping) pass(t *testing.T, d time.Duration) {
	t.Helper()
	log := funcr.New(func(_, args string) { k.lines = append(k.lines, args) }, funcr.Options{})
	for end := k.clock.Add(d); k.clock.Before(end); {
		name, wait := k.Next(k.wanted)
		if wait == 0 {
			k.look(ctrl.LoggerInto(t.Context(), log), name)
			continue
		}
		k.clock = k.clock.Add(min(wait, end.Sub(k.clock)))
	}
}

// woken are the machines that were woken since the last call.
func (k *keeping) woken() []string {
	names := []string{}
	for k.fed.Len() > 0 {
		request, _ := k.fed.Get()
		names = append(names, request.Name)
		k.fed.Done(request)
	}
	slices.Sort(names)
	return names
}

func (k *keeping) put(t *testing.T, name types.NamespacedName, password string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	secret.Data = map[string][]byte{"clientSecret": []byte(password)}
	expect.OK(t, k.api.Create(t.Context(), secret))
}

func (k *keeping) change(t *testing.T, name types.NamespacedName, edit func(*corev1.Secret)) {
	t.Helper()
	var secret corev1.Secret
	expect.OK(t, k.stored(name, &secret))
	edit(&secret)
	expect.OK(t, k.api.Update(t.Context(), &secret))
}

// stored reads past the count.
func (k *keeping) stored(name types.NamespacedName, into *corev1.Secret) error {
	before, refusal := k.reads, k.refusal
	k.refusal = nil
	defer func() { k.reads, k.refusal = before, refusal }()
	return k.api.Get(context.Background(), name, into)
}

func (k *keeping) finalizers(t *testing.T, name types.NamespacedName) []string {
	t.Helper()
	var secret corev1.Secret
	expect.OK(t, k.stored(name, &secret))
	return secret.Finalizers
}

func vcenter(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "vcenter"}
}

// machine names a Secret.
func machine(name string, secret types.NamespacedName, changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: name, UID: types.UID(name)}}
	m.Spec.IdentityRef.Name, m.Spec.VSphere = secret.Name, &infrav1.VSphereVM{}
	for _, change := range changes {
		change(m)
	}
	return m
}

func holding(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }

func (k *keeping) of(m *infrav1.WindowsMachine) (Secret, error) {
	return k.Of(k.secretOf(m), client.ObjectKeyFromObject(m))
}

// A machine that asks for a Secret that was never read is woken once it was, even if the keeper does not know the machine yet.
func TestFirstUse(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	known, unknown := machine("known", vcenter("a")), machine("unknown", vcenter("a"))
	k.saw(known)
	for _, m := range []*infrav1.WindowsMachine{known, unknown} {
		if _, err := k.of(m); !errors.Is(err, phase.ErrAwaited) {
			t.Errorf("%s gets %v before the Secret was read", m.Name, err)
		}
	}
	k.pass(t, time.Millisecond)
	expect.Same(t, "woken", []string{"known", "unknown"}, k.woken())
	got := expect.Got(k.of(unknown))(t)
	expect.Same(t, "kept", Secret{Exists: true, Data: map[string][]byte{"clientSecret": []byte("one")}}, got)
	expect.Same(t, "reads", []read{{0, vcenter("a")}}, k.reads)
}

// TestChange changes a Secret, removes it and brings it back: all its machines are woken, in at most the time between two reads.
// What does not change wakes no one.
func TestChange(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	k.put(t, vcenter("b"), "one")
	k.saw(machine("1", vcenter("a"), holding))
	k.saw(machine("2", vcenter("a")))
	k.saw(machine("3", vcenter("b")))
	k.pass(t, reads.Interval)
	expect.Same(t, "woken by the first reads", []string{"1", "2", "3"}, k.woken())
	k.pass(t, 3*reads.Interval)
	expect.Same(t, "woken by nothing", []string{}, k.woken())
	for what, change := range map[string]func(){
		"another password": func() { k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Data["clientSecret"] = []byte("two") }) },
		"absence": func() {
			k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Finalizers = nil })
			expect.OK(t, k.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vcenter"}}))
			k.pass(t, reads.Interval)
			expect.Same(t, "woken by absence", []string{"1", "2"}, k.woken())
			if got := expect.Got(k.of(machine("1", vcenter("a"))))(t); got.Exists || got.Data != nil {
				t.Errorf("a Secret that is gone is %+v", got)
			}
			k.put(t, vcenter("a"), "three")
		},
	} {
		change()
		k.pass(t, reads.Interval)
		expect.Same(t, "woken by "+what, []string{"1", "2"}, k.woken())
	}
	k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Labels = map[string]string{"a": "b"} })
	k.pass(t, 2*reads.Interval)
	expect.Same(t, "woken by a label", []string{}, k.woken())
}

// TestUnreadable keeps what is known while the API server refuses a read, and tells who has nothing.
func TestUnreadable(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	k.put(t, vcenter("b"), "one")
	one, two := machine("1", vcenter("a")), machine("2", vcenter("b"))
	k.saw(one)
	k.pass(t, time.Second)
	k.refusal = errors.New("no quorum")
	k.saw(two)
	k.pass(t, reads.Interval)
	expect.Same(t, "woken", []string{"1", "2"}, k.woken())
	if got := expect.Got(k.of(one))(t); !got.Exists {
		t.Errorf("what was known is %+v", got)
	}
	if _, err := k.of(two); err == nil || err.Error() != "get credentials: no quorum" {
		t.Errorf("what was never read is %v", err)
	}
	k.pass(t, reads.Interval)
	expect.Same(t, "woken by the same error", []string{}, k.woken())
	k.refusal = nil
	k.pass(t, reads.Interval)
	expect.Same(t, "woken", []string{"2"}, k.woken())
}

// TestFirstReadOfNothing: a Secret that is not there is news, too.
func TestFirstReadOfNothing(t *testing.T) {
	k := newKeeping(t)
	k.saw(machine("m", vcenter("a")))
	k.pass(t, time.Second)
	expect.Same(t, "woken", []string{"m"}, k.woken())
}

// TestWithoutASecret: a machine of a cloud that needs no Secret is none of ours.
func TestWithoutASecret(t *testing.T) {
	k := newKeeping(t)
	m := machine("m", vcenter("a"), holding)
	m.Spec.VSphere = nil
	k.saw(m)
	expect.OK(t, k.Free(m))
	k.pass(t, time.Minute)
	expect.Same(t, "what is remembered of Secrets", 0, len(k.reads)+len(k.secrets)+len(k.uses))
}

// TestComesBack: a machine that is gone and there again, as after a list that was late, uses its Secret as before.
func TestComesBack(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	m := machine("m", vcenter("a"), holding)
	k.saw(m)
	k.lost(toolscache.DeletedFinalStateUnknown{Obj: m})
	expect.Same(t, "uses of a machine that is gone", 0, len(k.uses))
	k.saw(m)
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", []string{infrav1.CredentialsFinalizer}, k.finalizers(t, vcenter("a")))
}
