package lab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// TestLifeOfAPool is the story of `make demo` with assertions: everything runs, only vCenter and guests are simulated.
func TestLifeOfAPool(t *testing.T) {
	ctx, l := started(t, lab.Options{BootTime: time.Second})
	s := &story{T: t, lab: l}
	defer s.assertNothingRefused() // which may be why the story ends early

	s.must(l.Apply(ctx, lab.Pool{Name: "win", Replicas: 3}))
	s.await(ctx, 3)
	s.assertOneVMPerMachine(ctx)
	s.assertNoUserData(ctx)
	s.assertNodes(ctx)
	s.assertCoreDNSOnLinux(ctx)
	s.assertWindowsPodIsBound(ctx)
	s.assertKubeletsAnswer(ctx)

	s.must(l.Scale(ctx, "win", 5))
	s.await(ctx, 5)
	s.assertOneVMPerMachine(ctx)

	// Azure takes its time, so other things happen meanwhile.
	s.must(l.Apply(ctx, lab.Pool{Name: "az", Replicas: 2, Azure: true}))
	s.must(l.Scale(ctx, "win", 1))
	s.await(ctx, 3)
	s.assertOneVMPerMachine(ctx)
	s.assertInAzure(ctx, 2)
	s.assertTokens(ctx, 0)
	s.must(l.Scale(ctx, "az", 1))

	s.staticAddresses(ctx, 2)
	s.assertInAzure(ctx, 1)

	s.must(l.Remove(ctx, "win"))
	s.must(l.Remove(ctx, "az"))
	s.await(ctx, 0)
	s.assertNoVM()
	s.assertInAzure(ctx, 0)
	s.assertAskedOnce()
	s.assertTokens(ctx, 0)

	s.must(l.RemoveCluster(ctx))
	s.assertNoObjects(ctx)
	s.assertMetrics(ctx)
	s.assertOwnersGuarded(ctx)
	s.assertPermissions()
}

// started is a lab that stops with the test. The context ends before it, and bounds a hang: each wait ends earlier.
func started(t *testing.T, options lab.Options) (context.Context, *lab.Lab) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts two control planes; CI runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	options.Dir, options.AzureController = t.TempDir(), peers.Program(t, peers.AzureCCM)
	l, err := lab.Start(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { expect.Fine(t, l.Stop()) })
	t.Cleanup(cancel)
	return ctx, l
}

