package linux_test

import (
	"encoding/json"
	"fmt"
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
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestKeeper is the life of the objects that a real API server has of us: a user who may not write them, somebody else's with our
// names, what an earlier version made; then our own, which are written once, act, come back by one write when somebody deletes or
// edits them, and go with the annotation.
func TestKeeper(t *testing.T) {
	t.Parallel()
	s := startKept(t, true)
	s.populate()
	s.withoutRights()
	s.withOthers()
	s.upgrades()
	s.restores("deleted", func(o *unstructured.Unstructured) { expect.OK(t, s.api.Delete(t.Context(), o)) })
	s.restores("edited", s.edit)
	s.begin()
	expect.Same(t, "writes of a new process", map[string]int{}, s.written(func() {
		expect.Same(t, "its warning", "", s.settle())
	}))
	s.rests()
	s.switched()
}

// populate makes a Linux and a Windows Node, and an agent that tolerates everything.
func (s *keptServer) populate() {
	s.Helper()
	for name, system := range map[string]string{"linux-0": "linux", "win-0": "windows"} {
		labels := map[string]string{corev1.LabelOSStable: system}
		expect.OK(s, s.api.Create(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	}
	expect.OK(s, s.api.Create(s.Context(), newAgent("agent")))
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

// withoutRights: a kubeconfig that may not write the policies is reported, and no machine waits for it.
func (s *keptServer) withoutRights() {
	s.Helper()
	user := expect.Got(s.environment.AddUser(envtest.User{Name: "weak", Groups: []string{"system:authenticated"}}, nil))(s)
	s.management.kubeconfig = expect.Got(user.KubeConfig())(s)
	s.begin()
	expect.Same(s, "writes without rights", map[string]int{}, s.written(func() {
		const refuses = "Cluster prod refuses the user of Secret prod-kubeconfig the policies that keep workloads for Linux off " +
			"Windows Nodes"
		if warning := s.settle(); !strings.Contains(warning, refuses) {
			s.Errorf("the machine is warned of %q", warning)
		}
	}))
	s.expectTold("may not list nodes, list daemonsets")
	s.management.kubeconfig = s.environment.KubeConfig
}

// expectTold wants an event since the last look at them.
func (s *keptServer) expectTold(part string) {
	s.Helper()
	notes := s.tells()
	if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, part) }) {
		s.Errorf("no event says that %s:\n%s", part, strings.Join(notes, "\n"))
	}
}

// withOthers: what has our names and other content, and is not ours, stays as it is, whatever the annotation is. People know.
func (s *keptServer) withOthers() {
	s.Helper()
	s.leaveOver("somebody")
	theirs := allOfOurs(true)
	for _, o := range theirs {
		o.SetLabels(nil)
		narrow(s, o)
		expect.OK(s, s.api.Create(s.Context(), o))
	}
	s.begin()
	const says = "Cluster prod: MutatingAdmissionPolicy capwin-linux-first was not made by capwin, so it is left alone; rename or " +
		"remove it"
	expect.Same(s, "writes of what is somebody else's", map[string]int{}, s.written(func() {
		if warning := s.settle(); !strings.Contains(warning, says) {
			s.Errorf("the machine is warned of %q", warning)
		}
		for _, value := range []string{infrav1.LinuxPolicyWarn, infrav1.LinuxPolicyOff, ""} {
			s.management.annotate(value)
			s.lookAll()
		}
	}))
	for _, o := range append(theirs, policies.Leftovers()...) {
		expect.OK(s, s.api.Delete(s.Context(), o))
	}
}

// narrow changes what an object is about.
func narrow(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	of := []string{"spec", "matchConstraints"}
	if strings.HasSuffix(o.GetKind(), "Binding") {
		of[1] = "matchResources"
	}
	some := map[string]any{"matchLabels": map[string]any{"a": "b"}}
	expect.OK(t, unstructured.SetNestedField(o.Object, some, append(of, "objectSelector")...))
}

// leaveOver makes what an earlier version wrote beside the policies, as somebody.
func (s *keptServer) leaveOver(somebody string) {
	s.Helper()
	for _, o := range policies.Leftovers() {
		switch o.GetKind() {
		case "ValidatingAdmissionPolicy":
			o.Object["spec"] = map[string]any{
				"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
					"apiGroups": []any{"apps"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"deployments"},
				}}},
				"validations": []any{map[string]any{"expression": "true"}},
			}
		case "ValidatingAdmissionPolicyBinding":
			o.Object["spec"] = map[string]any{"policyName": o.GetName(), "validationActions": []any{"Warn"}}
		}
		s.apply(o, somebody)
	}
}

