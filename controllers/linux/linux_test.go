package linux

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var errLinux = errors.New("boom")

// cluster is what a workload cluster shows, and notes what it was asked for.
type cluster struct {
	nodes    []corev1.Node
	linux    workload.Nodes
	kubeadm  workload.ConfigMaps
	dns      workload.DNS
	sets     workload.DaemonSets
	fails    map[string]error // by what is asked for
	asked    []string
	withInfo bool
}

func (c *cluster) ask(what string, key client.ObjectKey) error {
	c.asked = append(c.asked, what)
	if key.String() != "ns/prod" {
		return errors.New("another cluster was asked: " + key.String())
	}
	return c.fails[what]
}

// ControlPlane implements Workload.
func (c *cluster) ControlPlane(_ context.Context, key client.ObjectKey) ([]corev1.Node, error) {
	return c.nodes, c.ask("control plane", key)
}

// Linux implements Workload.
func (c *cluster) Linux(_ context.Context, key client.ObjectKey) (workload.Nodes, error) {
	return c.linux, c.ask("Linux", key)
}

// Kubeadm implements Workload.
func (c *cluster) Kubeadm(_ context.Context, key client.ObjectKey, withClusterInfo bool) (workload.ConfigMaps, error) {
	c.withInfo = withClusterInfo
	return c.kubeadm, c.ask("kubeadm", key)
}

// DNS implements Workload.
func (c *cluster) DNS(_ context.Context, key client.ObjectKey) (workload.DNS, error) {
	return c.dns, c.ask("DNS", key)
}

// HostProcesses implements Workload.
func (c *cluster) HostProcesses(_ context.Context, key client.ObjectKey) (workload.DaemonSets, error) {
	return c.sets, c.ask("DaemonSets", key)
}

func linuxNode(version string, ready corev1.ConditionStatus) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelOSStable: "linux"}}}
	n.Status.NodeInfo.KubeletVersion = version
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	return n
}

// initialized is when the control plane was, and the gate looks an hour later.
var initialized = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stage is a machine before the gate of a cluster that lacks nothing, but for what a case takes away.
type stage struct {
	policies Policies
	*cluster
	candidate Candidate
	machines  []clusterv1.Machine
	windows   []infrav1.WindowsMachine
	now       time.Time
}

var clouds = cloud.Registry{vsphere.Registration(vsphere.Provider{}), azure.Registration(azure.Provider{})}

func onVSphere() *infrav1.WindowsMachine {
	return &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}}}
}

func newStage(changes ...func(*stage)) *stage {
	s := &stage{cluster: &cluster{nodes: []corev1.Node{linuxNode("v1.36.3", corev1.ConditionTrue)}}, now: initialized.Add(time.Hour)}
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod"}}
	c.Status.Initialization.ControlPlaneInitialized = new(true)
	c.Status.Conditions = []metav1.Condition{{
		Type: "ControlPlaneInitialized", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(initialized),
	}}
	s.candidate = Candidate{Cluster: c, Windows: onVSphere(), Config: &bootstrapv1.WindowsBootstrapConfig{}}
	s.candidate.Windows.Namespace, s.candidate.Windows.Name = "ns", "win"
	s.candidate.Windows.Status.ComputerName = "win-1"
	s.machines = []clusterv1.Machine{ofControlPlane("ns", "prod")}
	s.sets.Found = []appsv1.DaemonSet{calicoNode()}
	for _, change := range changes {
		change(s)
	}
	return s
}

func ofControlPlane(namespace, cluster string) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cp"}}
	m.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster, clusterv1.MachineControlPlaneLabel: ""}
	return m
}

func (s *stage) pass(t *testing.T) (Passage, error) {
	t.Helper()
	cache := machines{all: s.machines, windows: s.windows}
	gate := Gate{Workload: s.cluster, Cache: cache, Policies: s.policies, Clouds: clouds, Now: func() time.Time { return s.now }}
	return gate.Pass(t.Context(), s.candidate)
}

// stops checks how the gate stops the machine.
func (s *stage) stops(t *testing.T, want phase.Stop, says ...string) {
	t.Helper()
	passage, err := s.pass(t)
	got := phase.Of(err)
	for _, part := range says {
		if !strings.Contains(got.Message, part) {
			t.Errorf("the sentence lacks %q:\n%s", part, got.Message)
		}
	}
	got.Message = ""
	if got != want {
		t.Errorf("stop %+v, want %+v", got, want)
	}
	if err != nil && (passage.ControlPlane != nil || passage.Warnings != nil) {
		t.Errorf("a machine that was stopped got %+v", passage)
	}
}

func polls(reason string) phase.Stop { return phase.Stop{Reason: reason, After: 5 * time.Second} }

