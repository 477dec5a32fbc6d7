package credentials

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// isGoing is a Secret that waits for the finalizer of another program.
func isGoing(t *testing.T, k *keeping) {
	t.Helper()
	k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Finalizers = append(s.Finalizers, "example.com/keep") })
	expect.OK(t, k.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vcenter"}}))
}

// heldWorld has a machine whose Secret is held, with all counts at zero.
func heldWorld(t *testing.T) (*keeping, *infrav1.WindowsMachine) {
	t.Helper()
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	m := machine("m", vcenter("a"), holding)
	k.saw(m)
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", []string{infrav1.CredentialsFinalizer}, k.finalizers(t, vcenter("a")))
	expect.Same(t, "reads and patches", [2]int{1, 1}, [2]int{len(k.reads), k.patches})
	k.woken()
	k.reads, k.patches = nil, 0
	return k, m
}

// TestFreedOnce: the last machine costs one read and one patch, and waits for no more.
func TestFreedOnce(t *testing.T) {
	k, m := heldWorld(t)
	expect.Same(t, "it waits", true, errors.Is(k.Free(m), phase.ErrAwaited))
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", 0, len(k.finalizers(t, vcenter("a"))))
	expect.Same(t, "reads and patches", [2]int{1, 1}, [2]int{len(k.reads), k.patches})
	expect.Same(t, "woken", []string{"m"}, k.woken())
	expect.OK(t, k.Free(m))
	k.lost(m)
	expect.Same(t, "machines that are remembered", 0, len(k.freed))
}

// TestHeldOnce: a finalizer that is there is not written again.
func TestHeldOnce(t *testing.T) {
	k, _ := heldWorld(t)
	k.pass(t, time.Minute)
	expect.Same(t, "patches", 0, k.patches)
}

// TestFreeWithoutTheSecret: a Secret that was there, and is gone, holds no machine up.
func TestFreeWithoutTheSecret(t *testing.T) {
	k, m := heldWorld(t)
	k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Finalizers = nil })
	expect.OK(t, k.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vcenter"}}))
	k.pass(t, reads.Interval)
	expect.OK(t, k.Free(m))
}

// TestFreedMeanwhile: a machine that is let go while its Secret gets the finalizer waits until that is off again.
func TestFreedMeanwhile(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	m := machine("m", vcenter("a"), holding)
	k.saw(m)
	k.during = func() {
		k.during = nil
		expect.Same(t, "it waits", true, errors.Is(k.Free(m), phase.ErrAwaited))
	}
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", 0, len(k.finalizers(t, vcenter("a"))))
	expect.OK(t, k.Free(m))
}

// TestLeftFinalizer: what an earlier process did not take off is taken off when a machine names the Secret.
func TestLeftFinalizer(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Finalizers = []string{infrav1.CredentialsFinalizer} })
	k.saw(machine("m", vcenter("a")))
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", 0, len(k.finalizers(t, vcenter("a"))))
}

// TestHeldTooLate: the API server takes no new finalizer for what is being deleted, so that none is tried.
func TestHeldTooLate(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	isGoing(t, k)
	k.saw(machine("m", vcenter("a"), holding))
	k.pass(t, time.Minute)
	expect.Same(t, "patches", 0, k.patches)
}

// TestChangedMeanwhile: a Secret that another client changes at that time is read again at once, without a word in the log; and
// people are not told of it.
func TestChangedMeanwhile(t *testing.T) {
	k, m := heldWorld(t)
	k.patchRefusal = apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "vcenter", errors.New("modified"))
	expect.Same(t, "it waits", true, errors.Is(k.Free(m), phase.ErrAwaited))
	k.pass(t, time.Second)
	expect.Same(t, "tries in a second", 5, k.patches)
	expect.Same(t, "it still waits", true, errors.Is(k.Free(m), phase.ErrAwaited))
	expect.Same(t, "lines", 1, len(k.lines)) // of the finalizer before
	k.patchRefusal = nil
	k.pass(t, time.Second)
	expect.OK(t, k.Free(m))
}

// TestRefusedPatch is tried with each read and no sooner, whatever happens to machines, and logged.
func TestRefusedPatch(t *testing.T) {
	k, m := heldWorld(t)
	k.patchRefusal = errors.New("read only")
	_ = k.Free(m)
	k.pass(t, reads.Interval)
	expect.Same(t, "tries", 1, k.patches)
	expect.Same(t, "lines", 2, len(k.lines))
	for range 10 {
		k.saw(m)
		k.pass(t, 100*time.Millisecond)
	}
	expect.Same(t, "tries a second later", 2, k.patches)
}

// told are the events of a keeper, whole.
type told struct{ all []string }

//nolint:revive // because the interface has so many arguments
func (e *told) Eventf(about, _ runtime.Object, kind, reason, action, note string, args ...any) {
	of := about.(client.Object)
	head := fmt.Sprintf("%s/%s %s %s %s %s: ", of.GetNamespace(), of.GetName(), of.GetUID(), kind, reason, action)
	e.all = append(e.all, head+fmt.Sprintf(note, args...))
}

