package linux

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// joinedAt is when the Nodes of other machines joined.
var joinedAt = initialized.Add(10 * time.Minute)

// other is a Windows machine of the Cluster that has joined, and its Machine.
type other struct {
	windows infrav1.WindowsMachine
	core    clusterv1.Machine
}

// newOther is one of the candidate's MachineSet, as its controller shows it when its Node has had no CNI for 15 minutes.
func newOther(name string, changes ...func(*other)) other {
	var o other
	o.windows.Namespace, o.windows.Name = "ns", name
	o.windows.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod", clusterv1.MachineSetNameLabel: "win-a"}
	o.windows.Status.NodeName = name
	o.windows.Status.Conditions = []metav1.Condition{
		{
			Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionTrue, Reason: infrav1.JoinedReason,
			LastTransitionTime: metav1.NewTime(joinedAt),
		},
		{Type: infrav1.CNIReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.CNINotReadyReason},
	}
	o.core.Namespace, o.core.Name, o.core.Labels = "ns", "machine-of-"+name, o.windows.Labels
	o.core.Spec.InfrastructureRef.Name = name
	o.core.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNodeNotReadyReason,
		LastTransitionTime: metav1.NewTime(joinedAt.Add(-3 * time.Second)),
	}}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func young(o *other) { o.windows.Status.Conditions = o.windows.Status.Conditions[:1] }

func mended(o *other) {
	o.windows.Status.Conditions[1].Status, o.windows.Status.Conditions[1].Reason = metav1.ConditionTrue, infrav1.CNIReadyReason
}

func deleted(o *other) { o.windows.DeletionTimestamp = new(metav1.NewTime(joinedAt)) }

func notJoined(o *other) { o.windows.Status = infrav1.WindowsMachineStatus{} }

func outage(o *other) {
	o.core.Status.Conditions[0].LastTransitionTime = metav1.NewTime(joinedAt.Add(time.Minute + time.Second))
}

func ofSet(name string) func(*other) {
	return func(o *other) { o.windows.Labels[clusterv1.MachineSetNameLabel] = name }
}

func byHand(o *other) { delete(o.windows.Labels, clusterv1.MachineSetNameLabel) }

func ofOther(o *other) { o.windows.Labels[clusterv1.ClusterNameLabel] = "dev" }

func with(others ...other) func(*stage) {
	return func(s *stage) {
		for _, o := range others {
			s.windows, s.machines = append(s.windows, o.windows), append(s.machines, o.core)
		}
	}
}

