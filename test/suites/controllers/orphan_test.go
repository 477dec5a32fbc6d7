package controllers

import (
	"context"
	"errors"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/orphans"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestOrphan: a user takes our finalizer away while the VM is being deleted, and the cloud does not delete it.
func TestOrphan(t *testing.T) {
	s := ready(t)
	m, state := s.running(t)
	s.cloud.Hold(fake.Remove)
	m.Delete(t)
	m.Await(t, "deletion", world.Windows("Ready False Deleting"))
	s.lookOut(t)
	expect.OK(t, s.Client.Patch(t.Context(), m.Load(t).Windows, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`))))
	wait.Eventually(t, "the machine to be gone", func(ctx context.Context) error {
		err := s.process.Caches[world.Machines].Get(ctx, m.Key, &infrav1.WindowsMachine{})
		if err == nil {
			return errors.New("it is still in the cache")
		}
		return client.IgnoreNotFound(err)
	})
	s.vms(t, state.Windows.Status.ComputerName)
	s.lookOut(t)
	s.clock.advance(orphans.Lasts)
	s.lookOut(t)
	wait.Until(t, "an event about the Cluster", func() (any, bool) {
		told := s.orphans(t)
		return told, len(told) == 1 && told[0].Related.Name == m.Key.Name
	})
	s.clock.advance(orphans.Lasts)
	s.lookOut(t)
	s.vms(t, state.Windows.Status.ComputerName)
	expect.Same(t, "events", 1, len(s.orphans(t)))
}

func (s *stage) lookOut(t *testing.T) {
	t.Helper()
	expect.OK(t, s.process.Lookout.Look(t.Context()))
}

// orphans are the events about them.
func (s *stage) orphans(t *testing.T) (told []eventsv1.Event) {
	t.Helper()
	var all eventsv1.EventList
	expect.OK(t, s.Client.List(t.Context(), &all, client.InNamespace(s.Name)))
	for _, e := range all.Items {
		if e.Reason == infrav1.OrphanedVMReason && e.Regarding.Kind == "Cluster" {
			told = append(told, e)
		}
	}
	return told
}