// TestTellsOnce: people are told that a Secret waits for its machines, once for each time that it is deleted.
func TestTellsOnce(t *testing.T) {
	k := newKeeping(t)
	events := &told{}
	k.Events, k.WatchFilter = events, "ours"
	label := func(m *infrav1.WindowsMachine) { m.Labels = map[string]string{"cluster.x-k8s.io/watch-filter": "ours"} }
	k.put(t, vcenter("a"), "one")
	k.saw(machine("idle", vcenter("a"), label))
	k.saw(machine("a-theirs", vcenter("a"), holding))
	isGoing(t, k)
	k.pass(t, 3*reads.Interval)
	expect.Same(t, "told of machines without VMs, or of another manager", 0, len(events.all))
	for _, name := range []string{"c", "b", "d"} {
		k.saw(machine(name, vcenter("a"), holding, label))
	}
	k.pass(t, 3*reads.Interval)
	want := "a/b b Warning CredentialsBeingDeleted Reconcile: Secret vcenter is being deleted; " +
		"it stays until the VMs that cannot be removed without it are gone (machines: 3)"
	expect.Same(t, "told", []string{want}, events.all)
	again := func() {
		k.change(t, vcenter("a"), func(s *corev1.Secret) { s.Finalizers = nil })
		k.put(t, vcenter("a"), "two")
		k.pass(t, 2*reads.Interval)
	}
	again()
	expect.Same(t, "told of a new one", 1, len(events.all))
	expect.OK(t, k.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vcenter"}}))
	k.pass(t, 2*reads.Interval)
	expect.Same(t, "told of it when it goes, too", []string{want, want}, events.all)
}

// heldManager is a manager with one informer, whose events the test makes.
type heldManager struct {
	ctrl.Manager

	refuses string
	all     *heldInformer
	runs    manager.Runnable
}

func (m *heldManager) GetCache() cache.Cache { return heldCache{of: m} }

func (m *heldManager) Add(runs manager.Runnable) error {
	m.runs = runs
	return m.refuse("runnable")
}

func (m *heldManager) refuse(what string) error {
	if m.refuses == what {
		return errors.New(what)
	}
	return nil
}

type heldCache struct {
	cache.Cache

	of *heldManager
}

func (c heldCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.of.all, c.of.refuse("informer")
}

type heldInformer struct {
	cache.Informer

	of      *heldManager
	synced  bool
	handler toolscache.ResourceEventHandler
}

func (i *heldInformer) AddEventHandler(
	handler toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.handler = handler
	return heldRegistration{of: i}, i.of.refuse("handler")
}

type heldRegistration struct {
	toolscache.ResourceEventHandlerRegistration

	of *heldInformer
}

func (r heldRegistration) HasSynced() bool { return r.of.synced }

// TestSetup follows the machines of a cache, and reads Secrets once all machines are known.
func TestSetup(t *testing.T) {
	for _, refuses := range []string{"informer", "handler", "runnable"} {
		k := newKeeping(t)
		m := &heldManager{refuses: refuses}
		m.all = &heldInformer{of: m}
		expect.Says(t, "start", k.Setup(t.Context(), m, k.secretOf), refuses)
	}
	for _, synced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			k := newKeeping(t)
			k.Clock = nil
			var patience time.Duration
			k.put(t, vcenter("a"), "one")
			b := types.NamespacedName{Namespace: "a", Name: "b"}
			k.put(t, b, "one")
			k.Live = heldReader{k.api, &patience}
			m := &heldManager{}
			m.all = &heldInformer{of: m, synced: synced}
			secretOf := k.secretOf
			k.secretOf = nil
			expect.OK(t, k.Setup(ctx, m, secretOf))
			m.all.handler.OnAdd(machine("m", vcenter("a")), true)
			ended := make(chan error, 1)
			go func() { ended <- m.runs.Start(ctx) }()
			<-time.After(time.Second)
			m.all.handler.OnUpdate(nil, machine("m", b))
			<-time.After(59 * time.Second)
			m.all.handler.OnDelete(machine("m", b))
			reads := len(k.reads)
			<-time.After(time.Minute)
			expect.Same(t, "reads after the machine", reads, len(k.reads))
			cancel()
			expect.OK(t, <-ended)
			if !synced {
				expect.Same(t, "reads before all machines are known", 0, len(k.reads))
				return
			}
			var names []types.NamespacedName
			for _, r := range k.reads {
				names = append(names, r.Name)
			}
			expect.Same(t, "reads", []types.NamespacedName{vcenter("a"), b, b, b, b, b, b}, names)
			expect.Same(t, "an answer may take", 10*time.Second, patience)
		})
	}
}

// heldReader notes how long an answer may take.
type heldReader struct {
	client.Reader

	patience *time.Duration
}

func (r heldReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	until, _ := ctx.Deadline()
	*r.patience = time.Until(until)
	return r.Reader.Get(ctx, key, o, options...)
}
