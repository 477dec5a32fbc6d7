package linux_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// populate makes a Linux and a Windows Node, and an agent that tolerates everything and has a Ready pod on the latter.
func (s *keptServer) populate() {
	s.Helper()
	for name, labels := range map[string]map[string]string{
		"linux-0": {corev1.LabelOSStable: "linux", "pool": "l"},
		"win-0":   {corev1.LabelOSStable: "windows", "pool": "w", "gpu": ""},
	} {
		expect.OK(s, s.api.Create(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	}
	agent := newAgent("agent")
	expect.OK(s, s.api.Create(s.Context(), agent))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: "agent-x"}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(agent, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	pod.Spec = *agent.Spec.Template.Spec.DeepCopy()
	pod.Spec.NodeName, pod.Spec.AutomountServiceAccountToken = "win-0", new(false)
	expect.OK(s, s.api.Create(s.Context(), pod))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	expect.OK(s, s.api.Status().Update(s.Context(), pod))
}

// newAgent is a DaemonSet that names no system and tolerates everything.
func newAgent(name string) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec = corev1.PodSpec{
		Containers:  []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
	return set
}

// TestKeeper: our objects are written once, act, come back by one write when somebody deletes or edits them, and go with the
// annotation. While nothing changes, there are watches and probes only.
func TestKeeper(t *testing.T) {
	t.Parallel()
	s := startKept(t, true)
	s.populate()
	s.leaveOver("capwin")
	keeper, end := s.keep()
	expect.Same(t, "warning", "", s.await(keeper))
	objects := allOfOurs(true)
	s.checkFirst(objects)
	s.checkRestored(objects, "deleted", func(o *unstructured.Unstructured) { expect.OK(t, s.api.Delete(t.Context(), o)) })
	s.checkRestored(objects, "edited", s.edit)
	s.checkSteady(15 * time.Second)
	end()

	restarted, end := s.keep()
	before := s.calls()
	expect.Same(t, "warning of a new process", "", s.await(restarted))
	expect.Same(t, "writes of a new process", map[string]int{}, writes(s.calls()[len(before):]))
	s.checkOff(objects, func() { restarted.Kept(s.cluster) })
	s.checkWarn(func() { restarted.Kept(s.cluster) })
	end()
}

// leaveOver makes what an earlier version wrote beside the policies, as somebody.
func (s *keptServer) leaveOver(somebody string) {
	s.Helper()
	object := policies.Leftover()
	object.SetLabels(map[string]string{policies.Label: policies.LabelValue})
	expect.OK(s, s.api.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(somebody)))
}

// checkWarn: with the other value of the annotation nothing is changed, everything is warned of, and cluster DNS is kept.
func (s *keptServer) checkWarn(notice func()) {
	s.Helper()
	s.annotate(infrav1.LinuxPolicyWarn)
	notice()
	wait.Until(s, "the validating policies alone", func() (any, bool) {
		var there []string
		for _, o := range allOfOurs(true) {
			if s.read(o) != nil {
				there = append(there, nameOf(o))
			}
		}
		return there, len(there) == len(allOfOurs(false)) && s.read(policies.Mutating()[0]) == nil
	})
	wait.Until(s, "an agent that is left as it is", func() (any, bool) {
		agent := newAgent("agent-warned")
		expect.OK(s, s.api.Create(s.Context(), agent, client.DryRunAll))
		return agent.Spec.Template.Spec.NodeSelector, agent.Spec.Template.Spec.NodeSelector == nil
	})
	if err := s.api.Create(s.Context(), policies.ProbeValidating(), client.DryRunAll); !policies.IsRefusal(err) {
		s.Errorf("cluster DNS is not kept: %v", err)
	}
}

// annotate gives the Cluster the annotation, or takes it away.
func (s *keptServer) annotate(value string) {
	s.Helper()
	s.cluster = s.cluster.DeepCopy()
	s.cluster.Annotations = nil
	if value != "" {
		s.cluster.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: value}
	}
	expect.OK(s, s.management.Update(s.Context(), s.cluster))
}

// checkFirst looks at what is there after the first machine has waited.
func (s *keptServer) checkFirst(objects []*unstructured.Unstructured) {
	s.Helper()
	written := writes(s.calls())
	for key, n := range written {
		expect.Same(s, "writes of "+key, 1, n)
	}
	expect.Same(s, "that what an earlier version wrote is removed", 1, written["configmaps/capwin-linux-first"])
	expect.Same(s, "that it is gone", true, s.read(policies.Leftover()) == nil)
	expect.Same(s, "objects written", len(objects), len(written)-1)
	other := newAgent("agent-2")
	expect.OK(s, s.api.Create(s.Context(), other))
	expect.Same(s, "what an agent selects that was made since", map[string]string{corev1.LabelOSStable: "linux"},
		other.Spec.Template.Spec.NodeSelector)
}

// edit changes what an object says, and adds what we say nothing of.
func (s *keptServer) edit(o *unstructured.Unstructured) {
	s.Helper()
	there := s.read(o)
	switch o.GetKind() {
	case "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy":
		expect.OK(s, unstructured.SetNestedField(there.Object, map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"spec", "matchConstraints", "objectSelector"))
		there.SetLabels(nil)
	default:
		expect.OK(s, unstructured.SetNestedField(there.Object, map[string]any{"objectSelector": map[string]any{
			"matchLabels": map[string]any{"a": "b"},
		}}, "spec", "matchResources"))
	}
	expect.OK(s, s.api.Update(s.Context(), there))
}

