package controllers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// The tests of this file change a workload cluster that is apart from the world's own. They run one after the other.

// waiting are two machines that wait at the gate: one with a config, and one whose user made the bootstrap data.
type waiting struct {
	*stage
	m, own *world.Machine
}

// holds checks that both wait, and that nothing is made meanwhile. It looks until the controllers know what was just changed.
func (w *waiting) holds(t *testing.T, config, own string) (sentence string) {
	t.Helper()
	wait.Eventually(t, config+" and "+own, func(context.Context) error {
		w.process.Reconcile(t, world.Configs, w.m.Key)
		w.process.Reconcile(t, world.Machines, w.own.Key)
		state, others := w.m.Load(t), w.own.Load(t)
		is := []string{
			conditions.GetReason(state.Config, infrav1.ReadyCondition), conditions.GetReason(others.Windows, infrav1.ReadyCondition),
		}
		if is[0] != config || is[1] != own {
			return fmt.Errorf("they wait with %q", is)
		}
		return nil
	})
	w.process.Reconcile(t, world.Machines, w.m.Key)
	state, others := w.m.Load(t), w.own.Load(t)
	calls := w.cloud.Calls()
	if state.Data != nil || len(state.Tokens)+len(state.Config.Finalizers)+len(others.Windows.Finalizers)+len(calls) > 0 {
		t.Errorf("something was made before Linux can carry the cluster: %v\n%s\n%s", calls, state, others)
	}
	return conditions.GetMessage(state.Config, infrav1.ReadyCondition)
}

// opens checks that both get all that they need.
func (w *waiting) opens(t *testing.T) {
	t.Helper()
	wait.Eventually(t, "the gate to open", func(context.Context) error {
		w.process.Reconcile(t, world.Configs, w.m.Key)
		w.process.Reconcile(t, world.Machines, w.own.Key)
		state, others := w.m.Load(t), w.own.Load(t)
		if state.Data == nil || !conditions.IsTrue(others.Windows, infrav1.ReadyCondition) {
			return fmt.Errorf("one waits:\n%s\n%s", state, others)
		}
		return nil
	})
	w.m.Await(t, "life behind the gate", world.Windows("Ready True Running"), world.Tokens(1))
}

func newWaiting(t *testing.T) *waiting {
	t.Helper()
	s := newStage(t, world.Start{Credentials: password, Workload: shared.Apart(t)})
	s.start(t)
	w := &waiting{stage: s, m: s.machine("m"), own: s.withOwnData(t)}
	w.m.Create(t)
	w.own.CreateWithoutConfig(t)
	return w
}

// restart has another process go on, which remembers nothing.
func (w *waiting) restart(t *testing.T) {
	t.Helper()
	expect.OK(t, w.process.Stop())
	w.start(t)
}

// lend puts an object into the cluster apart until the test ends.
func lend[O client.Object](t *testing.T, o O) O {
	t.Helper()
	api := shared.Apart(t).Client
	expect.OK(t, api.Create(t.Context(), o))
	t.Cleanup(func() {
		expect.Fine(t, client.IgnoreNotFound(api.Delete(context.Background(), o)))
	})
	return o
}

// withoutKubeadm takes one of kubeadm's ConfigMaps away until the test ends, or until it is given back.
func withoutKubeadm(t *testing.T, key client.ObjectKey) (giveBack func()) {
	t.Helper()
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	}
	api := shared.Apart(t).Client
	expect.OK(t, api.Delete(t.Context(), object()))
	give := func() {
		expect.Fine(t, client.IgnoreAlreadyExists(api.Create(context.Background(), object())))
	}
	t.Cleanup(give)
	return give
}

// taint puts the taint of a kubelet with an external cloud provider on the Linux node, until it is taken off.
func taint(t *testing.T) (takeOff func()) {
	t.Helper()
	api := shared.Apart(t).Client
	change := func(taints ...corev1.Taint) {
		node := &corev1.Node{}
		expect.Fine(t, api.Get(context.Background(), client.ObjectKey{Name: servers.ControlPlaneNode}, node))
		node.Spec.Taints = taints
		expect.Fine(t, api.Update(context.Background(), node))
	}
	change(corev1.Taint{Key: workload.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	t.Cleanup(func() { change() })
	return func() { change() }
}

var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

func dnsService(selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
		Spec: corev1.ServiceSpec{
			Selector: selector, Ports: []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
		},
	}
}

func dnsPods() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: dnsLabels},
		Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "coredns", Image: "registry.k8s.io/coredns/coredns:v1.14.2"}},
		},
	}
}

// anywhere is cluster DNS that may run on each Node.
func anywhere(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: dnsLabels}, Template: dnsPods(),
		},
	}
}

