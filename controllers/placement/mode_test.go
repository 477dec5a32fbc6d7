package placement

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// annotate gives the Cluster the annotation, or takes it away, and waits until that is noticed.
func (w *world) annotate(value string) {
	w.Helper()
	c := aCluster()
	expect.OK(w, w.management.Get(w.Context(), client.ObjectKeyFromObject(c), c))
	c.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: value}
	if value == "" {
		c.Annotations = nil
	}
	expect.OK(w, w.management.Update(w.Context(), c))
	w.passes(every + 10*time.Second)
}

// TestModes: with the annotation warn the policy that changes workloads goes, and the others stay; a value that means nothing
// changes nothing, and people read which values there are.
func TestModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start()()
		w.passes(10 * time.Second)
		for _, c := range []struct {
			value, missing, warning string
		}{
			{"warn", "MutatingAdmissionPolicy capwin-linux-first MutatingAdmissionPolicyBinding capwin-linux-first", ""},
			{
				"Off", "", "Cluster prod has the annotation capwin.io/linux-policy with a value that means nothing, so the policies are as " +
					"if it had none; set it to warn or off, or remove it",
			},
			{"", "", ""},
		} {
			w.annotate(c.value)
			c.missing, c.value = strings.TrimSpace(c.missing), "with the annotation "+c.value
			expect.Same(t, "missing "+c.value, c.missing, strings.Join(w.missing(), " "))
			about := aCluster()
			expect.OK(t, w.management.Get(t.Context(), client.ObjectKeyFromObject(about), about))
			kept, warning := w.keeper.Kept(about)
			expect.Same(t, "kept "+c.value, true, kept)
			expect.Same(t, "warning "+c.value, c.warning, warning)
			w.since()
			w.passes(time.Hour)
			if calls := w.since(); calls["dry"] != 2*6 && calls["dry"] != 6 || len(calls) != 1 {
				t.Errorf("calls in an hour %s: %v", c.value, calls)
			}
		}
	})
}

// TestPlan: before the policy that changes workloads is there for the first time, people read once what it will change.
func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		set := agent("agent")
		set.Annotations = nil
		set.Spec.Template.Spec.Containers = nil
		expect.OK(t, w.api.Create(t.Context(), set))
		end := w.start()
		w.passes(time.Minute)
		expect.Same(t, "plans", 1, len(w.plans))
		expect.Says(t, "the plan", errors.New(w.plans[0]), "workloads that select nothing: 1 (DaemonSet team/agent); ")
		if strings.HasPrefix(w.plans[0], "too late") {
			t.Error(w.plans[0])
		}
		expect.OK(t, w.api.Delete(t.Context(), policies.Mutating()[0]))
		w.passes(time.Minute)
		expect.Same(t, "plans when somebody has deleted the policy", 1, len(w.plans))
		end()
		end = w.start()
		w.passes(time.Hour)
		expect.Same(t, "plans of a new process", 1, len(w.plans))
		w.annotate("warn")
		expect.Same(t, "plans with the annotation warn", 1, len(w.plans))
		w.annotate("")
		expect.Same(t, "plans when the policy comes back", 2, len(w.plans))
		end()
	})
}

// TestPlanOfNothingShown: an API server that does not show its workloads has the policy all the same.
func TestPlanOfNothingShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mute = daemonSets
		defer w.start()()
		w.passes(planTime - time.Second)
		expect.Same(t, "missing while the workloads are not known", 2, len(w.missing()))
		w.passes(10 * time.Second)
		expect.Same(t, "missing later", 0, len(w.missing()))
		expect.Same(t, "plans", 0, len(w.plans))
	})
}

// TestLeftover: what earlier versions wrote beside the policies goes once, if it is ours by its label and by its writer.
func TestLeftover(t *testing.T) {
	ours := map[string]string{policies.Label: policies.LabelValue}
	for name, c := range map[string]struct {
		writer string
		labels map[string]string
		gone   bool
	}{
		"ours":             {fieldOwner, ours, true},
		"somebody's":       {"somebody", ours, false},
		"without its name": {fieldOwner, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			object := policies.Leftover()
			object.SetLabels(c.labels)
			expect.OK(t, w.api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(c.writer)))
			w.since()
			defer w.start()()
			w.passes(time.Minute)
			deletes := w.since()["delete"]
			expect.Same(t, name+" is deleted", c.gone, deletes == 1)
			err := w.api.Get(t.Context(), client.ObjectKeyFromObject(object), policies.Leftover())
			expect.Same(t, name+" is gone", c.gone, err != nil)
		})
	}
}
