package cluster

import (
	"errors"
	"fmt"
	"net/http"
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
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/findings"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/policies"
	objects "github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	nodesPath, daemonSetsPath, servicesPath = "/api/v1/nodes", "/apis/apps/v1/daemonsets", "/api/v1/namespaces/kube-system/services"
)

// findingStage is a stage whose cluster has a Linux Node and one of Windows, with a machine and its config.
type findingStage struct {
	*stage

	lists    *lists
	counts   map[string]int
	policies *Policies
	findings *Findings
}

func newFindingStage(t *testing.T, nodes ...client.Object) *findingStage {
	t.Helper()
	machine, itsConfig := windowsMachine(), config("c", bootstrapv1.Network{})
	ofCore := []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "core", UID: "core"}}
	machine.OwnerReferences, itsConfig.OwnerReferences = ofCore, ofCore
	if len(nodes) > 0 {
		machine.Status.ComputerName = nodes[0].GetName()
	}
	s := &findingStage{stage: newStage(t, machine, itsConfig), lists: newLists(t), counts: map[string]int{}}
	s.lists.objects[nodesPath] = append([]client.Object{nodeOf("linux-0", "linux")}, nodes...)
	s.policies = &Policies{Lists: s.lists}
	s.findings = &Findings{Policies: s.policies, Count: func(_, problem string, n int) { s.counts[problem] = n }}
	s.Reconciler = &Reconciler{
		Client: s.management, Workload: s.stage, Keeps: func() []Keep { return []Keep{s.findings} },
		Object: &infrav1.WindowsMachine{},
		List:   &infrav1.WindowsMachineList{}, Events: s.told, Now: func() time.Time { return s.clock },
	}
	return s
}

func nodeOf(name, system string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: system}}}
	n.Status.NodeInfo.KubeletVersion = "v1.36.3"
	if system == "windows" {
		n.Spec.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

// agent is a DaemonSet that tolerates everything.
func agent(name string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return set
}

// proxySet runs on Windows Nodes.
func proxySet() *appsv1.DaemonSet {
	set := agent("kube-proxy-windows")
	set.Namespace = metav1.NamespaceSystem
	set.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	set.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "kube-proxy", Image: "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess"},
	}
	return set
}

// TestFindings: what is wrong is reported at the first look, once, and looked at again each ten minutes, page by page.
func TestFindings(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet(), agent("a"), agent("b")}
	s.after(t, 0)
	events := s.tells()
	expect.Same(t, "events", 2, len(events))
	for i, name := range []string{"a", "b"} {
		const says = "Warning PlacementFinding DaemonSet team/%s may run on Windows (win-0)"
		expect.Same(t, name, true, strings.HasPrefix(events[i], fmt.Sprintf(says, name)))
	}
	expect.Same(t, "the metric", 2, s.counts["PodsLand"])
	asked := s.lists.asked
	s.after(t, 10*time.Minute-1)
	expect.Same(t, "calls in ten minutes", asked, s.lists.asked)
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet()}
	s.after(t, 1)
	expect.Same(t, "events of the same", nothing, s.tells())
	expect.Same(t, "the metric once all are mended", 0, s.counts["PodsLand"])
}

// TestEventsOfNamespace: findings wait while the events of other Clusters of the namespace have used its minute. None is lost.
func TestEventsOfNamespace(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet(), agent("a"), agent("b")}
	others := tenants.Events.AtOnce - 1
	expect.Same(t, "events of others", others, s.pace.Take(tenants.Events, prod.Namespace, others, s.clock))
	s.after(t, 0)
	expect.Same(t, "events at once", 1, len(s.tells()))
	s.after(t, reportAgain)
	expect.Same(t, "events a minute later", 1, len(s.tells()))
	s.after(t, reportAgain)
	expect.Same(t, "events after that", nothing, s.tells())
}

// TestFirstMachine: a workload that would come to the first Windows Node is known before that joins.
func TestFirstMachine(t *testing.T) {
	s := newFindingStage(t)
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.after(t, 0)
	s.tellsOnce(t, "before the Node", "Warning PlacementFinding DaemonSet team/a may run on Windows (team-a/m)")
}

