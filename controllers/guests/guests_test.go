package guests

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestClosed: what a person must know is a sentence, and the machine goes on; what time mends is tried again.
func TestClosed(t *testing.T) {
	policies := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}
	for why, err := range map[string]error{
		"from 1.30 on": apierrors.NewNotFound(policies, ""), "may not read and write": apierrors.NewForbidden(policies, "", nil),
	} {
		state := expect.Got(closed(err))(t)
		if state.Open || state.Again != keep || !strings.Contains(state.Why, why) ||
			!strings.HasSuffix(state.Why, "progress comes from the Node alone") {
			t.Errorf("%v: %+v", err, state)
		}
	}
	away := errors.New("no answer")
	if state, err := closed(away); !errors.Is(err, away) || state != (State{}) {
		t.Errorf("an error that passes: %+v, %v", state, err)
	}
}

// TestOrder: the policy comes before the RoleBinding, which is the last.
func TestOrder(t *testing.T) {
	var kinds []string
	for _, object := range expect.Got(wanted())(t) {
		kinds = append(kinds, object.GetKind())
	}
	expect.Same(t, "kinds", "Namespace Role ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding RoleBinding",
		strings.Join(kinds, " "))
}

// TestPatience: machines wait a minute for a policy that is not enforced, or for an API server that refuses, and not longer. What
// cannot be reached is no answer.
func TestPatience(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		err error
		why string
	}{
		"not enforced": {nil, "does not enforce the ValidatingAdmissionPolicy"},
		"refused":      {errors.New("write Role report for guests: the webhook says no"), "the webhook says no"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &rights{}
			for _, after := range []time.Duration{0, patience - time.Second} {
				state := k.bound(State{Again: settle}, test.err, start.Add(after))
				expect.Same(t, "state while it may come", State{Again: settle}, state)
			}
			state := k.bound(State{Again: settle}, test.err, start.Add(patience))
			if !strings.Contains(state.Why, test.why) || !strings.HasSuffix(state.Why, alone) || state.Again != keep {
				t.Errorf("after a minute: %+v", state)
			}
			again := k.bound(State{Again: settle}, test.err, start.Add(patience+keep))
			expect.Same(t, "state of the next try", State{Again: settle}, again)
			k.bound(State{Open: true}, nil, start)
			later := k.bound(State{Again: settle}, test.err, start.Add(patience))
			expect.Same(t, "state when it is lost after it was there", State{Again: settle}, later)
		})
	}
}

// TestGoneClustersAreLookedForSeldom: not at each call, of which there are many.
func TestGoneClustersAreLookedForSeldom(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := &Rights{Now: func() time.Time { return now }}
	r.of(client.ObjectKey{Name: "gone"})
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{unasked, 2}, {keep, 2}, {1, 1}} {
		now = now.Add(c.after)
		r.of(client.ObjectKey{Name: "stays"})
		expect.Same(t, "clusters", c.want, len(r.clusters))
	}
}

// TestLongCause: people see the first words of an API server, however many it has.
func TestLongCause(t *testing.T) {
	says := Mute(errors.New(strings.Repeat("x", maxCause+1)))
	expect.Same(t, "letters", 256-3, strings.Count(says, "x")-strings.Count(Mute(errors.New("")), "x"))
}

// TestUnreadable: rights that cannot be read give no guest a place.
func TestUnreadable(t *testing.T) {
	good := manifest
	defer func() { manifest = good }()
	manifest += "\n---\n{"
	state, err := (&rights{}).look(t.Context(), nil, time.Unix(1_800_000_000, 0))
	expect.Says(t, "look", err, "read guests.yaml")
	expect.Same(t, "state", State{}, state)
}

// TestRightsOfGoneClusters are forgotten a day after the last machine asked; those that are asked for stay.
func TestRightsOfGoneClusters(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := &Rights{Now: func() time.Time { return now }}
	stays := r.of(client.ObjectKey{Name: "stays"})
	for i := range 100 {
		r.of(client.ObjectKey{Name: fmt.Sprint("gone-", i)})
	}
	for range 30 {
		now = now.Add(time.Hour)
		if r.of(client.ObjectKey{Name: "stays"}) != stays {
			t.Fatal("one that is asked for was forgotten")
		}
	}
	expect.Same(t, "clusters", 1, len(r.clusters))
}