// available says how many replicas answer, as the Deployment controller would, which this world has not.
func available(t *testing.T, d *appsv1.Deployment, replicas int32) {
	t.Helper()
	api := shared.Apart(t).Client
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	world.ChangeStatus(t, api, d, func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas, replicas
	})
}

func tells(t *testing.T, sentence, part string) {
	t.Helper()
	if !strings.Contains(sentence, part) {
		t.Errorf("the sentence lacks %q:\n%s", part, sentence)
	}
}

// run has a shell run the command at the end of a sentence, as the person with kubectl would.
func run(t *testing.T, sentence string) {
	t.Helper()
	_, command, found := strings.Cut(sentence, "run this in the workload cluster: ")
	if !found {
		t.Fatalf("no command in %q", sentence)
	}
	binaries := expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Env = []string{
		"PATH=" + filepath.Dir(binaries.Path("kubectl")), "KUBECONFIG=" + shared.Apart(t).KubeconfigFile, "HOME=" + t.TempDir(),
	}
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestGate goes through all reasons in their order. Until the last one is gone, neither machine gets anything.
func TestGate(t *testing.T) {
	s := newWaiting(t)
	takeOff, giveBack := taint(t), withoutKubeadm(t, world.Kubeadm[0])
	dns := lend(t, anywhere("coredns"))
	lend(t, dnsService(dnsLabels))

	sentence := s.holds(t, "WaitingForLinuxNode", "WaitingForLinuxNode")
	tells(t, sentence, "no cloud provider has initialized Node "+servers.ControlPlaneNode)
	takeOff()

	s.holds(t, "WaitingForControlPlane", "WaitingForPlacement") // how a machine joins with its own data, nobody knows
	since := conditions.Get(s.Cluster(t.Context(), t), clusterv1.ClusterControlPlaneInitializedCondition).LastTransitionTime
	s.clock.set(since.Add(5*time.Minute - time.Second))
	s.clock.hold(true)
	s.restart(t)
	s.holds(t, "WaitingForControlPlane", "WaitingForPlacement")
	s.clock.hold(false)
	s.clock.set(since.Add(5 * time.Minute))
	s.restart(t) // the time is the Cluster's: it does not begin anew
	sentence = s.holds(t, "ControlPlaneNotKubeadm", "WaitingForPlacement")
	tells(t, sentence, "does not have ConfigMap kube-system/kubeadm-config,")
	s.m.Await(t, "a person", world.Config("Stalled True ControlPlaneNotKubeadm"),
		world.Windows("Stalled True ControlPlaneNotKubeadm"))
	giveBack()
	s.restart(t) // else it is known for up to a minute

	sentence = s.holds(t, "WaitingForPlacement", "WaitingForPlacement")
	run(t, sentence)
	sentence = s.holds(t, "WaitingForClusterDNS", "WaitingForClusterDNS")
	tells(t, sentence, "Deployment kube-system/coredns has 0 of 2 replicas available; look at its pods")
	available(t, dns, 1)
	s.opens(t)

	// An outage holds the first Windows Node alone.
	available(t, dns, 0)
	lend(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "windows", Labels: map[string]string{corev1.LabelOSStable: "windows"}}})
	s.restart(t)
	second := s.machine("second")
	second.Create(t)
	second.Await(t, "a pool that grows", world.Windows("Ready True Running"), world.Tokens(1))
}

// TestHosted: where no control-plane machines are, a Linux Node of any role carries the cluster; where they are, none but theirs.
func TestHosted(t *testing.T) {
	s := newWaiting(t)
	expect.OK(t, s.Workload.RemoveLinuxNode(t.Context()))
	t.Cleanup(func() { expect.Fine(t, s.Workload.AddLinuxNode(context.Background())) })
	sentence := s.holds(t, "WaitingForLinuxNode", "WaitingForLinuxNode")
	tells(t, sentence, "need a Linux pool, so add one")

	cp := s.machine("cp")
	cp.Core.Labels[clusterv1.MachineControlPlaneLabel] = ""
	expect.OK(t, s.Client.Create(t.Context(), cp.Core))
	onLinux := map[string]string{corev1.LabelOSStable: "linux"}
	worker := lend(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "linux", Labels: onLinux}})
	world.ChangeStatus(t, s.Workload.Client, worker, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
	wait.Eventually(t, "the control plane to be asked for", func(context.Context) error {
		sentence := s.holds(t, "WaitingForLinuxNode", "WaitingForLinuxNode")
		if !strings.Contains(sentence, "=linux and "+workload.ControlPlaneLabel) {
			return fmt.Errorf("the sentence is %q", sentence)
		}
		return nil
	})
	expect.OK(t, s.Client.Delete(t.Context(), cp.Core))
	s.opens(t)
}
