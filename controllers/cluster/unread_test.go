package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestDeafServer: an API server that takes the policies and obeys none of them is known after a minute.
func TestDeafServer(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	s.deaf = true
	s.settles(t)
	for range 40 {
		s.after(t, 2*time.Second)
	}
	kept, warning := s.kept(t)
	expect.Same(t, "kept", true, kept)
	for _, says := range []string{"ValidatingAdmissionPolicies of capwin but does not", "MutatingAdmissionPolicy of capwin but " +
		"does not"} {
		if !strings.Contains(warning, says) {
			t.Errorf("no %q in %q", says, warning)
		}
	}
}

// TestRightsOutOfReach: whoever asked for what a cluster out of reach has gets that error.
func TestRightsOutOfReach(t *testing.T) {
	away := &workload.UnreachableError{Why: "is away"}
	s := newStage(t)
	s.unreachable = away
	known, _ := s.Ask(prod, asker, kubeProxy)
	expect.Same(t, "the answer is known", false, known)
	expect.Same(t, "the next look", retryDelay, s.look(t))
	_, answer := s.Ask(prod, asker, kubeProxy)
	expect.Same(t, "rights of nodes", true, errors.Is(answer, away))
	p := newPolicyStage(t, windowsMachine())
	p.unreachable = away
	p.kept(t)
	expect.Same(t, "the next look", retryDelay, p.look(t))
	_, answer = p.Ask(prod, asker, "policies")
	expect.Same(t, "policies", true, errors.Is(answer, away))
}

// TestUnreadableCluster: without the Cluster itself nothing is done, and it is looked at again.
func TestUnreadableCluster(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.Client = unreadable{s.management}
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: prod})
	expect.Says(t, "look", err, "get cluster: ")
	expect.Same(t, "calls", 0, len(s.calls))
}

// unreadable gets nothing.
type unreadable struct{ client.Client }

// Get implements client.Reader.
func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewServiceUnavailable("x")
}

// TestOfNoCluster: an object without the label of a Cluster has none looked at.
func TestOfNoCluster(t *testing.T) {
	o := config("c", azureCNI)
	expect.Same(t, "with the label", []ctrl.Request{{NamespacedName: prod}}, ofObject(t.Context(), o))
	o.Labels = nil
	expect.Same(t, "without", 0, len(ofObject(t.Context(), o)))
}

// TestOffOnOldServer: where the kinds are not known, nothing is there that could be removed. Any other failure is tried again.
func TestOffOnOldServer(t *testing.T) {
	kind := schema.GroupResource{Resource: "mutatingadmissionpolicies"}
	for name, c := range map[string]struct {
		fails error
		again time.Duration
	}{
		"unknown kinds": {apierrors.NewNotFound(kind, "x"), 10 * time.Minute},
		"away":          {errors.New("not now"), 15 * time.Second},
	} {
		s := newPolicyStage(t)
		s.annotate(t, "off")
		s.fail = func(string) error { return c.fails }
		expect.Same(t, name, c.again, s.look(t))
	}
}

// TestPoliciesUnsure: a machine waits a minute where a cluster that is reached lets nobody find out about the policies, and not
// longer. One that is not reached has no machine pass anyway.
func TestPoliciesUnsure(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	s.unreachable = &workload.UnreachableError{Why: "cannot be reached"}
	s.kept(t)
	for range 10 {
		s.after(t, time.Minute)
	}
	s.unreachable = nil
	for name, c := range map[string]struct{ call, fails string }{
		"a call that hangs": {"list MutatingAdmissionPolicyList", "hangs"},
		"a call that fails": {"create MutatingAdmissionPolicy", "not now"},
	} {
		s := newPolicyStage(t, windowsMachine())
		s.fail = func(call string) error {
			switch {
			case call != c.call && !strings.HasPrefix(call, "get Mutating"):
				return nil
			case c.fails == "hangs":
				return &workload.UnreachableError{Why: c.fails}
			}
			return errors.New(c.fails)
		}
		for range 4 {
			kept, _ := s.kept(t)
			expect.Same(t, name+": a machine waits", false, kept)
			s.after(t, 20*time.Second)
		}
		s.after(t, time.Minute)
		kept, warning := s.kept(t)
		expect.Same(t, name+": after a minute", true, kept)
		expect.Same(t, name+": the warning", "Cluster prod: the manager could not verify within a minute that the policies act that "+
			"keep workloads for Linux off Windows Nodes", warning)
		s.fail = nil
		s.after(t, time.Minute)
		s.settles(t)
		_, warning = s.kept(t)
		expect.Same(t, name+": once it answers", "", warning)
	}
}