func (s *keptServer) apply(o *unstructured.Unstructured, by string) {
	s.Helper()
	o.SetLabels(map[string]string{policies.Label: policies.LabelValue})
	expect.OK(s, s.api.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(by)))
}

// upgrades: what an earlier version made is taken over or removed, all else is made, by one write each. Then it acts, and before
// that people learn what it will change, although somebody has workloads of which a page is larger than an answer may be.
func (s *keptServer) upgrades() {
	s.Helper()
	s.makeLarge()
	s.leaveOver("capwin")
	earlier := policies.Validating()[0]
	narrow(s, earlier)
	s.apply(earlier, "capwin")
	s.begin()
	s.tells()
	written := s.written(func() { expect.Same(s, "warning", "", s.settle()) })
	for key, n := range written {
		expect.Same(s, "writes of "+key, 1, n)
	}
	expect.Same(s, "objects written and removed", len(allOfOurs(true))+len(policies.Leftovers()), len(written))
	expect.Same(s, "that what an earlier version wrote is removed", 1, written["configmaps/capwin-linux-first"])
	expect.Same(s, "the label of what it made", "capwin", s.read(earlier).GetLabels()["app.kubernetes.io/managed-by"])
	notes := strings.Join(s.tells(), "\n")
	for _, part := range []string{
		"workloads that select nothing: 1 (DaemonSet default/agent)", "DaemonSet default/agent may run on Windows (win-0)",
	} {
		if !strings.Contains(notes, part) {
			s.Errorf("no event says that %s:\n%s", part, notes)
		}
	}
	other := newAgent("agent-2")
	expect.OK(s, s.api.Create(s.Context(), other))
	expect.Same(s, "what an agent selects that was made since", map[string]string{corev1.LabelOSStable: "linux"},
		other.Spec.Template.Spec.NodeSelector)
	expect.OK(s, s.api.DeleteAllOf(s.Context(), &appsv1.Deployment{}, client.InNamespace(metav1.NamespaceDefault)))
}

// makeLarge makes a page of Deployments, each of which has almost as much as annotations may have.
func (s *keptServer) makeLarge() {
	s.Helper()
	for i := range page {
		large := workload("Deployment", metav1.NamespaceDefault, fmt.Sprint("large-", i), corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
		})
		large.SetAnnotations(map[string]string{"example.com/notes": strings.Repeat("x", 200<<10)})
		expect.OK(s, s.api.Create(s.Context(), large))
	}
}

// edit changes what an object is about, and takes its labels away.
func (s *keptServer) edit(o *unstructured.Unstructured) {
	s.Helper()
	narrow(s, o)
	o.SetLabels(nil)
	expect.OK(s, s.api.Update(s.Context(), o))
}

// restores: what was done to all objects is undone within a minute, by one write each.
func (s *keptServer) restores(what string, do func(*unstructured.Unstructured)) {
	s.Helper()
	objects := allOfOurs(true)
	want := map[string]string{}
	for _, o := range objects {
		there := s.read(o)
		if there == nil {
			s.Fatalf("%s is not there", nameOf(o))
		}
		want[nameOf(o)] = content(there)
		do(there)
	}
	written := s.written(func() { s.pass(time.Minute) })
	expect.Same(s, "objects written after they were "+what, len(objects), len(written))
	for key, n := range written {
		expect.Same(s, "writes of "+key+" after it was "+what, 1, n)
	}
	for _, o := range objects {
		expect.Same(s, nameOf(o)+" after it was "+what, want[nameOf(o)], content(s.read(o)))
	}
}

