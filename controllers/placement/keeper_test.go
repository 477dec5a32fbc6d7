package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestKept: a machine waits until all objects are there and act. Each is written once. Then there is a probe each ten minutes,
// and nothing else, also in a new process and at zero machines.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		end := w.start()
		kept, _ := w.keeper.Kept(aCluster())
		expect.Same(t, "kept at first", false, kept)
		w.passes(5 * time.Second)
		kept, warning := w.keeper.Kept(aCluster())
		expect.Same(t, "kept", true, kept)
		expect.Same(t, "warning", "", warning)
		expect.Same(t, "calls", map[string]int{"get": 11, "apply": 10, "dry": 2}, w.since())
		expect.Same(t, "missing", 0, len(w.missing()))
		w.passes(31 * time.Minute)
		expect.Same(t, "calls in half an hour", map[string]int{"dry": 6}, w.since())
		end()

		expect.OK(t, w.management.Delete(t.Context(), aMachine()))
		end = w.start()
		w.passes(10 * time.Second)
		expect.Same(t, "calls of a new process", map[string]int{"list": 1, "get": 1, "dry": 2}, w.since())
		w.passes(31 * time.Minute)
		expect.Same(t, "calls at zero machines", map[string]int{"dry": 6}, w.since())
		expect.Same(t, "missing at zero machines", 0, len(w.missing()))
		end()
	})
}

// TestWithoutWindows: a Cluster that never had a WindowsMachine is asked once, and gets nothing. Once it has one, it is looked
// after within a minute, whether a machine asks or not.
func TestWithoutWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		expect.OK(t, w.management.Delete(t.Context(), aMachine()))
		defer w.start()()
		w.passes(time.Hour)
		expect.Same(t, "calls", map[string]int{"list": 2}, w.since())
		expect.Same(t, "connections", 0, w.follows)
		expect.OK(t, w.management.Create(t.Context(), aMachine()))
		w.passes(every + 5*time.Second)
		expect.Same(t, "missing", 0, len(w.missing()))
	})
}

// TestWhoseCluster: what is paused, being deleted, not up yet or another manager's is left alone, and forgotten.
func TestWhoseCluster(t *testing.T) {
	for name, change := range map[string]func(*clusterv1.Cluster){
		"paused":         func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) },
		"not up":         func(c *clusterv1.Cluster) { c.Status.Initialization.ControlPlaneInitialized = nil },
		"being deleted":  func(c *clusterv1.Cluster) { c.Finalizers = []string{"a/b"} },
		"of another one": func(c *clusterv1.Cluster) { c.Labels = map[string]string{clusterv1.WatchLabel: "other"} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.start()()
			w.keeper.WatchFilter = ""
			w.passes(5 * time.Second)
			expect.Same(t, name+": connections", 1, w.follows)
			c := aCluster()
			expect.OK(t, w.management.Get(t.Context(), client.ObjectKeyFromObject(c), c))
			change(c)
			if name == "of another one" {
				w.keeper.WatchFilter = "mine"
			}
			expect.OK(t, w.management.Update(t.Context(), c))
			if name == "being deleted" {
				expect.OK(t, w.management.Delete(t.Context(), c))
			}
			if name != "of another one" { // nothing is written until the next look, either
				expect.OK(t, w.api.Delete(t.Context(), policies.Mutating()[1]))
				w.passes(20 * time.Second)
				expect.Same(t, name+": written", 1, len(w.missing()))
			}
			w.passes(every)
			expect.Same(t, name+": forgotten", "prod", strings.Join(w.forgotten, " "))
			w.since()
			w.passes(time.Hour)
			expect.Same(t, name+": calls", 0, len(w.since()))
		})
	}
}

// TestUnreachable: a machine waits a minute for a cluster that does not answer, which is tried with pauses.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.away = true
		defer w.start()()
		kept, _ := w.keeper.Kept(aCluster())
		expect.Same(t, "kept at first", false, kept)
		w.passes(patience - time.Second)
		kept, _ = w.keeper.Kept(aCluster())
		expect.Same(t, "kept after 59 s", false, kept)
		w.passes(time.Second)
		kept, warning := w.keeper.Kept(aCluster())
		expect.Same(t, "kept after a minute", true, kept)
		expect.Says(t, "warning", errors.New(warning), "Cluster prod: it is not known after a minute whether the policies act")
		w.passes(time.Hour)
		if w.follows < 60 || w.follows > 70 {
			t.Errorf("%d connections in an hour", w.follows)
		}
		w.mu.Lock()
		w.away = false
		w.mu.Unlock()
		w.passes(longestPause + 5*time.Second)
		kept, warning = w.keeper.Kept(aCluster())
		expect.Same(t, "kept when it answers", true, kept)
		expect.Same(t, "warning then", "", warning)
	})
}