// TestPlanOfWhatCannotBeRead: a list that breaks off does not keep the policy away, and people learn that it broke off. One of a
// cluster that is away does.
func TestPlanOfWhatCannotBeRead(t *testing.T) {
	odd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": "none"}}}
	odd.SetName("odd")
	s := newPolicyStage(t, windowsMachine())
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.lists.objects["/apis/apps/v1/deployments"] = []client.Object{odd}
	s.settles(t)
	s.expectThere(t, "policies", allValidating, allMutating)
	const plan = "Normal PlacementFinding workloads that select nothing: 1 (DaemonSet team/a); the policy adds the nodeSelector " +
		"kubernetes.io/os: linux to each when its pod template changes next, and restarts no pod before that; to leave a workload as " +
		"it is, set its annotation capwin.io/runs-on: both; to have none changed, set the annotation capwin.io/linux-policy: warn on " +
		"the Cluster"
	const more = "; not all workloads were read, so there may be more of them"
	expect.Same(t, "the plan of a part", []string{plan + more}, s.tells())
	s = newPolicyStage(t, windowsMachine())
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a"), proxySet()}
	s.lists.refused["/apis/apps/v1/statefulsets"] = true
	s.settles(t)
	expect.Same(t, "the plan of what is shown", []string{plan + more}, s.tells())
	s.lists.refused = nil
	s.begin()
	s.after(t, 0)
	expect.Same(t, "of a policy that is there", nothing, s.tells())
	s = newPolicyStage(t, windowsMachine())
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a"), proxySet()}
	s.settles(t)
	expect.Same(t, "the whole plan", []string{plan}, s.tells())
	s = newPolicyStage(t, windowsMachine())
	s.lists.objects[daemonSetsPath] = []client.Object{proxySet()}
	s.settles(t)
	expect.Same(t, "a plan of nothing", nothing, s.tells())
	s = newPolicyStage(t, windowsMachine())
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.fail = func(call string) error {
		if strings.HasSuffix(call, " MutatingAdmissionPolicy") {
			return errors.New("not now")
		}
		return nil
	}
	s.settles(t)
	expect.Same(t, "while it is not known whether the policy is there", nothing, s.tells())
	for _, path := range []string{"/api/v1/namespaces", daemonSetsPath} {
		s = newPolicyStage(t, windowsMachine())
		s.lists.breaks = func(asked string) error {
			if asked == path {
				return &workload.UnreachableError{Why: "is away"}
			}
			return nil
		}
		s.settles(t)
		s.expectThere(t, path+" is away", allValidating, 0)
	}
}

// TestConfigThatMakesNoNode: a config that no Node will come of brings no finding about one.
func TestConfigThatMakesNoNode(t *testing.T) {
	s := newFindingStage(t)
	broken := config("c", bootstrapv1.Network{})
	expect.OK(t, s.management.Get(t.Context(), client.ObjectKeyFromObject(broken), broken))
	broken.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{corev1.LabelOSStable: "linux"}
	expect.OK(t, s.management.Update(t.Context(), broken))
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.after(t, 0)
	expect.Same(t, "events", nothing, s.tells())
}

// TestWaitAnew: a machine that has had its answer waits for the next one as long as any other.
func TestWaitAnew(t *testing.T) {
	s := newPolicyStage(t, windowsMachine())
	kept, _ := s.kept(t)
	expect.Same(t, "at first", false, kept)
	s.settles(t)
	kept, _ = s.kept(t)
	expect.Same(t, "with an answer", true, kept)
	s.clock = s.clock.Add(time.Hour)
	kept, _ = s.kept(t)
	expect.Same(t, "once the answer is old", false, kept)
}

// TestLookLogs: a cluster that is away is no news, and any other failure is.
func TestLookLogs(t *testing.T) {
	for want, fails := range []error{&workload.UnreachableError{Why: "is away"}, errors.New("boom")} {
		s, lines := newStage(t, config("c", azureCNI)), 0
		s.unreachable = fails
		log := funcr.New(func(string, string) { lines++ }, funcr.Options{})
		_, err := s.Reconcile(ctrl.LoggerInto(t.Context(), log), ctrl.Request{NamespacedName: prod})
		expect.OK(t, err)
		expect.Same(t, fails.Error(), want, lines)
	}
}
