package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// TestWithoutCNI: a cluster without a CNI for Windows gets its first VM with a warning, and no other one until that has a CNI.
func TestWithoutCNI(t *testing.T) {
	s := ready(t)
	first := s.withCalico("first")
	first.Create(t)
	state := first.Await(t, "the first VM", world.Windows("Ready True Running"), world.Config("HasWarnings True WarningsGiven"))
	tells(t, conditions.GetMessage(state.Config, bootstrapv1.HasWarningsCondition),
		"no DaemonSet of Cluster linux-first seems to bring a CNI to this node, which stays NotReady without one")
	s.tell(state, succeeded)
	first.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	node := s.joinWithoutCNI(t, state)
	first.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"))

	s.clock.set(time.Now().Add(16 * time.Minute))
	s.eventually(t, first, "CNIReady False CNINotReady", infrav1.CNIReadyCondition)
	second := s.withCalico("second")
	second.Create(t)
	s.eventually(t, second, "Ready False WaitingForCNI", infrav1.ReadyCondition)
	tells(t, conditions.GetMessage(second.Load(t).Windows, infrav1.ReadyCondition),
		"no Windows Node of Cluster linux-first has a CNI (WindowsMachines first), and another one would have none either")
	expect.Same(t, "user data of the second", true, second.Load(t).Data == nil)
	s.vms(t, state.Windows.Status.ComputerName)

	s.setNode(t, node, "", time.Now())
	s.eventually(t, first, "CNIReady True CNIReady", infrav1.CNIReadyCondition)
	s.eventually(t, second, "Ready True Running", infrav1.ReadyCondition)
	second.Await(t, "no warning", world.Config("HasWarnings False NoWarnings"))

	// An outage of the CNI holds nobody.
	s.setNode(t, node, nodes.NoNetwork, time.Now().Add(2*time.Minute))
	s.clock.set(time.Now().Add(time.Hour))
	s.eventually(t, first, "CNIReady False CNINotReady", infrav1.CNIReadyCondition)
	third := s.withCalico("third")
	third.Create(t)
	s.eventually(t, third, "Ready True Running", infrav1.ReadyCondition)
}

// withCalico is a machine whose CNI a DaemonSet must bring.
func (s *stage) withCalico(name string) *world.Machine {
	m := s.machine(name)
	m.Config.Spec.Network.Mode, m.Config.Spec.Network.CNI = bootstrapv1.NetworkOverlay, bootstrapv1.CNICalico
	m.Config.Spec.Kubelet.MaxPods = 60 // as many addresses as Calico gives
	m.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{world.WithoutCNI: "true"}
	return m
}

// joinWithoutCNI registers the Node as a kubelet that finds no CNI configuration (kubernetes v1.36.3, pkg/kubelet/kubelet.go).
func (s *stage) joinWithoutCNI(t *testing.T, state world.State) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: state.Windows.Status.ComputerName, Labels: map[string]string{corev1.LabelOSStable: "windows"},
	}}
	node.Spec.ProviderID = state.Windows.Spec.ProviderID
	expect.OK(t, s.Workload.Client.Create(t.Context(), node))
	t.Cleanup(func() { expect.Fine(t, s.Workload.Client.Delete(context.Background(), node)) })
	s.setNode(t, node, nodes.NoNetwork, time.Now())
	return node
}

// setNode reports what a kubelet does since then; without a reason it is Ready.
func (s *stage) setNode(t *testing.T, node *corev1.Node, notReady string, since time.Time) {
	t.Helper()
	all := nodes.Kubelet{NotReady: notReady, Now: since}.Conditions()
	world.ChangeStatus(t, s.Workload.Client, node, func(n *corev1.Node) { n.Status.Conditions = all })
}

// eventually has both controllers look at the machine until its condition is so: nothing wakes them for what is others'.
func (s *stage) eventually(t *testing.T, m *world.Machine, want, condition string) {
	t.Helper()
	wait.Eventually(t, m.Key.Name+" to be "+want, func(context.Context) error {
		s.look(t, m)
		windows := m.Load(t).Windows
		found := conditions.Get(windows, condition)
		if found == nil || !strings.HasPrefix(fmt.Sprintf("%s %s %s", found.Type, found.Status, found.Reason), want) {
			return fmt.Errorf("it is %v", found)
		}
		return nil
	})
}
