package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// lookedAt is a view of a cluster of v1.36.3 with a Linux and a tainted Windows Node, and who looks at it.
type lookedAt struct {
	*recorded

	view  *view
	cache client.Client
	about *clusterv1.Cluster
}

func newLookedAt(t *testing.T) *lookedAt {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	expect.OK(t, bootstrapv1.AddToScheme(scheme))
	return newLookedAtBy(t, fake.NewClientBuilder().WithScheme(scheme).Build())
}

func newLookedAtBy(t *testing.T, cache client.Client) *lookedAt {
	t.Helper()
	l := &lookedAt{recorded: newRecorded(t), view: newView(), about: blue(), cache: cache}
	l.Client = cache
	for _, stores := range []map[string]*store{l.view.stores, l.view.own} {
		for resource := range stores {
			l.view.take(resource, workload.Event{Type: workload.Begun})
			l.view.take(resource, workload.Event{Type: workload.Listed})
		}
	}
	l.node("linux-0", "linux")
	l.node("win-0", "windows", corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule})
	l.view.setVersion("v1.36.3")
	return l
}

func (l *lookedAt) node(name, system string, taints ...corev1.Taint) {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: system}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
	n.Status.NodeInfo.KubeletVersion = "v1.36.3"
	l.view.take(nodes, event(l.t, watch.Added, n))
}

func (l *lookedAt) daemonSet(namespace, name string, labels map[string]string, tolerations ...corev1.Toleration) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.Template.Labels, set.Spec.Template.Spec.Tolerations = labels, tolerations
	l.view.take(daemonSets, event(l.t, watch.Added, set))
}

// told are the notes of the events that a look makes.
func (l *lookedAt) told() []string {
	before := len(l.notes)
	l.look(l.t.Context(), l.about, l.view)
	return l.notes[before:]
}

// expectOne wants one note that has these texts.
func (l *lookedAt) expectOne(texts ...string) {
	l.t.Helper()
	notes := l.told()
	if len(notes) != 1 {
		l.t.Fatalf("told %q", notes)
	}
	for _, text := range texts {
		if !strings.Contains(notes[0], text) {
			l.t.Errorf("%q is not in %s", text, notes[0])
		}
	}
}

// everyTaint is tolerated by agents.
var everyTaint = corev1.Toleration{Operator: corev1.TolerationOpExists}

// TestLookAtWorkloads: what lands is told, with whether a policy will mend it, and is gone once it is mended.
func TestLookAtWorkloads(t *testing.T) {
	l := newLookedAt(t)
	expect.Same(t, "told of nothing", 0, len(l.told()))
	l.daemonSet("team", "agent", nil, everyTaint)
	l.expectOne("ns/blue: DaemonSet team/agent may run on Windows (win-0)", "kubectl patch daemonset agent -n team")
	expect.Same(t, "told again", 0, len(l.told()))
	expect.Same(t, "the metric", 1, l.metric["ns/blue PodsLand"])
	l.view.take("mutatingadmissionpolicies", event(t, watch.Added, policies.Mutating()[0]))
	l.daemonSet("team", "other", nil, everyTaint)
	l.expectOne("the policy adds it when the template changes next", "kubectl patch daemonset other -n team")
	l.view.take("mutatingadmissionpolicies", event(t, watch.Deleted, policies.Mutating()[0]))
	l.daemonSet("team", "late", nil, everyTaint)
	if notes := l.told(); len(notes) != 1 || strings.Contains(notes[0], "the policy adds it") {
		t.Errorf("where policies are switched off: %q", notes)
	}
	for _, name := range []string{"agent", "other", "late"} {
		l.daemonSet("team", name, nil)
	}
	expect.Same(t, "told when all are mended", 0, len(l.told()))
	expect.Same(t, "the metric when all are mended", 0, len(l.metric))
}

// TestPlanEvent: the event before the policy says how to have nothing changed.
func TestPlanEvent(t *testing.T) {
	l := newLookedAt(t)
	l.plan(t.Context(), l.about, verdict.Planned([]string{"DaemonSet team/agent"}))
	expect.Same(t, "notes", 1, len(l.notes))
	for _, part := range []string{
		"workloads that select nothing: 1 (DaemonSet team/agent)", "set the annotation capwin.io/linux-policy: warn on the Cluster",
	} {
		if !strings.Contains(l.notes[0], part) {
			t.Errorf("%q is not in %s", part, l.notes[0])
		}
	}
}

// TestLookBeforeTheVersion: what is told depends on the version, which a probe finds out, but not for ever.
func TestLookBeforeTheVersion(t *testing.T) {
	l := newLookedAt(t)
	l.view.setVersion("")
	l.daemonSet("team", "agent", nil, everyTaint)
	expect.Same(t, "told at once", 0, len(l.told()))
	l.later(versionTime)
	expect.Same(t, "told later", 1, len(l.told()))
}