type story struct {
	*testing.T
	lab *lab.Lab
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// await waits until so many machines are Ready, their guests have told all that they tell, and their nodes joined and are
// initialized, and no others are there. A node may join before its guest's last report is read.
func (s *story) await(ctx context.Context, wanted int) {
	s.Helper()
	begin := time.Now()
	defer func() { s.Logf("%5.1f s until there are %d machines with nodes", time.Since(begin).Seconds(), wanted) }()
	wait.Until(s, fmt.Sprintf("%d machines with nodes", wanted), func() (any, bool) {
		machines, nodes := s.machines(ctx), s.nodes(ctx)
		seen, settled := "", 0
		for _, m := range machines {
			seen += fmt.Sprintf("\n%s %s %+v", m.Name, m.Status.Phase, m.Status.Conditions)
			if m.Status.Phase == infrav1.PhaseRunning && hasTold(m) {
				settled++
			}
		}
		for _, n := range nodes {
			if !initialized(n) {
				settled--
			}
		}
		return seen, settled == wanted && len(machines) == wanted && len(nodes) == wanted
	})
}

// hasTold says whether a guest has told of its Windows and of the end of its bootstrap.
func hasTold(m infrav1.WindowsMachine) bool {
	told := m.Status.Bootstrap
	return m.Status.WindowsUpdated != "" && told != nil && told.State == string(plan.StateSucceeded)
}

// ready says whether Cluster API has taken its taint off and the node is Ready.
func ready(n corev1.Node) bool {
	for _, taint := range n.Spec.Taints {
		if taint.Key == clusterv1.NodeUninitializedTaint.Key {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// until waits as wait.Until does, and shows more when that takes too long.
func (s *story) until(what string, look func() (seen any, good bool), show func()) {
	s.Helper()
	good := false
	defer func() {
		if !good {
			show()
		}
	}()
	wait.Until(s, what, look)
	good = true
}

func (s *story) machines(ctx context.Context, which ...client.ListOption) []infrav1.WindowsMachine {
	var list infrav1.WindowsMachineList
	s.must(s.lab.Client.List(ctx, &list, which...))
	return list.Items
}

func (s *story) nodes(ctx context.Context) []corev1.Node {
	var list corev1.NodeList
	s.must(s.lab.WorkloadClient.List(ctx, &list, client.MatchingLabels{corev1.LabelOSStable: "windows"}))
	return list.Items
}

func (s *story) assertOneVMPerMachine(ctx context.Context) {
	s.Helper()
	wanted := map[string]bool{}
	for _, m := range s.machines(ctx) {
		if m.Spec.VSphere != nil { // assertInAzure has the others
			wanted[m.Status.ComputerName] = true
		}
	}
	vms := s.lab.VCenter.Owner(s.T).VMs()
	have := map[string]bool{}
	for _, vm := range vms {
		have[vm] = true
	}
	if diff := cmp.Diff(wanted, have); diff != "" || len(vms) != len(wanted) {
		s.Errorf("VMs are not those of the machines (-machines +vcenter):\n%s", diff)
	}
}

// assertNoUserData checks that neither the guest nor a reader of the vCenter finds the user data of a machine that has joined.
func (s *story) assertNoUserData(ctx context.Context) {
	s.Helper()
	wait.Until(s, "the user data to be taken away", func() (any, bool) {
		var holding []string
		for _, m := range s.machines(ctx) {
			if !meta.IsStatusConditionTrue(m.Status.Conditions, infrav1.UserDataRemovedCondition) {
				holding = append(holding, m.Name)
			}
		}
		return holding, len(holding) == 0
	})
	for _, m := range s.machines(ctx) {
		has := s.lab.VCenter.Owner(s.T).Extra(m.Status.ComputerName)
		if has["guestinfo.userdata"]+has["guestinfo.userdata.encoding"] != "" || has["guestinfo.metadata"] == "" {
			s.Errorf("the guest of %s finds user data, or no metadata", m.Name)
		}
	}
}

func (s *story) assertNodes(ctx context.Context) {
	s.Helper()
	nodes := map[string]corev1.Node{}
	for _, n := range s.nodes(ctx) {
		nodes[n.Name] = n
	}
	for _, m := range s.machines(ctx) {
		n := nodes[m.Status.ComputerName]
		type facts struct{ ProviderID, NodeName, Pool, OS, Build, Taint string }
		want := facts{m.Spec.ProviderID, m.Status.NodeName, "win", "windows", "10.0.20348", "os=windows:NoSchedule"}
		got := facts{
			n.Spec.ProviderID, n.Name, n.Labels["example.com/pool"], n.Labels[corev1.LabelOSStable],
			n.Labels[corev1.LabelWindowsBuild], "",
		}
		for _, taint := range n.Spec.Taints {
			if taint.Key == "os" {
				got.Taint = taint.ToString()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("node of %s (-want +got):\n%s", m.Name, diff)
		}
		assertReserved(s.T, n)
		assertPredicted(s.T, m, n)
	}
}

// assertPredicted checks that the machine knew before what its node offers to pods now, as far as its spec has sizes.
func assertPredicted(t *testing.T, m infrav1.WindowsMachine, n corev1.Node) {
	t.Helper()
	offered := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		offered[name] = n.Status.Allocatable[name]
	}
	if !equality.Semantic.DeepEqual(offered, m.Status.Allocatable) {
		t.Errorf("machine %s predicts %v, its node offers %v", m.Name, m.Status.Allocatable, offered)
	}
}

// assertReserved checks that Windows keeps at least 2 GiB, and that the node says so to the scheduler.
func assertReserved(t *testing.T, n corev1.Node) {
	t.Helper()
	capacity, allocatable := n.Status.Capacity[corev1.ResourceMemory], n.Status.Allocatable[corev1.ResourceMemory]
	capacity.Sub(allocatable)
	if capacity.Value() < 2<<30 {
		t.Errorf("node %s keeps only %s for Windows", n.Name, capacity.String())
	}
	if pods := n.Status.Allocatable[corev1.ResourcePods]; pods.Value() != 110 {
		t.Errorf("node %s takes %s pods", n.Name, pods.String())
	}
}

// assertCoreDNSOnLinux checks what the real scheduler did with the pods of the Deployment that kubeadm ships.
func (s *story) assertCoreDNSOnLinux(ctx context.Context) {
	s.Helper()
	windows := map[string]bool{}
	for _, n := range s.nodes(ctx) {
		windows[n.Name] = true
	}
	var pods corev1.PodList
	s.must(s.lab.WorkloadClient.List(ctx, &pods, client.InNamespace("kube-system"), client.MatchingLabels{"k8s-app": "kube-dns"}))
	bound := 0
	for _, pod := range pods.Items {
		if windows[pod.Spec.NodeName] {
			s.Errorf("CoreDNS pod %s is on the Windows node %s", pod.Name, pod.Spec.NodeName)
		}
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	if bound == 0 {
		s.Error("no CoreDNS pod is bound at all, so that nothing is shown")
	}
}

// assertWindowsPodIsBound checks that the real scheduler takes the nodes for what they are: nothing but the taint that
// pods for Windows tolerate is left on them.
func (s *story) assertWindowsPodIsBound(ctx context.Context) {
	s.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "windows"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelOSStable: "windows"},
			Tolerations:  []corev1.Toleration{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}},
			Containers:   []corev1.Container{{Name: "c", Image: "example.com/iis"}},
		},
	}
	// The default ServiceAccount comes a moment after its namespace.
	wait.Eventually(s, "the pod to be taken", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.lab.WorkloadClient.Create(ctx, pod))
	})
	wait.Until(s, "the pod to be bound to a node", func() (any, bool) {
		s.must(s.lab.WorkloadClient.Get(ctx, client.ObjectKeyFromObject(pod), pod))
		return pod.Status.Conditions, pod.Spec.NodeName != ""
	})
	s.must(s.lab.WorkloadClient.Delete(ctx, pod, client.GracePeriodSeconds(0)))
}

