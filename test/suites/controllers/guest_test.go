package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

const working = `{"version":1,"state":"Running","phase":{"index":4,"of":11,"name":"network"},"step":"hns-network",` +
	`"elapsed":120,"durations":{"prepare":7}}`

// TestSilentGuest has a guest that is silent until its time is over, and speaks after that.
func TestSilentGuest(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	s.clock.advance(44 * time.Minute)
	s.look(t, m)
	m.Await(t, "patience", world.Windows("Ready True Running"), world.Windows("Stalled False NotStalled"))
	// A look shortly before the moment leads to one at that moment, without a request.
	due := conditions.GetLastTransitionTime(state.Windows, infrav1.VMRunningCondition).Add(45 * time.Minute)
	s.clock.advance(due.Sub(s.clock.now()) - 3*time.Second)
	s.process.Later(t, world.Machines, m.Key)
	m.Await(t, "notice", world.Windows("Ready False GuestSilent"), world.Windows("Stalled True GuestSilent"),
		world.Config("Ready False GuestSilent"), sameStory)
	if late := s.clock.now().Sub(due); late < 0 || late > 30*time.Second {
		t.Errorf("the guest was given up %s after it was due", late)
	}
	s.steady(t, m)

	s.tell(state, working)
	told := m.Await(t, "progress", world.Windows("BootstrapSucceeded Unknown Bootstrapping"),
		world.Windows("Stalled False NotStalled"), world.Windows("Ready True Running"), sameStory, shownByCore)
	want := "Bootstrap 4/11 network, step hns-network, 2m of at most 30m"
	if got := conditions.GetMessage(told.Windows, infrav1.ReadyCondition); got != want {
		t.Errorf("the progress reads %q", got)
	}
	s.steady(t, m)

	s.clock.advance(44 * time.Minute)
	s.process.Later(t, world.Machines, m.Key)
	m.Await(t, "notice", world.Windows("Ready False BootstrapOverdue"), world.Windows("Stalled True BootstrapOverdue"), sameStory)
	m.Join(t)
	m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), world.Windows("Stalled False NotStalled"),
		world.Windows("Ready True Running"), world.Config("Ready True Joined"), released)
	s.steady(t, m)
}

// sameStory waits until the config tells what its WindowsMachine tells of the guest, in the same words.
func sameStory(s world.State) string {
	if s.Windows == nil || s.Config == nil {
		return "there is no machine"
	}
	machine := conditions.Get(s.Windows, infrav1.BootstrapSucceededCondition)
	config := conditions.Get(s.Config, bootstrapv1.ReadyCondition)
	if machine == nil || config == nil || machine.Status != config.Status || machine.Reason != config.Reason ||
		machine.Message != config.Message {
		return fmt.Sprintf("the WindowsMachine says %+v, its config %+v", machine, config)
	}
	return ""
}

// shownByCore waits until Cluster API shows on the Machine what the config says, in the sentence that it passes on to the
// MachineDeployment.
func shownByCore(s world.State) string {
	said := conditions.Get(s.Config, bootstrapv1.ReadyCondition)
	shown := conditions.Get(s.Core, clusterv1.MachineBootstrapConfigReadyCondition)
	summary := conditions.Get(s.Core, clusterv1.ReadyCondition)
	if shown == nil || shown.Status != said.Status || shown.Message != said.Message || summary == nil ||
		!strings.Contains(summary.Message, "BootstrapConfigReady: "+said.Message) {
		return fmt.Sprintf("the config says %+v, its Machine %+v and %+v", said, shown, summary)
	}
	return ""
}

// TestDeletedNode deletes a Node under its machine, and has it register again.
func TestDeletedNode(t *testing.T) {
	s := ready(t)
	m, state := s.running(t)
	expect.OK(t, s.Client.Delete(t.Context(), state.Node))
	gone := m.Await(t, "notice", world.Windows("BootstrapSucceeded True NodeDeleted"), world.Windows("Ready True Running"),
		world.Config("Ready True Joined"))
	if name := gone.Windows.Status.NodeName; name != "" || gone.Windows.Status.Phase != infrav1.PhaseRunning {
		t.Errorf("the machine is %s and has the Node %q", gone.Windows.Status.Phase, name)
	}
	s.steady(t, m)
	m.Join(t)
	m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), func(s world.State) string {
		if s.Windows.Status.NodeName == "" {
			return "the Node has no name"
		}
		return ""
	})
	s.steady(t, m)
}

// steady looks at the machine again, and again later: nothing may be written.
func (s *stage) steady(t *testing.T, m *world.Machine) {
	t.Helper()
	s.look(t, m)
	before := s.process.Gate.Effects()
	s.clock.advance(20 * time.Second)
	s.look(t, m)
	expect.Same(t, "effects for a machine without news", before, s.process.Gate.Effects())
}

// TestWarnings has a config that needs something of the machines' network: it is rendered, and says so once, wherever it is
// looked at from.
func TestWarnings(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNICalico}
	m.Config.Spec.Kubelet.MaxPods = 60 // as many as Calico has addresses for
	m.Create(t)
	warned := m.Await(t, "warning", world.Windows("Ready True Running"), world.Config("HasWarnings True WarningsGiven"),
		world.Config("DataSecretAvailable True DataSecretAvailable"))
	if got := conditions.GetMessage(warned.Config, bootstrapv1.HasWarningsCondition); !strings.HasPrefix(got,
		"WindowsBootstrapConfig spec.network: L2Bridge on Azure needs") {
		t.Errorf("the warning reads %q", got)
	}
	s.steady(t, m)

	// As after a move: status is not taken along, the Secret is.
	config := warned.Config.DeepCopy()
	config.Status = bootstrapv1.WindowsBootstrapConfigStatus{}
	expect.OK(t, s.Client.Status().Update(t.Context(), config))
	m.Await(t, "warning, again", world.Config("HasWarnings True WarningsGiven"))
	wait.Eventually(t, "an event", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := s.Client.List(ctx, &list, client.InNamespace(s.Name)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == bootstrapv1.WarningsGivenReason && e.Regarding.Name == m.Key.Name && e.Type == "Warning" {
				return nil
			}
		}
		return fmt.Errorf("%d events, and none of the warning", len(list.Items))
	})
}