// TestNamespaceSelects: pods that get their selector from their namespace go nowhere else.
func TestNamespaceSelects(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "team", Annotations: map[string]string{"openshift.io/node-selector": "kubernetes.io/os=linux"},
	}}
	s.lists.objects["/api/v1/namespaces"] = []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, space}
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet(), agent("a")}
	s.after(t, 0)
	expect.Same(t, "events", nothing, s.tells())
}

// TestManyFindings: more than a minute has room for follow in the next ones, without another reading.
func TestManyFindings(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.told.Events = make(chan string, 100)
	s.lists.objects[daemonSetsPath] = []client.Object{
		proxySet(), agent("a1"), agent("a2"), agent("a3"), agent("a4"), agent("a5"),
	}
	s.lists.objects["/apis/apps/v1/deployments"] = []client.Object{
		agent("b1"), agent("b2"), agent("b3"), agent("b4"), agent("b5"), agent("b6"),
	}
	s.after(t, 0)
	expect.Same(t, "the first minute", findings.AtOnce, len(s.tells()))
	asked := s.lists.asked
	s.after(t, time.Minute)
	expect.Same(t, "the second one", 1, len(s.tells()))
	expect.Same(t, "calls for that", asked, s.lists.asked)
	s.after(t, time.Minute)
	expect.Same(t, "the third one", nothing, s.tells())
}

// TestMostFindings: of however many workloads that land, 1,000 findings are kept.
func TestMostFindings(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.lists.through(t, http.DefaultTransport, mostFindings)
	for i := range mostFindings + 10 {
		s.lists.objects[daemonSetsPath] = append(s.lists.objects[daemonSetsPath], agent(fmt.Sprint("a", i)))
	}
	s.after(t, 0)
	expect.Same(t, "the metric", 1000, s.counts["PodsLand"])
}

// TestNotRead: what is not shown, or too much, is reported, and of what is not known nothing is missing.
func TestNotRead(t *testing.T) {
	for path, want := range map[string]string{
		daemonSetsPath: "Warning PlacementFinding Cluster prod was not read completely, so findings about its pods, cluster " +
			"DNS and kube-proxy may be missing: the user of Secret prod-kubeconfig may not list daemonsets",
		nodesPath: "Warning PlacementFinding Cluster prod was not read completely",
	} {
		s := newFindingStage(t, nodeOf("win-0", "windows"))
		s.lists.refused[path] = true
		s.after(t, 0)
		s.tellsOnce(t, path, want)
	}
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	for i := range 3*page + 1 {
		s.lists.objects[daemonSetsPath] = append(s.lists.objects[daemonSetsPath], agent(fmt.Sprint("a", i)))
	}
	s.told.Events = make(chan string, 100)
	s.after(t, 0)
	events := s.tells()
	expect.Same(t, "a sentence, and those that were read", 1+3*page, len(events))
	expect.Says(t, "the sentence", fmt.Errorf("%s", events[0]), "its list /apis/apps/v1/daemonsets has more than 3 pages of "+
		"2 objects")
}

// TestWithoutMachines: a Cluster without Windows machines is not read, and what was known of it is forgotten.
func TestWithoutMachines(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet(), agent("a")}
	s.after(t, 0)
	expect.Same(t, "the metric", 1, s.counts["PodsLand"])
	expect.OK(t, s.management.Delete(t.Context(), windowsMachine()))
	asked := s.lists.asked
	s.after(t, time.Hour)
	expect.Same(t, "calls", asked, s.lists.asked)
	expect.Same(t, "the metric", 0, s.counts["PodsLand"])
	s.tells()
	expect.OK(t, s.management.Create(t.Context(), windowsMachine()))
	s.after(t, 0)
	s.tellsOnce(t, "with a machine again", "Warning PlacementFinding DaemonSet team/a may run on Windows (win-0)")
}

// TestBrokenReading: behind what cannot be read nothing else is read.
func TestBrokenReading(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.lists.breaks = func(path string) error {
		if path == nodesPath {
			return errors.New("boom")
		}
		return nil
	}
	s.after(t, 0)
	s.tellsOnce(t, "events", "Warning PlacementFinding Cluster prod was not read completely")
}

