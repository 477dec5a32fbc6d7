package machine

import (
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/large"
)

// lookLarge looks at the machine, and returns it as the API server has it.
func (s *lifeStage) lookLarge(t *testing.T) *infrav1.WindowsMachine {
	t.Helper()
	s.look(t)
	m := &infrav1.WindowsMachine{}
	expect.OK(t, client.IgnoreNotFound(s.Live.Get(t.Context(), lifeKey, m)))
	return m
}

// parts are the objects of a machine, each of which becomes too large.
func parts() map[string]client.Object {
	return map[string]client.Object{
		"WindowsMachine m": &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}},
		"Machine core":     &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}},
		"Cluster blue":     &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "blue"}},
	}
}

// TestLargeObjects: no VM is made while one of a machine's objects is too large.
func TestLargeObjects(t *testing.T) {
	for name, o := range parts() {
		synctest.Test(t, func(t *testing.T) {
			s := newLife(t)
			s.edit(t, o, func() { large.Grow(o) })
			s.Client = caches.Patches{Client: large.Cached{Client: s.Client}}
			m := s.lookLarge(t)
			expect.Same(t, name, "True ObjectTooLarge", short(m, infrav1.StalledCondition))
			if message := conditions.GetMessage(m, infrav1.StalledCondition); !strings.HasPrefix(message, name+" is larger than") {
				t.Errorf("%s: the sentence is %q", name, message)
			}
			expect.Same(t, name+": VMs", 0, len(s.cloud.Names()))
		})
	}
}

// TestMachineOutgrowsTheCache: a machine with a VM stays Ready when one of its objects becomes too large, and is deleted as all
// are.
func TestMachineOutgrowsTheCache(t *testing.T) {
	for name, o := range parts() {
		synctest.Test(t, func(t *testing.T) {
			s := newLife(t)
			api := s.Client
			s.Client = caches.Patches{Client: large.Cached{Client: s.Client}}
			s.look(t)
			m := s.lookLarge(t)
			expect.Same(t, name+": before", "True Running", short(m, infrav1.ReadyCondition))
			s.Client = api
			s.edit(t, o, func() { large.Grow(o) })
			s.Client = caches.Patches{Client: large.Cached{Client: api}}
			m = s.lookLarge(t)
			expect.Same(t, name+": Ready", "True Running", short(m, infrav1.ReadyCondition))
			expect.Same(t, name+": Stalled", "True ObjectTooLarge", short(m, infrav1.StalledCondition))

			expect.OK(t, s.Client.Delete(t.Context(), m))
			for range 5 {
				m = s.lookLarge(t)
			}
			expect.Same(t, name+": VMs", 0, len(s.cloud.Names()))
			expect.Same(t, name+": finalizers", 0, len(m.Finalizers))
		})
	}
}