// TestDeaf: an API server that has the policies and does not obey them is told of after a minute.
func TestDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.deaf = true
		defer w.start()()
		w.passes(patience)
		kept, _ := w.keeper.Kept(aCluster())
		expect.Same(t, "kept", false, kept)
		w.passes(10 * time.Second)
		kept, warning := w.keeper.Kept(aCluster())
		expect.Same(t, "kept after a minute", true, kept)
		expect.Says(t, "warning", errors.New(warning), "Cluster prod has the MutatingAdmissionPolicy of capwin and does not obey it")
		expect.Says(t, "warning", errors.New(warning), "has the ValidatingAdmissionPolicies of capwin and does not obey them")
		w.since()
		w.passes(recheck)
		expect.Same(t, "probes later", map[string]int{"dry": 2}, w.since())
	})
}

// TestDeafWhileUpgraded: an API server of a control plane that is being upgraded does not obey for a while, and nobody is told
// that a gate or a plug-in is switched off: neither after one probe, nor of one that is too old to have the kind.
func TestDeafWhileUpgraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start()()
		w.passes(time.Minute)
		set := func(deaf, away bool, version string) {
			w.mu.Lock()
			w.deaf, w.away, w.version = deaf, away, version
			w.mu.Unlock()
		}
		notTold := func(when string) {
			t.Helper()
			w.keeper.mu.Lock()
			told := w.keeper.clusters[client.ObjectKeyFromObject(aCluster())].view.state().notKept
			w.keeper.mu.Unlock()
			expect.Same(t, "told "+when, "", strings.Join(told, "; "))
		}
		set(false, false, "v1.35.2")
		w.passes(2 * recheck)
		notTold("of an old one")
		set(false, false, "v1.36.3")
		w.passes(2 * recheck)
		set(true, false, "v1.36.3")
		for w.since()["dry"] == 0 {
			w.passes(time.Second)
		}
		set(true, true, "v1.36.3")
		w.passes(2 * patience)
		notTold("after one probe")
		set(false, false, "v1.36.3")
		w.passes(recheck)
		kept, warning := w.keeper.Kept(aCluster())
		expect.Same(t, "kept", true, kept)
		expect.Same(t, "warning", "", warning)
	})
}

// TestRefusedByOthers: what other people's admission refuses, by whatever code, is told in its words, holds no machine, and is
// tried again each ten minutes. An outage is not.
func TestRefusedByOthers(t *testing.T) {
	answer := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: "Gatekeeper says no"}}
	}
	for code, refused := range map[int32]bool{
		400: true, 403: true, 422: true, 413: true, 401: false, 408: false, 409: false, 429: false, 500: false, 503: false,
	} {
		for _, late := range []bool{false, true} { // the probe alone is refused then
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if !late {
					w.refuses = answer(code)
				}
				defer w.start()()
				w.passes(100 * time.Millisecond)
				w.mu.Lock()
				w.refuses = answer(code)
				w.mu.Unlock()
				w.passes(20 * time.Second)
				kept, warning := w.keeper.Kept(aCluster())
				name := fmt.Sprint(code, " late: ", late)
				if refused {
					expect.Same(t, name+": kept", true, kept)
					expect.Says(t, name, errors.New(warning), `its API server says "Gatekeeper says no"`)
				}
				w.since()
				w.passes(recheck)
				calls := w.since()
				expect.Same(t, name+": is tried now and then", refused, calls["dry"]+calls["apply"] <= 15)
			})
		}
	}
}

// TestFight: whoever removes an object each second makes us write it each ten seconds, and nothing else.
func TestFight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start()()
		w.passes(30 * time.Second)
		w.since()
		binding := policies.Mutating()[1]
		for range 100 {
			if w.api.Get(t.Context(), client.ObjectKeyFromObject(binding), binding) == nil {
				expect.OK(t, w.api.Delete(t.Context(), binding))
			}
			w.passes(time.Second)
		}
		applies := w.since()["apply"]
		if applies < 8 || applies > 10 {
			t.Errorf("%d writes in 100 s", applies)
		}
	})
}

// TestOff: with the annotation, our objects go at once, and come back without it.
func TestOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start()()
		w.passes(10 * time.Second)
		c := aCluster()
		expect.OK(t, w.management.Get(t.Context(), client.ObjectKeyFromObject(c), c))
		c.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: infrav1.LinuxPolicyOff}
		expect.OK(t, w.management.Update(context.Background(), c))
		w.passes(every)
		expect.Same(t, "missing", 10, len(w.missing()))
		kept, warning := w.keeper.Kept(c)
		expect.Same(t, "kept", true, kept)
		expect.Same(t, "warning", "", warning)
		w.passes(time.Hour)
		expect.Same(t, "calls in an hour", 0, len(w.since()))
		c.Annotations = nil
		expect.OK(t, w.management.Update(context.Background(), c))
		w.passes(every + 10*time.Second)
		expect.Same(t, "missing without it", 0, len(w.missing()))
	})
}