// TestLookAtKubeProxy: the config of a Node's Machine says whether one is missing.
func TestLookAtKubeProxy(t *testing.T) {
	l := newLookedAt(t)
	expect.Same(t, "told of a Node of nobody", 0, len(l.told()))
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "win"}}
	config.Spec.Network.CNI, config.Spec.Network.KubeProxy.Run = bootstrapv1.CNICalico, bootstrapv1.KubeProxyNone
	expect.OK(t, l.cache.Create(t.Context(), config))
	for _, name := range []string{"win", "gone"} {
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "blue"},
		}}
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "WindowsBootstrapConfig", Name: name}
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name + "-0"}
		expect.OK(t, l.cache.Create(t.Context(), machine))
	}
	expect.Same(t, "told of run: None", 0, len(l.told()))
	config.Spec.Network.KubeProxy.Run = ""
	expect.OK(t, l.cache.Update(t.Context(), config))
	l.expectOne("kube-proxy is missing on Windows Nodes (win-0)", "clusterctl windows addons")
	expect.Same(t, "the metric", 1, l.metric["ns/blue KubeProxyMissing"])
	l.view.take(daemonSets, workload.Event{Type: workload.LeftOut, Of: "team/large"})
	l.expectOne("1 objects of Cluster blue were not read")
	expect.Same(t, "the metric where a DaemonSet was too large", 0, l.metric["ns/blue KubeProxyMissing"])
	l.view.take(daemonSets, workload.Event{Type: workload.LeftOut, Of: "team/large", Gone: true})
	l.told()
	expect.Same(t, "the metric when it is gone", 1, l.metric["ns/blue KubeProxyMissing"])
}

// TestLookAtClusterDNS: the Service is watched, too.
func TestLookAtClusterDNS(t *testing.T) {
	l := newLookedAt(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}
	service.Spec.Selector = map[string]string{"dns": "yes"}
	l.view.take(services, event(t, watch.Added, service))
	l.daemonSet("kube-system", "coredns", map[string]string{"dns": "yes", "k8s-app": "kube-dns"})
	expect.Same(t, "told of what the policy covers", 0, len(l.told()))
	l.daemonSet("kube-system", "second", map[string]string{"dns": "yes"})
	l.expectOne("DaemonSet kube-system/second is cluster DNS", "kubectl patch daemonset second -n kube-system")
	service.Spec.Selector = nil
	l.view.take(services, event(t, watch.Modified, service))
	l.expectOne("Service kube-system/kube-dns has no selector")
	service.Spec.Type = corev1.ServiceTypeExternalName
	l.view.take(services, event(t, watch.Modified, service))
	l.told()
	expect.Same(t, "the metric for DNS elsewhere", 0, l.metric["ns/blue DNSNotKept"])
}

// TestLookAtPolicies: why they do not keep everything is told as it is.
func TestLookAtPolicies(t *testing.T) {
	l := newLookedAt(t)
	l.view.setPolicies([]string{"Cluster blue has no MutatingAdmissionPolicy", "Cluster blue refuses a ConfigMap"})
	l.expectOne("ns/blue: Cluster blue has no MutatingAdmissionPolicy; Cluster blue refuses a ConfigMap")
	expect.Same(t, "what it relates to", "PoliciesIncomplete{policies}", l.recorded.about[0])
	l.view.setPolicies(nil)
	l.told()
	expect.Same(t, "the metric", 0, len(l.metric))
}

// TestLookAtThousands: a look at a cluster in which one of 2,000 DaemonSets has changed decodes that one.
func TestLookAtThousands(t *testing.T) {
	l := newLookedAt(t)
	for n := range 2000 {
		l.daemonSet("team", fmt.Sprint("agent-", n), nil)
	}
	l.told()
	l.daemonSet("team", "agent-7", nil, everyTaint)
	decoded := 0
	var memory verdict.Memory
	look := func() (took time.Duration, wrong int) {
		decoded = 0
		start := time.Now()
		all := l.view.stored()
		for i, one := range all {
			all[i].Read = func() verdict.Workload { decoded++; return one.Read() }
		}
		wrong = len(memory.Wrong(l.view.seen(l.view.state()), slices.Values(all)))
		return time.Since(start), wrong
	}
	first, wrong := look()
	expect.Same(t, "decoded at first, and wrong", []int{2000, 1}, []int{decoded, wrong})
	l.daemonSet("team", "agent-8", nil, everyTaint)
	second, wrong := look()
	expect.Same(t, "decoded after a change, and wrong", []int{1, 2}, []int{decoded, wrong})
	t.Logf("the first look took %s, one after a change %s", first, second)
}

// TestForgetLooks: what nobody looks after is no longer known.
func TestForgetLooks(t *testing.T) {
	l := newLookedAt(t)
	l.daemonSet("team", "agent", nil, everyTaint)
	l.told()
	l.forget(client.ObjectKeyFromObject(l.about))
	expect.Same(t, "Clusters", 0, len(l.clusters))
	expect.Same(t, "the metric", 0, len(l.metric))
}

// panicking looks at no Cluster to its end.
type panicking struct {
	teller

	looks int
}

func (p *panicking) look(context.Context, *clusterv1.Cluster, *view) {
	p.looks++
	panic("a Node")
}

// TestPanic: a mistake of ours with what a cluster tells ends nothing else, and is not made without end.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := &panicking{teller: w}
		w.teller = p
		defer w.start()()
		w.passes(time.Hour)
		kept, _ := w.keeper.Kept(aCluster())
		expect.Same(t, "kept", true, kept)
		if p.looks < 6 || p.looks > 10 {
			t.Errorf("%d looks in an hour", p.looks)
		}
	})
}
