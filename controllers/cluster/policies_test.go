package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	objects "github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// policyStage is a stage of the infrastructure manager. Its workload cluster obeys the policies that are there.
type policyStage struct {
	*stage

	lists *lists
	// deaf has the API server obey none.
	deaf bool
}

func newPolicyStage(t *testing.T, machines ...client.Object) *policyStage {
	t.Helper()
	s := &policyStage{stage: newStage(t, machines...), lists: newLists(t)}
	s.workload = interceptor.NewClient(s.workload, interceptor.Funcs{
		Create: func(ctx context.Context, api client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := api.Create(ctx, o, options...); err != nil {
				return err
			}
			return s.obey(o)
		},
	})
	s.begin()
	return s
}

// obey does with a probe what the policies do.
func (s *policyStage) obey(o client.Object) error {
	probe, is := o.(*corev1.ConfigMap)
	switch {
	case !is || s.deaf:
		return nil
	case probe.Name == objects.ProbeMutating().Name:
		probe.Data["mutated"] = "yes"
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, probe.Name,
		errors.New("ValidatingAdmissionPolicy 'capwin-dns-stays-on-linux' with binding 'x' denied request: this object is never made"))
}

// begin has another process take over.
func (s *policyStage) begin() {
	s.Reconciler = &Reconciler{
		Client: s.management, Workload: s.stage, Keeps: func() []Keep { return []Keep{&Policies{Lists: s.lists}} },
		Object: &infrav1.WindowsMachine{},
		List:   &infrav1.WindowsMachineList{}, Events: s.told, Now: func() time.Time { return s.clock },
	}
}

func windowsMachine() *infrav1.WindowsMachine {
	return &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: prod.Namespace, Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: prod.Name},
	}}
}

// about is the Cluster.
func (s *policyStage) about(t *testing.T) *clusterv1.Cluster {
	t.Helper()
	about := &clusterv1.Cluster{}
	expect.OK(t, s.management.Get(t.Context(), prod, about))
	return about
}

// annotate sets the annotation; an empty value removes it.
func (s *policyStage) annotate(t *testing.T, value string) {
	t.Helper()
	about := s.about(t)
	about.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: value}
	if value == "" {
		about.Annotations = nil
	}
	expect.OK(t, s.management.Update(t.Context(), about))
}

// settles has a machine ask, and looks until the policies have settled.
func (s *policyStage) settles(t *testing.T) {
	t.Helper()
	s.kept(t)
	s.after(t, 0)
	s.after(t, 2*time.Second)
}

// kept asks for a machine.
func (s *policyStage) kept(t *testing.T) (kept bool, warning string) {
	t.Helper()
	return s.Kept(s.about(t), asker)
}

// thereOf counts our policies and bindings in the workload cluster.
func (s *policyStage) thereOf(t *testing.T) (validating, mutating int) {
	t.Helper()
	made := s.calls
	defer func() { s.calls = made }()
	for _, o := range allPolicies() {
		if s.workload.Get(t.Context(), client.ObjectKeyFromObject(o), o) != nil {
			continue
		}
		if strings.HasPrefix(o.GetKind(), "Mutating") {
			mutating++
		} else {
			validating++
		}
	}
	return validating, mutating
}

func (s *policyStage) expectThere(t *testing.T, what string, validating, mutating int) {
	t.Helper()
	v, m := s.thereOf(t)
	expect.Same(t, what, fmt.Sprint(validating, mutating), fmt.Sprint(v, m))
}

const allValidating, allMutating = 6, 2

// TestPolicies: a machine waits until all objects are there and act. Then they are read by one call a kind and minute, and there
// is a probe each ten minutes.
func TestPolicies(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	kept, _ := s.kept(t)
	expect.Same(t, "before the first look", false, kept)
	s.after(t, 0)
	s.expectThere(t, "after the first look", allValidating, allMutating)
	kept, _ = s.kept(t)
	expect.Same(t, "until they act", false, kept)
	s.after(t, 2*time.Second)
	kept, warning := s.kept(t)
	expect.Same(t, "once they act", true, kept)
	expect.Same(t, "the warning", "", warning)
	reads := []string{
		"list MutatingAdmissionPolicyBindingList", "list MutatingAdmissionPolicyList", "list ValidatingAdmissionPolicyBindingList",
		"list ValidatingAdmissionPolicyList",
	}
	for range 9 {
		expect.Same(t, "calls of a minute", reads, s.after(t, time.Minute))
	}
	expect.Same(t, "calls after ten", append([]string{"create ConfigMap", "create ConfigMap"}, reads...), s.after(t, time.Minute))
	kept, _ = s.kept(t)
	expect.Same(t, "in the end", true, kept)
}

// TestPoliciesWithoutWindows: a Cluster without a Windows machine is not asked. Policies that are there stay as they are, also
// for another process, until a person sets the annotation.
func TestPoliciesWithoutWindows(t *testing.T) {
	s := newPolicyStage(t)
	expect.Same(t, "calls", nothing, s.after(t, 0))
	s.settles(t)
	s.expectThere(t, "once a machine asks", allValidating, allMutating)
	s.begin()
	expect.OK(t, s.workload.Delete(t.Context(), objects.Mutating()[0]))
	s.calls = nil
	expect.Same(t, "calls of another process", nothing, s.after(t, time.Hour))
	s.expectThere(t, "what is there", allValidating, allMutating-1)
	s.annotate(t, "warn")
	s.after(t, 0)
	s.expectThere(t, "with warn", allValidating, 0)
	s.annotate(t, "off")
	s.after(t, 0)
	s.expectThere(t, "with off", 0, 0)
}