// TestWaitingForCNI: while no Windows machine that has joined has ever had a CNI, no other VM is made of the same MachineSet.
func TestWaitingForCNI(t *testing.T) {
	of := func(set string) func(*stage) {
		return func(s *stage) { s.candidate.Windows.Labels = map[string]string{clusterv1.MachineSetNameLabel: set} }
	}
	asked := func(s *stage) { s.candidate.Windows.Finalizers = []string{infrav1.MachineFinalizer} }
	own := func(s *stage) { s.candidate.Config = nil }
	lacks := newOther("win-1")
	waits := phase.Stop{Reason: "WaitingForCNI", After: 30 * time.Second}
	for name, c := range map[string]struct {
		reason  string
		changes []func(*stage)
		want    phase.Stop
		says    []string
	}{
		"the first":   {"nobody knows yet whether it gets one", nil, phase.Stop{}, nil},
		"none joined": {"nor do these", []func(*stage){with(newOther("win-1", notJoined))}, phase.Stop{}, nil},
		"another's":   {"each Cluster has its own CNI", []func(*stage){with(newOther("win-1", ofOther))}, phase.Stop{}, nil},
		"the only one": {"it would have none either", []func(*stage){with(lacks)}, waits, []string{
			"no Windows Node of Cluster prod has a CNI (WindowsMachines win-1), and another one would have none either",
			"install the CNI for Windows in the workload cluster",
		}},
		"many": {
			"some are enough to look at, and the sentence stays the same in whatever order the cache has them",
			[]func(*stage){with(newOther("win-5"), newOther("win-3"), newOther("win-2"), lacks, newOther("win-4"))},
			waits,
			[]string{"(WindowsMachines win-1, win-2, win-3 and 2 more)"},
		},
		"user data of others": {"its CNI is the cluster's, too", []func(*stage){with(lacks), own}, waits, nil},
		"its VM may be there": {"somebody must look after it", []func(*stage){with(lacks), asked}, phase.Stop{}, nil},
		"one has a CNI":       {"it can be had", []func(*stage){with(lacks, newOther("win-2", mended))}, phase.Stop{}, nil},
		"one has just joined": {"it may get one", []func(*stage){with(lacks, newOther("win-2", young))}, phase.Stop{}, nil},
		"it comes at last":    {"the gate opens", []func(*stage){with(newOther("win-1", mended))}, phase.Stop{}, nil},
		"the only one goes": {
			"a health check replaces it, and the next one is the first again",
			[]func(*stage){with(newOther("win-1", deleted))},
			phase.Stop{},
			nil,
		},
		"one of two goes": {"the other one lacks it still", []func(*stage){with(lacks, newOther("win-2", deleted))}, waits, nil},
		"a rolling update": {
			"its template may be what mends it, and the old one is deleted only after the new one has joined",
			[]func(*stage){with(newOther("win-1", ofSet("win-old")))},
			phase.Stop{},
			nil,
		},
		"a pool of another Windows": {
			"the CNI may have no image for the first one", []func(*stage){with(newOther("win-1", ofSet("win-2019")))}, phase.Stop{}, nil,
		},
		"a second of that pool": {
			"nor for this one", []func(*stage){with(lacks, newOther("win-2", ofSet("win-2019")))}, waits, nil,
		},
		"made by hand, beside a pool": {"it may be what mends it", []func(*stage){of(""), with(lacks)}, phase.Stop{}, nil},
		"a second one, made by hand": {
			"a person may delete the first", []func(*stage){of(""), with(newOther("win-1", byHand))}, waits, nil,
		},
		"an outage": {
			"the Node was Ready once: what was there comes back", []func(*stage){with(newOther("win-1", outage))}, phase.Stop{}, nil,
		},
		"an outage of one of two": {"the CNI was there", []func(*stage){with(lacks, newOther("win-2", outage))}, phase.Stop{}, nil},
		"a guest that failed after the join": {
			"nobody knows when it joined",
			[]func(*stage){with(newOther("win-1", outage, func(o *other) {
				o.windows.Status.Conditions[0].Status = metav1.ConditionFalse
			}))},
			waits, nil,
		},
		"a Node of which nothing is said": {
			"nothing speaks for a CNI",
			[]func(*stage){with(newOther("win-1", func(o *other) { o.core.Status.Conditions = nil }))},
			waits,
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(append([]func(*stage){of("win-a")}, c.changes...)...)
			t.Log(c.reason)
			s.stops(t, c.want, c.says...)
		})
	}
}

// Where the cache does not answer, nobody knows.
func TestCNIWithoutCache(t *testing.T) {
	s := newStage(with(newOther("win-1")))
	s.candidate.Windows.Labels = map[string]string{clusterv1.MachineSetNameLabel: "win-a"}
	for kind, says := range map[string]string{
		"*v1beta1.WindowsMachineList": "list machines of Cluster prod: boom",
		"*v1beta2.MachineList":        "list machines of Cluster prod: boom",
	} {
		cache := machines{all: s.machines, windows: s.windows, fails: kind}
		_, err := Gate{Workload: s.cluster, Cache: cache, Now: time.Now}.Pass(t.Context(), s.candidate)
		expect.Says(t, kind, err, says)
	}
}

// calicoNode is as Calico makes it (tigera/operator v1.38, pkg/render/windows.go), as far as it decides.
func calicoNode(changes ...func(*appsv1.DaemonSet)) appsv1.DaemonSet {
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "calico-system", Name: "calico-node-windows"}}
	set.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node", Image: "quay.io/calico/node-windows:v3.30.1"}}
	for _, change := range changes {
		change(&set)
	}
	return set
}

func selecting(key, value string) func(*appsv1.DaemonSet) {
	return func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.NodeSelector[key] = value }
}

// kubeProxy is as clusterctl windows addons prints it: HostProcess, and no CNI.
func kubeProxy(set *appsv1.DaemonSet) {
	set.Spec.Template.Spec.Containers[0] = corev1.Container{Name: "kube-proxy", Image: "sigwindowstools/kube-proxy:v1.36.3"}
}