// content is what counts of an object.
func content(of *unstructured.Unstructured) string {
	if of == nil {
		return ""
	}
	text, _ := json.Marshal([]any{of.Object["spec"], of.GetLabels()}) // it came from JSON
	return string(text)
}

// rests: in an hour in which nothing changes, an API server gets no other calls of our managers than these. The cluster is small,
// so that each of its lists has one page.
func (s *keptServer) rests() {
	s.Helper()
	const looks, probes = 60, 6 // of the policies in an hour; all else is looked at each ten minutes
	s.pass(10 * time.Minute)
	for manager, want := range map[string]map[string]int{
		infrastructure: {
			"list validatingadmissionpolicies": looks, "list validatingadmissionpolicybindings": looks,
			"list mutatingadmissionpolicies": looks, "list mutatingadmissionpolicybindings": looks,
			"dry configmaps": 2 * probes, "get /version": probes,
			"list nodes": probes, "list namespaces": probes, "list runtimeclasses": probes, "get services": probes,
			"list daemonsets": probes, "list deployments": probes, "list statefulsets": probes,
		},
		bootstrapping: {
			"get clusterroles": 2 * probes, "get clusterrolebindings": 2 * probes, // of kube-proxy and flannel
			"get validatingadmissionpolicies": probes, "get validatingadmissionpolicybindings": probes, "get namespaces": probes,
			"get roles": probes, "get rolebindings": probes, "dry configmaps": probes, // of guests
		},
	} {
		got, all := s.during(manager, func() { s.pass(time.Hour) }), 0
		expect.Same(s, "calls of "+manager+" in an hour at rest", want, got)
		for _, n := range got {
			all += n
		}
		s.Logf("calls of %s for a cluster in an hour at rest: %d", manager, all)
	}
}

// switched: with the annotation, all objects go, and come back without it. With its other value nothing is changed, everything is
// warned of, and cluster DNS is kept.
func (s *keptServer) switched() {
	s.Helper()
	for _, row := range []struct {
		value string
		there int
	}{
		{infrav1.LinuxPolicyOff, 0},
		{"", len(allOfOurs(true))},
		{infrav1.LinuxPolicyWarn, len(allOfOurs(false))},
	} {
		s.management.annotate(row.value)
		s.lookAll()
		there := slices.DeleteFunc(allOfOurs(true), func(o *unstructured.Unstructured) bool { return s.read(o) == nil })
		expect.Same(s, fmt.Sprintf("objects with the annotation %q", row.value), row.there, len(there))
	}
	expect.Same(s, "the mutating policy", true, s.read(policies.Mutating()[0]) == nil)
	wait.Until(s, "an agent that is left as it is", func() (any, bool) {
		agent := newAgent("agent-warned")
		expect.OK(s, s.api.Create(s.Context(), agent, client.DryRunAll))
		return agent.Spec.Template.Spec.NodeSelector, agent.Spec.Template.Spec.NodeSelector == nil
	})
	wait.Until(s, "a refusal by the validating policies, which are back", func() (any, bool) {
		err := s.api.Create(s.Context(), policies.ProbeValidating(), client.DryRunAll)
		return err, policies.IsRefusal(err)
	})
}

// TestKeeperBefore136: an API server without the mutating kind gets the validating policies, which act, and nothing is written
// after that.
func TestKeeperBefore136(t *testing.T) {
	t.Parallel()
	s := startKept(t, false)
	s.populate()
	written := s.written(func() {
		expect.Same(t, "warning", "Cluster prod has no MutatingAdmissionPolicy, which Kubernetes has from 1.36 on, so workloads for "+
			"Linux are not all kept off its Windows Nodes", s.settle())
	})
	expect.Same(t, "objects", len(allOfOurs(false)), len(written))
	expect.Same(t, "writes of an hour", map[string]int{}, s.written(func() { s.pass(time.Hour) }))
}