// checkRestored: what was done to all objects is undone, by one write each.
func (s *keptServer) checkRestored(objects []*unstructured.Unstructured, what string, do func(*unstructured.Unstructured)) {
	s.Helper()
	want := map[string]map[string]any{}
	for _, o := range objects {
		want[o.GetKind()+o.GetName()] = content(s.read(o))
	}
	before, begin := len(s.calls()), time.Now()
	for _, o := range objects {
		do(s.read(o))
	}
	wait.Until(s, "objects that come back after they were "+what, func() (any, bool) {
		var missing []string
		for _, o := range objects {
			if got := content(s.read(o)); !equal(want[o.GetKind()+o.GetName()], got) {
				missing = append(missing, o.GetKind()+" "+o.GetName())
			}
		}
		return missing, len(missing) == 0
	})
	s.Logf("%d objects were %s and are back after %.1f s", len(objects), what, time.Since(begin).Seconds())
	n := writes(s.calls()[before:])
	expect.Same(s, "objects written after they were "+what, len(objects), len(n))
	for key, n := range n {
		expect.Same(s, "writes of "+key+" after it was "+what, 1, n)
	}
}

func equal(a, b map[string]any) bool {
	return unstructuredText(a) == unstructuredText(b)
}

// checkSteady: while nothing changes, there are watches and probes only.
func (s *keptServer) checkSteady(lasts time.Duration) {
	s.Helper()
	<-time.After(5 * time.Second) // the probe after the last write
	before := len(s.calls())
	<-time.After(lasts)
	kinds := map[string]int{}
	for _, c := range s.calls()[before:] {
		probe := c.RequestURI == "/version" || strings.Contains(c.RequestURI, "dryRun=All")
		if c.Verb != "watch" && !probe {
			s.Errorf("%s %s", c.Verb, c.RequestURI)
		}
		kinds[c.Verb]++
	}
	s.Logf("calls in %s: %v", lasts, kinds)
}

// checkOff: with the annotation, all objects go, and come back without it.
func (s *keptServer) checkOff(objects []*unstructured.Unstructured, notice func()) {
	s.Helper()
	there := func() (names []string) {
		for _, o := range objects {
			if s.read(o) != nil {
				names = append(names, o.GetKind()+" "+o.GetName())
			}
		}
		return names
	}
	s.annotate(infrav1.LinuxPolicyOff)
	begin := time.Now()
	notice()
	wait.Until(s, "no objects of ours", func() (any, bool) { return there(), len(there()) == 0 })
	s.Logf("%d objects went in %.1f s", len(objects), time.Since(begin).Seconds())
	s.annotate("")
	notice()
	wait.Until(s, "all objects of ours", func() (any, bool) { return there(), len(there()) == len(objects) })
}

// TestKeeperOfOthers: what has our name and is not ours stays as it is, with the annotation, too. People are told, and the others
// are kept.
func TestKeeperOfOthers(t *testing.T) {
	t.Parallel()
	s := startKept(t, true)
	s.populate()
	theirs := policies.Mutating()[0]
	expect.OK(t, unstructured.SetNestedField(theirs.Object, "Fail", "spec", "failurePolicy"))
	expect.OK(t, s.api.Create(t.Context(), theirs))
	version := theirs.GetResourceVersion()
	s.leaveOver("somebody")
	keeper, end := s.keep()
	const says = "Cluster prod: MutatingAdmissionPolicy capwin-linux-first was not made by capwin, so it is left alone; rename or " +
		"remove it"
	if warning := s.await(keeper); !strings.HasPrefix(warning, says) {
		t.Errorf("the machine is warned of %q", warning)
	}
	for _, o := range policies.Validating() {
		if s.read(o) == nil {
			t.Errorf("%s %s is not there", o.GetKind(), o.GetName())
		}
	}
	s.cluster = s.cluster.DeepCopy()
	s.cluster.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: infrav1.LinuxPolicyOff}
	keeper.Kept(s.cluster)
	wait.Until(t, "no objects of ours", func() (any, bool) {
		there := slices.DeleteFunc(allOfOurs(true), func(o *unstructured.Unstructured) bool { return s.read(o) == nil })
		return len(there), len(there) == 1
	})
	expect.Same(t, "version of theirs", version, s.read(theirs).GetResourceVersion())
	expect.Same(t, "that their ConfigMap is there", true, s.read(policies.Leftover()) != nil)
	end()
}

// TestKeeperWithoutRights: a kubeconfig that may not write the policies is told of, and the machine goes on.
func TestKeeperWithoutRights(t *testing.T) {
	t.Parallel()
	s := startKept(t, true)
	s.populate()
	user := expect.Got(s.environment.AddUser(envtest.User{Name: "weak", Groups: []string{"system:authenticated"}}, nil))(t)
	s.kubeconfig = expect.Got(user.KubeConfig())(t)
	keeper, end := s.keep()
	warning := s.await(keeper)
	const refuses = "Cluster prod refuses to the user of Secret prod-kubeconfig what keeps workloads for Linux off Windows Nodes"
	if !strings.Contains(warning, refuses) {
		t.Errorf("the machine is warned of %q", warning)
	}
	expect.Same(t, "writes", map[string]int{}, writes(s.calls()))
	end()
}

// TestKeeperBefore136: an API server without the mutating kind gets the validating policies, which act.
func TestKeeperBefore136(t *testing.T) {
	t.Parallel()
	s := startKept(t, false)
	s.populate()
	keeper, end := s.keep()
	expect.Same(t, "warning", "Cluster prod has no MutatingAdmissionPolicy, which Kubernetes has from 1.36 on, so workloads for "+
		"Linux are not all kept off its Windows Nodes", s.await(keeper))
	expect.Same(t, "objects", len(allOfOurs(false)), len(slices.Collect(maps.Keys(writes(s.calls())))))
	s.checkSteady(5 * time.Second)
	end()
}
