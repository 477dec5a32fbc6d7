package credentials

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFinalizer holds a Secret from the first machine that may have a VM until the last one is let go. The finalizers of others
// stay.
func TestFinalizer(t *testing.T) {
	k := newKeeping(t)
	name := vcenter("a")
	k.put(t, name, "one")
	k.change(t, name, func(s *corev1.Secret) { s.Finalizers = []string{"example.com/keep"} })
	want := func(what string, finalizers ...string) {
		t.Helper()
		k.pass(t, time.Second)
		expect.Same(t, "finalizers "+what, finalizers, k.finalizers(t, name))
	}
	one, two := machine("1", name), machine("2", name)
	k.saw(one)
	want("before there may be a VM", "example.com/keep")
	holding(one)
	holding(two)
	k.saw(one)
	k.saw(two)
	want("with a VM", "example.com/keep", infrav1.CredentialsFinalizer)
	expect.OK(t, k.Free(one))
	k.saw(one) // its finalizer is still there
	want("with another VM", "example.com/keep", infrav1.CredentialsFinalizer)
	k.lost(one)
	expect.OK(t, k.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vcenter"}}))
	k.pass(t, reads.Interval)
	if got := expect.Got(k.of(two))(t); !got.Going || got.Data == nil {
		t.Errorf("a Secret that is being deleted serves its machines, but it is %+v", got)
	}
	if told := <-k.events.Events; !strings.Contains(told, "Secret vcenter is being deleted; it stays until the VMs") {
		t.Errorf("the event is %s", told)
	}
	k.woken()
	if err := k.Free(two); !errors.Is(err, phase.ErrAwaited) {
		t.Errorf("the last machine is let go before its Secret: %v", err)
	}
	want("before anything but this process knows that the VM is gone", "example.com/keep", infrav1.CredentialsFinalizer)
	expect.Same(t, "woken", []string{"2"}, k.woken())
	two.Annotations = map[string]string{infrav1.RemovedAnnotation: "now"}
	if err := k.Free(two); !errors.Is(err, phase.ErrAwaited) {
		t.Errorf("the last machine is let go before its Secret: %v", err)
	}
	want("without a VM", "example.com/keep")
	expect.Same(t, "woken", []string{"2"}, k.woken())
	expect.OK(t, k.Free(two))
	k.lost(two)
	k.change(t, name, func(s *corev1.Secret) { s.Finalizers = nil })
	before := len(k.reads)
	k.pass(t, time.Minute)
	if n := len(k.reads) - before; n > 0 {
		t.Errorf("a Secret without machines was read %d times", n)
	}
}

// A machine that names another Secret lets the first one go.
func TestFinalizerMoves(t *testing.T) {
	k := newKeeping(t)
	first, second := vcenter("a"), types.NamespacedName{Namespace: "a", Name: "second"}
	k.put(t, first, "one")
	k.put(t, second, "one")
	k.saw(machine("m", first, holding))
	k.pass(t, time.Second)
	k.saw(machine("m", second, holding))
	k.pass(t, time.Second)
	expect.Same(t, "finalizers of the first", 0, len(k.finalizers(t, first)))
	expect.Same(t, "finalizers of the second", []string{infrav1.CredentialsFinalizer}, k.finalizers(t, second))
}

// TestOfAnotherManager has two managers with different watch filters share a Secret: neither takes the finalizer away while the
// other's machines need it, and neither reads for the other.
func TestOfAnotherManager(t *testing.T) {
	k := newKeeping(t)
	k.WatchFilter = "ours"
	name := vcenter("a")
	k.put(t, name, "one")
	labeled := func(m *infrav1.WindowsMachine) { m.Labels = map[string]string{"cluster.x-k8s.io/watch-filter": "ours"} }
	theirs := machine("theirs", name, holding)
	k.saw(theirs)
	k.pass(t, time.Minute)
	expect.Same(t, "reads for another manager", 0, len(k.reads))
	k.saw(machine("ours", name, holding, labeled))
	k.pass(t, time.Second)
	expect.Same(t, "finalizers", []string{infrav1.CredentialsFinalizer}, k.finalizers(t, name))
	expect.OK(t, k.Free(machine("ours", name, holding, labeled)))
	k.lost(machine("ours", name, holding, labeled))
	k.pass(t, reads.Interval)
	expect.Same(t, "finalizers", []string{infrav1.CredentialsFinalizer}, k.finalizers(t, name))
}

// A machine that cannot be let go says why.
func TestFinalizerStays(t *testing.T) {
	k := newKeeping(t)
	k.put(t, vcenter("a"), "one")
	m := machine("m", vcenter("a"), holding)
	k.saw(m)
	k.pass(t, time.Second)
	k.patchRefusal = errors.New("read only")
	if err := k.Free(m); !errors.Is(err, phase.ErrAwaited) {
		t.Error(err)
	}
	k.pass(t, time.Second)
	if err := k.Free(m); !errors.Is(err, k.patchRefusal) {
		t.Errorf("the machine is told %v", err)
	}
	before := len(k.reads)
	k.pass(t, reads.Interval)
	if n := len(k.reads) - before; n > 2 {
		t.Errorf("a patch that is refused was tried %d times in %s", n, reads.Interval)
	}
	k.patchRefusal = nil
	k.pass(t, reads.Interval)
	expect.OK(t, k.Free(m))
}
