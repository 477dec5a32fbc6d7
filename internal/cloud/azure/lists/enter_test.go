package lists

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

func groupOf(name string) arm.ID { return arm.GroupID(armsim.Subscription, name) }

// TestEnter: a namespace adds as many groups as it may have, and as many again for machines that may have VMs. Groups that no
// machine uses make room.
func TestEnter(t *testing.T) {
	var l Lists
	busy := []string{}
	enter := func(group, namespace string, holds bool, passed time.Duration) bool {
		s, ok := l.Enter(groupOf(group), User{
			Namespace: namespace, Holds: holds, Instant: blue.Noon.Add(passed),
			Limits: tenants.Limits{"a": {tenants.Groups: 2}}, Busy: func(scope string) bool { return slices.Contains(busy, scope) },
		})
		return ok && s != nil
	}
	for _, step := range []struct {
		group, namespace string
		holds            bool
		passed           time.Duration
		busy             string // groups with machines
		want             bool
	}{
		{"1", "a", false, 0, "", true},
		{"2", "a", false, 0, "", true},
		{"3", "a", false, 0, "", false},
		{"3", "a", true, 0, "", true},
		{"4", "a", true, 0, "", true},
		{"5", "a", true, 0, "", false},
		{"3", "a", false, 0, "", true}, // it is there
		{"5", "b", false, 0, "", true},
		{"6", "a", false, PassedFor - 1, "", false},
		{"6", "a", false, PassedFor, "1 2 3", false}, // 4 is forgotten
		{"4", "a", true, PassedFor, "1 2 3", true},
		{"6", "a", false, PassedFor, "1 2", false}, // 3 is forgotten
		{"7", "a", false, PassedFor, "1 4", false}, // 2 is forgotten
		{"7", "a", false, UsedFor, "1 4", true},    // 1 is forgotten, although it has machines
	} {
		busy = nil
		for group := range strings.FieldsSeq(step.busy) {
			busy = append(busy, groupOf(group).Key())
		}
		expect.Same(t, fmt.Sprintf("%+v", step), step.want, enter(step.group, step.namespace, step.holds, step.passed))
	}
	var left []string
	for _, s := range l.AllScopes() {
		left = append(left, s.Group.Name())
	}
	expect.Same(t, "groups", []string{"4", "5", "7"}, left)
}

// TestForgottenScope gives back what it kept, and keeps nothing of a list that comes later.
func TestForgottenScope(t *testing.T) {
	kept := &tenants.Bytes{}
	l := Lists{Kept: kept}
	limits := tenants.Limits{"a": {tenants.Groups: 1}}
	user := User{Namespace: "a", Limits: limits, Instant: blue.Noon, Busy: func(string) bool { return false }}
	s, _ := l.Enter(blue.Group, user)
	hold := func() {
		expect.Same(t, "room", true, kept.Take("a", 700, 0))
		_, err := s.End(nil, calls.Answer{Kept: 100}, blue.Noon, ofMarks)
		expect.OK(t, err)
		s.Held[Addresses].Hold(100)
		s.TakeRemnants(Sweeping{Kept: 200}, false, blue.Noon)
		s.KeepSweep(Sweeping{Kept: 300})
	}
	hold()
	expect.Same(t, "room for power states", true, kept.Take("a", 50, 0))
	s.Power.Held.Hold(50)
	expect.Same(t, "bytes", 750, kept.Kept("a"))
	user.Instant = user.Instant.Add(UsedFor)
	_, ok := l.Enter(arm.GroupID("22222222-2222-3333-4444-555555555555", "other"), user)
	expect.Same(t, "another one enters", true, ok)
	expect.Same(t, "bytes once it is forgotten", 0, kept.Kept("a"))
	expect.Same(t, "subscriptions", 1, len(l.AllPowers()))
	hold()
	expect.Same(t, "bytes of what comes later", 0, kept.Kept("a"))
}

// TestSightingsAreCounted: what was seen with VMs counts once, and what finds no room is not remembered.
func TestSightingsAreCounted(t *testing.T) {
	kept := &tenants.Bytes{}
	l := Lists{Kept: kept}
	s, _ := l.Enter(blue.Group, User{Namespace: "a", Instant: blue.Noon})
	r := Record{Key: "vm", Adapters: []string{"nic"}}
	for range 3 {
		s.Do(func(state *State) { state.Remember(r, blue.Machine()) })
	}
	expect.Same(t, "bytes", perSighting+len("nicvm"), kept.Kept("a"))
	expect.Same(t, "room for others", true, kept.Take("a", kept.Bound("a")-kept.Kept("a"), 0))
	r.Adapters = []string{"another"}
	s.Do(func(state *State) { state.Remember(r, blue.Machine()) })
	expect.Same(t, "seen", 1, len(stateIn(s).seenWith))
	l.Close()
	kept.Give("a", kept.Bound("a")-perSighting-len("nicvm"))
	expect.Same(t, "bytes once it is closed", 0, kept.Kept("a"))
}