// TestNoCNI: before the first Windows machine, people are warned where nothing seems to bring a CNI. Nobody waits for it.
func TestNoCNI(t *testing.T) {
	cni := func(of bootstrapv1.CNI) func(*stage) {
		return func(s *stage) { s.candidate.Config.Spec.Network.CNI = of }
	}
	sets := func(all ...appsv1.DaemonSet) func(*stage) { return func(s *stage) { s.sets.Found = all } }
	tainted := func(s *stage) {
		s.candidate.Config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{{Key: "team", Value: "a", Effect: "NoSchedule"}}
	}
	invalid := func(s *stage) {
		s.candidate.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{corev1.LabelOSStable: "linux"}
	}
	stays := func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.Tolerations = nil }
	classed := func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.RuntimeClassName = new("windows-2022") }
	const none = "no DaemonSet of Cluster prod seems to bring a CNI to this node, which stays NotReady without one. Looked for: "
	calico, asks := cni(bootstrapv1.CNICalico), []string{"control plane", "kubeadm", "DNS", "DaemonSets"}
	for name, c := range map[string]struct {
		changes []func(*stage)
		warns   string
		asked   []string
	}{
		"Calico": {[]func(*stage){calico}, none + "the DaemonSet calico-node-windows, whose pod on the Node writes", asks},
		"Antrea": {[]func(*stage){cni(bootstrapv1.CNIAntrea)}, none + "the DaemonSet antrea-agent-windows", asks},
		"no CNI named": {nil, none + `the DaemonSet for Windows of the cluster's CNI, which writes a file into C:\etc\cni\net.d; the ` +
			"config names no CNI. Install it, unless the image or the config brings the CNI; while the Nodes that have joined have " +
			"none, no other VM is made", asks},
		"Flannel":              {[]func(*stage){cni(bootstrapv1.CNIFlannel)}, "", asks[:3]},
		"AzureCNI":             {[]func(*stage){cni(bootstrapv1.CNIAzure)}, "", asks[:3]},
		"user data of others":  {[]func(*stage){func(s *stage) { s.candidate.Config = nil }}, "", []string{"control plane", "DNS"}},
		"it is there":          {[]func(*stage){calico, sets(calicoNode())}, "", asks},
		"with a RuntimeClass":  {[]func(*stage){calico, sets(calicoNode(classed))}, "", asks},
		"of the node's build":  {[]func(*stage){calico, sets(calicoNode(selecting(corev1.LabelWindowsBuild, "10.0.20348")))}, "", asks},
		"for other nodes":      {[]func(*stage){calico, sets(calicoNode(selecting("pool", "other")))}, none, asks},
		"it tolerates nothing": {[]func(*stage){calico, sets(calicoNode(stays))}, none, asks},
		"nor a taint of the config": {[]func(*stage){calico, tainted, sets(calicoNode(func(set *appsv1.DaemonSet) {
			set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "os", Operator: corev1.TolerationOpExists}}
		}))}, none, asks},
		"kube-proxy alone":   {[]func(*stage){calico, sets(calicoNode(kubeProxy))}, none, asks},
		"the second is one":  {[]func(*stage){calico, sets(calicoNode(kubeProxy), calicoNode())}, "", asks},
		"there are too many": {[]func(*stage){calico, func(s *stage) { s.sets.More = true }}, "", asks},
		"one has joined":     {[]func(*stage){calico, with(newOther("win-1", young))}, "", asks[:3]},
		"no Node will come":  {[]func(*stage){calico, invalid}, "", asks[:3]},
		"they are not shown": {
			[]func(*stage){calico, func(s *stage) { s.sets.Refused = []string{"its DaemonSets"} }},
			"Cluster prod does not show its DaemonSets to the user of Secret prod-kubeconfig, so the manager cannot check whether it " +
				"has a CNI " +
				"for Windows; give that user the right to read it",
			asks,
		},
		"they cannot be read": {
			[]func(*stage){calico, func(s *stage) { s.fails = map[string]error{"DaemonSets": errLinux} }},
			"the DaemonSets of Cluster prod could not be read, so the manager cannot check its CNI for Windows", asks,
		},
	} {
		t.Run(name, func(t *testing.T) {
			without := func(s *stage) { s.sets.Found = nil }
			s := newStage(append([]func(*stage){without}, c.changes...)...)
			passage := expect.Got(s.pass(t))(t)
			expect.Same(t, "asked", c.asked, s.asked)
			expect.Same(t, "warnings", c.warns != "", len(passage.Warnings) == 1)
			for _, warning := range passage.Warnings {
				expect.Same(t, "it begins with", true, strings.HasPrefix(warning, c.warns))
			}
		})
	}
}