// TestPass: a machine passes where nothing is missing, after one look at each thing.
func TestPass(t *testing.T) {
	s := newStage()
	passage := expect.Got(s.pass(t))(t)
	expect.Same(t, "control plane", s.nodes, passage.ControlPlane)
	expect.Same(t, "warnings", 0, len(passage.Warnings))
	expect.Same(t, "asked", []string{"control plane", "kubeadm", "DNS", "DaemonSets"}, s.asked)
}

// TestControlPlane: Windows waits until Linux is there. Nodes of a workload cluster are not watched, so that it is looked at
// again every 5 seconds.
func TestControlPlane(t *testing.T) {
	ready, notReady := linuxNode("v1.36.3", corev1.ConditionTrue), linuxNode("v1.36.3", corev1.ConditionFalse)
	unknown := linuxNode("v1.36.3", corev1.ConditionTrue)
	unknown.Name, unknown.Spec.Taints = "cp-0", []corev1.Taint{{Key: workload.UninitializedTaint}}
	nodes := func(all ...corev1.Node) func(*stage) { return func(s *stage) { s.nodes = all } }
	linux := func(all ...corev1.Node) func(*stage) { return func(s *stage) { s.linux = workload.Nodes{Found: all} } }
	hosted := func(s *stage) {
		s.nodes, s.machines = nil, []clusterv1.Machine{ofControlPlane("ns", "other"), ofControlPlane("other", "prod")}
	}
	inAzure := func(s *stage) { s.candidate.Windows.Spec = infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}} }
	ofFlavor := func(cloud string) func(*stage) {
		return func(s *stage) { s.candidate.Cluster.Labels = map[string]string{"capwin.io/cloud": cloud} }
	}
	after := func(d time.Duration) func(*stage) { return func(s *stage) { s.now = initialized.Add(d) } }
	waits := polls("WaitingForLinuxNode")
	for name, c := range map[string]struct {
		reason  string
		changes []func(*stage)
		want    phase.Stop
		says    []string
	}{
		"one of two": {"one is enough", []func(*stage){nodes(notReady, ready)}, phase.Stop{}, nil},
		"none": {"it comes without a watch", []func(*stage){nodes(), after(0)}, waits, []string{
			"Cluster prod has no Ready Node among its 0 with the label kubernetes.io/os=linux and " +
				"node-role.kubernetes.io/control-plane; Windows VMs are made only after one is Ready",
		}},
		"none Ready": {
			"so does a Ready one", []func(*stage){nodes(notReady), linux(ready)}, waits, []string{"no Ready Node among its 1"},
		},
		"uninitialized": {
			"no VM is bought where no cloud provider works",
			[]func(*stage){nodes(notReady, unknown)},
			waits,
			[]string{
				"no cloud provider has initialized Node cp-0 of Cluster prod", "node.cloudprovider.kubernetes.io/uninitialized",
				"kube-system/vsphere-cloud-secret",
			},
		},
		"uninitialized, of a flavor": {
			"the user makes a Secret that Cluster API brings into the cluster",
			[]func(*stage){nodes(unknown), ofFlavor("vsphere")},
			waits,
			[]string{"kube-system/vsphere-cloud-secret", "Secret ns/prod-vsphere-cloud-secret of the management cluster brings it"},
		},
		"uninitialized, of a flavor in Azure": {
			"nobody makes a Secret there: a chart brings the pods, and the machines have a file",
			[]func(*stage){nodes(unknown), inAzure, ofFlavor("azure")},
			waits,
			[]string{
				"cloud-node-manager initializes Nodes", "cloud-controller-manager reads /etc/kubernetes/azure.json",
				"HelmChartProxy ns/prod-azure-ccm of the management cluster brings both",
			},
		},
		"uninitialized in Azure": {
			"its cloud provider reads a file, or another Secret",
			[]func(*stage){nodes(unknown), inAzure},
			waits,
			[]string{"/etc/kubernetes/azure.json", "Secret kube-system/azure-cloud-provider"},
		},
		"one of two uninitialized": {"one is enough", []func(*stage){nodes(unknown, ready)}, phase.Stop{}, nil},
		"no kubelet, just before five minutes": {
			"the Node of a machine with a kubelet may still come",
			[]func(*stage){nodes(), linux(ready), after(5*time.Minute - time.Second)},
			waits,
			[]string{"among its 0 with the label kubernetes.io/os=linux and node-role"},
		},
		"no kubelet": {
			"the controllers of k0s have Machines and no Nodes",
			[]func(*stage){nodes(), linux(notReady, ready), after(5 * time.Minute)},
			phase.Stop{},
			nil,
		},
		"no kubelet, and no time": {
			"nobody knows how long it has been initialized",
			[]func(*stage){nodes(), linux(ready), func(s *stage) { s.candidate.Cluster.Status.Conditions = nil }},
			waits, nil,
		},
		"no kubelet, without a pool": {
			"a person must add one",
			[]func(*stage){nodes(), linux(notReady)},
			waits,
			[]string{
				"no Ready Node among its 1 with the label kubernetes.io/os=linux, and its control plane is hosted elsewhere or " +
					"runs no kubelet, such as that of k0s: cluster DNS",
				"need a Linux pool, so add one",
			},
		},
		"hosted, without a pool": {
			"a person must add one",
			[]func(*stage){hosted},
			waits,
			[]string{"no Ready Node among its 0 with the label kubernetes.io/os=linux", "need a Linux pool, so add one"},
		},
		"hosted, just initialized": {"no machine is to come", []func(*stage){hosted, linux(ready), after(0)}, phase.Stop{}, nil},
		"hosted, with Nodes that have its label": {
			"they belong to no machine of the control plane", []func(*stage){hosted, nodes(notReady), linux(ready)}, phase.Stop{}, nil,
		},
		"hosted, with a pool": {"any Linux Node carries DNS", []func(*stage){hosted, linux(notReady, ready)}, phase.Stop{}, nil},
		"hosted, with a pool without a cloud provider": {
			"no VM is bought where no cloud provider works",
			[]func(*stage){hosted, linux(unknown)},
			waits,
			[]string{"no cloud provider has initialized Node cp-0"},
		},
		"hosted, with a large pool that is not Ready": {
			"only the first were read",
			[]func(*stage){hosted, linux(notReady, notReady), func(s *stage) { s.linux.More = true }},
			waits,
			[]string{"no Ready Node among its first 2 with"},
		},
		"not initialized": {
			"the Cluster is watched",
			[]func(*stage){func(s *stage) { s.candidate.Cluster.Status.Initialization.ControlPlaneInitialized = new(false) }},
			phase.Stop{Reason: "WaitingForControlPlane", Wakes: "Cluster"},
			[]string{"Cluster prod is not initialized yet"},
		},
		"a status that says nothing yet": {
			"the Cluster is watched",
			[]func(*stage){func(s *stage) { s.candidate.Cluster.Status.Initialization.ControlPlaneInitialized = nil }},
			phase.Stop{Reason: "WaitingForControlPlane", Wakes: "Cluster"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) { newStage(c.changes...).stops(t, c.want, c.says...) })
	}
}