// TestPoliciesNotAskedFor: machines need the policies also before one asks.
func TestPoliciesNotAskedFor(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	s.after(t, 0)
	s.expectThere(t, "objects", allValidating, allMutating)
	s.kept(t)
	about := s.about(t)
	about.Spec.Paused = new(true)
	expect.OK(t, s.management.Update(t.Context(), about))
	s.after(t, 0)
	expect.Same(t, "what is known of one that is paused", 0, len(s.memories))
}

// TestPolicyCallsFail: whatever fails is done again in a while.
func TestPolicyCallsFail(t *testing.T) {
	for call, mode := range map[string]string{
		"get ConfigMap": "", "create ValidatingAdmissionPolicy": "", "create MutatingAdmissionPolicyBinding": "",
		"get MutatingAdmissionPolicy":             "",
		"delete MutatingAdmissionPolicy":          "warn",
		"delete ValidatingAdmissionPolicyBinding": "off",
	} {
		s := newPolicyStage(t, windowsMachine())
		if mode != "" {
			s.settles(t)
			s.annotate(t, mode)
		}
		s.fail = func(now string) error {
			if now == call {
				return errors.New("not now")
			}
			return nil
		}
		s.after(t, 0)
		again := s.after(t, 15*time.Second)
		expect.Same(t, call, true, slices.Contains(again, call))
	}
}

// TestPoliciesSwitched: the annotation has the policies removed, all or that which changes workloads, and they come back without
// it.
func TestPoliciesSwitched(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	s.settles(t)
	for _, c := range []struct {
		value                string
		validating, mutating int
		warns                string
	}{
		{"off", 0, 0, ""},
		{"warn", allValidating, 0, ""},
		{"", allValidating, allMutating, ""},
		{"Off", allValidating, allMutating, "Cluster prod has the annotation capwin.io/linux-policy with an invalid value"},
	} {
		s.annotate(t, c.value)
		s.settles(t)
		s.expectThere(t, "with "+c.value, c.validating, c.mutating)
		kept, warning := s.kept(t)
		expect.Same(t, "a machine may come with "+c.value, true, kept)
		expect.Same(t, "the warning begins", c.warns, warning[:min(len(warning), len(c.warns))])
	}
}

// TestPoliciesBreakOff: a look that does not come to its end answers nothing, whether the cluster is away or the time is over.
func TestPoliciesBreakOff(t *testing.T) {
	for name, away := range map[string]error{"away": &workload.UnreachableError{Why: "is away"}, "late": nil} {
		s := newPolicyStage(t, windowsMachine())
		ctx, end := context.WithCancel(t.Context())
		s.fail = func(call string) error {
			if call != "create MutatingAdmissionPolicyBinding" {
				return nil
			}
			end()
			return away
		}
		s.kept(t)
		result, err := s.Reconcile(ctx, ctrl.Request{NamespacedName: prod})
		expect.OK(t, err)
		expect.Same(t, name+": the next look", retryDelay, result.RequeueAfter)
		kept, _ := s.kept(t)
		expect.Same(t, name+": a machine may come", false, kept)
		s.fail = nil
		s.settles(t)
		kept, _ = s.kept(t)
		expect.Same(t, name+": later", true, kept)
	}
}

// TestPoliciesOfOthers: a policy of our name that somebody else made is left alone, and a machine gets a warning and does not
// wait.
func TestPoliciesOfOthers(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	theirs := objects.Mutating()[0]
	theirs.SetLabels(nil)
	_ = setFailurePolicy(theirs.Object, "Fail")
	expect.OK(t, s.workload.Create(t.Context(), theirs, client.FieldOwner("platform-team")))
	s.settles(t)
	kept, warning := s.kept(t)
	expect.Same(t, "kept", true, kept)
	expect.Same(t, "the warning", "Cluster prod: MutatingAdmissionPolicy capwin-linux-first was not made by capwin, so it is "+
		"left alone; "+
		"rename or remove it, so workloads for Linux are not all kept off its Windows Nodes", warning)
	there := objects.Mutating()[0]
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(there), there))
	expect.Same(t, "theirs", "", there.GetLabels()[objects.Label])
}

func setFailurePolicy(object map[string]any, value string) error {
	spec, is := object["spec"].(map[string]any)
	if !is {
		return errors.New("no spec")
	}
	spec["failurePolicy"] = value
	return nil
}

// TestPlan: before the policy that changes workloads is there for the first time, people learn once what it will change.
func TestPlan(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	agent := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "agent"}}
	agent.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	s.lists.objects["/apis/apps/v1/daemonsets"] = []client.Object{agent}
	s.settles(t)
	s.tellsOnce(t, "the plan", "Normal PlacementFinding workloads that select nothing: 1 (DaemonSet team/agent); the policy adds")
	s.after(t, time.Hour)
	s.begin()
	s.settles(t)
	expect.Same(t, "another process", nothing, s.tells())
}

// TestLeftover: what earlier versions wrote beside the policies goes.
func TestLeftover(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	for _, leftover := range objects.Leftovers() {
		leftover.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "capwin"})
		expect.OK(t, s.workload.Create(t.Context(), leftover))
	}
	s.settles(t)
	for _, leftover := range objects.Leftovers() {
		err := s.workload.Get(t.Context(), client.ObjectKeyFromObject(leftover), leftover)
		expect.Same(t, leftover.GetKind()+" is gone", true, apierrors.IsNotFound(err))
	}
	s.calls = nil
	s.after(t, time.Minute)
	expect.Same(t, "they are not looked for again", false, slices.Contains(s.calls, "get ConfigMap"))
}