// TestWhichPoliciesAct: a finding has what the policies will do only where they are known to act and may change workloads.
func TestWhichPoliciesAct(t *testing.T) {
	there := policies.Memory{Present: policies.Set{Refusing: true, Changing: true}}
	for name, c := range map[string]struct {
		policy Policies
		acts   bool
	}{
		"unknown":          {Policies{}, false},
		"they act":         {Policies{memory: there}, true},
		"they settle":      {Policies{memory: there, answer: keep.ErrSettling}, true},
		"they do not":      {Policies{memory: there, answer: &policies.UnkeptError{Reason: "nobody obeys"}}, false},
		"one is not there": {Policies{memory: policies.Memory{Present: policies.Set{Refusing: true}}}, false},
	} {
		s := newFindingStage(t, nodeOf("win-0", "windows"))
		s.policies.memory, s.policies.answer = c.policy.memory, c.policy.answer
		s.lists.objects[daemonSetsPath] = []client.Object{proxySet(), agent("a")}
		s.after(t, 0)
		events := strings.Join(s.tells(), "\n")
		expect.Same(t, name, c.acts, strings.Contains(events, "the policy adds it when the template changes next"))
		expect.Same(t, name+": why", name == "they do not", strings.Contains(events, "nobody obeys"))
	}
}

// TestProxyOfConfig: whether a Node needs kube-proxy is read from its config.
func TestProxyOfConfig(t *testing.T) {
	none := azureCNI
	none.KubeProxy.Run = bootstrapv1.KubeProxyNone
	for name, c := range map[string]struct {
		network bootstrapv1.Network
		want    int
	}{"a service": {azureCNI, 1}, "none": {none, 0}} {
		s := newFindingStage(t, nodeOf("win-0", "windows"))
		found := config("c", bootstrapv1.Network{})
		expect.OK(t, s.management.Get(t.Context(), client.ObjectKeyFromObject(found), found))
		found.Spec.Network = c.network
		expect.OK(t, s.management.Update(t.Context(), found))
		s.after(t, 0)
		expect.Same(t, name, c.want, len(s.tells()))
	}
}

// TestNoNodeToCome: a machine that makes no Windows Node, or none of which a config is known, brings no finding.
func TestNoNodeToCome(t *testing.T) {
	for name, change := range map[string]func(*infrav1.WindowsMachine){
		"being deleted":    func(m *infrav1.WindowsMachine) { m.Finalizers = []string{"a/b"} },
		"without a config": func(m *infrav1.WindowsMachine) { m.OwnerReferences[0].Name = "other" },
	} {
		s := newFindingStage(t)
		m := &infrav1.WindowsMachine{}
		expect.OK(t, s.management.Get(t.Context(), client.ObjectKeyFromObject(windowsMachine()), m))
		change(m)
		expect.OK(t, s.management.Update(t.Context(), m))
		if len(m.Finalizers) > 0 {
			expect.OK(t, s.management.Delete(t.Context(), m))
		}
		s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
		s.after(t, 0)
		expect.Same(t, name, nothing, s.tells())
		_, counted := s.counts["PodsLand"]
		expect.Same(t, name+": it was read", true, counted)
	}
}

// late has a clock that goes on by a second for each call that is made.
type late struct {
	*findingStage
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l late) RoundTrip(request *http.Request) (*http.Response, error) {
	l.clock = l.clock.Add(time.Second)
	return l.next.RoundTrip(request)
}

// TestLongLists: lists that take longer than a look may last do not keep the policies from a cluster, and people learn that not
// everything was read.
func TestLongLists(t *testing.T) {
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.told.Events = make(chan string, 100)
	s.Keeps = func() []Keep { return []Keep{s.policies, s.findings} }
	s.lists.through(t, late{s, http.DefaultTransport}, 500)
	for i := range 200 {
		s.lists.objects[daemonSetsPath] = append(s.lists.objects[daemonSetsPath], agent(fmt.Sprint("a", i)))
	}
	begin := s.clock
	s.after(t, 0)
	if took := s.clock.Sub(begin); took >= longestLook {
		t.Errorf("a look takes %s, and is ended after %s", took, longestLook)
	}
	there := objects.Mutating()[0]
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(there), there))
	events := strings.Join(s.tells(), "\n")
	for _, part := range []string{"not all workloads were read", "its lists take longer than 35s and were not read to the end"} {
		if !strings.Contains(events, part) {
			t.Errorf("no event says: %s:\n%s", part, events)
		}
	}
}