// TestNotAsked: what cannot be asked is looked at again, and what fails is for the queue; each says of what.
func TestNotAsked(t *testing.T) {
	hosted := func(s *stage) { s.nodes, s.machines = nil, nil }
	for what, c := range map[string]struct {
		change func(*stage)
		says   string
	}{
		"control plane": {func(*stage) {}, "read Nodes of Cluster prod: boom"},
		"Linux":         {hosted, "read Nodes of Cluster prod: boom"},
		"kubeadm":       {func(*stage) {}, "read ConfigMaps of kubeadm of Cluster prod: boom"},
		"DNS":           {func(*stage) {}, "read cluster DNS of Cluster prod: boom"},
	} {
		s := newStage(c.change, func(s *stage) { s.fails = map[string]error{what: &workload.UnreachableError{Why: "is away"}} })
		s.stops(t, polls("WaitingForLinuxNode"),
			"the API server of Cluster prod is away; Windows waits until it shows a Ready Linux Node")
		s.fails[what] = errLinux
		_, err := s.pass(t)
		expect.Says(t, what, err, c.says)
		expect.Same(t, what+" is an error for the queue", true, errors.Is(phase.Of(err).Err, errLinux))
	}
	s := newStage(func(s *stage) { s.nodes = nil })
	_, err := Gate{Workload: s.cluster, Cache: unlisted{}, Now: time.Now}.Pass(t.Context(), s.candidate)
	expect.Says(t, "a cache that does not answer", err, "list machines of Cluster prod: boom")
}

// A kubeconfig that must not be used is for a person to mend; it is noticed soon.
func TestRefusedKubeconfig(t *testing.T) {
	refused := &workload.RefusedError{}
	s := newStage(func(s *stage) { s.fails = map[string]error{"control plane": refused} })
	s.stops(t, phase.Stop{Reason: "KubeconfigRefused", After: 5 * time.Second, Stalled: true}, refused.Error())
}

// TestOldestVersion: any API server of a control plane may answer, so the oldest one counts.
func TestOldestVersion(t *testing.T) {
	for want, versions := range map[string][]string{
		"":        {"", "unknown"},
		"v1.35.9": {"v1.36.0", "v1.35.9", "", "v1.35.10"},
		"v1.36.3": {"v1.36.3+vmware.1"},
	} {
		var nodes []corev1.Node
		for _, version := range versions {
			nodes = append(nodes, linuxNode(version, corev1.ConditionTrue))
		}
		expect.Same(t, "oldest", want, OldestVersion(nodes))
	}
}

// unlisted is a cache that does not answer.
type unlisted struct{ client.Reader }

// List implements client.Reader.
func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error { return errLinux }