func (s *story) assertTokens(ctx context.Context, wanted int) {
	s.Helper()
	wait.Until(s, fmt.Sprintf("%d bootstrap tokens", wanted), func() (any, bool) {
		var secrets corev1.SecretList
		s.must(s.lab.WorkloadClient.List(ctx, &secrets, client.InNamespace("kube-system")))
		count := 0
		for _, secret := range secrets.Items {
			if secret.Type == corev1.SecretTypeBootstrapToken && strings.HasPrefix(string(secret.Data["description"]), "capwin") {
				count++
			}
		}
		return count, count == wanted
	})
}

func (s *story) assertNoVM() {
	s.Helper()
	vms := s.lab.VCenter.Owner(s.T).VMs()
	if len(vms) > 0 {
		s.Errorf("VMs are left: %v", vms)
	}
}

// assertNoObjects waits until no finalizer holds anything.
func (s *story) assertNoObjects(ctx context.Context) {
	s.Helper()
	wait.Until(s, "no objects", func() (any, bool) {
		left := ""
		for _, list := range []client.ObjectList{
			&infrav1.WindowsMachineList{}, &infrav1.WindowsMachineTemplateList{}, &bootstrapv1.WindowsBootstrapConfigList{},
			&bootstrapv1.WindowsBootstrapConfigTemplateList{}, &clusterv1.MachineList{}, &clusterv1.ClusterList{},
		} {
			s.must(s.lab.Client.List(ctx, list))
			if n := meta.LenList(list); n > 0 {
				left += fmt.Sprintf(" %d %T", n, list)
			}
		}
		return left, left == ""
	})
}
