package vsphere

import (
	"fmt"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestGoneLately: a machine whose VM is gone is remembered for a while, also when another one goes, and forgotten after that.
func TestGoneLately(t *testing.T) {
	var g goneLately
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	note := func(id string, at time.Time, want int) {
		t.Helper()
		g.note(cloud.Machine{Identity: cloud.Identity{ProviderID: id}}, at)
		expect.Same(t, "machines", want, len(g))
	}
	note("a", noon, 1)
	note("b", noon.Add(keepGone-1), 2)
	note("c", noon.Add(keepGone), 2) // a is forgotten
	if _, known := g["a"]; known {
		t.Error("a is known for longer than " + keepGone.String())
	}
}

// TestGroundsAreBounded: what tenants write without end does not fill what is remembered of places.
func TestGroundsAreBounded(t *testing.T) {
	var g grounds
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	where := func(n int) [2]string { return [2]string{"dc", fmt.Sprint(n)} }
	for n := range maxGrounds + 1 {
		g.note(where(n), noon)
	}
	expect.Same(t, "places", maxGrounds+1, len(g.until))
	expect.Same(t, "the first", true, g.sure(where(0), noon.Add(keepGrounds-1)))
	expect.Same(t, "the first after its time", false, g.sure(where(0), noon.Add(keepGrounds)))
	g.note(where(-1), noon)
	expect.Same(t, "places after one too many", 1, len(g.until))
}

// TestNowhereIsAskedOnce: the machines of a pool that go ask once whether the account sees where they were.
func TestNowhereIsAskedOnce(t *testing.T) {
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	for _, folder := range []string{m.Spec.VSphere.Folder, "no-such-folder"} {
		m.Spec.VSphere.Folder = folder
		expect.OK(t, a.nowhere(t.Context(), m))
		v.Count()
		expect.OK(t, a.nowhere(t.Context(), m))
		compare(t, "of the second machine of "+folder, v, map[string]int{})
	}
}

// TestNowhereToBeSeen: where not even the datacenter is found, the root must be seen.
func TestNowhereToBeSeen(t *testing.T) {
	v := newStage(t)
	m := v.machine("m")
	m.Spec.VSphere.Datacenter = "no-such-datacenter"
	expect.OK(t, v.account().nowhere(t.Context(), m))
	v.Deny("RetrievePropertiesEx", "System.View")
	wantRefused(t, v.account().nowhere(t.Context(), m))
	a := v.account()
	watched(t, a)
	m.Existed = true
	_, err := a.byName(t.Context(), m)
	wantRefused(t, err)
}

// TestGoneIsForgotten: what was found out about the clones of a machine is kept no longer than the machine.
func TestGoneIsForgotten(t *testing.T) {
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	expect.Same(t, "gone", true, v.isGone(a)(m))
	v.Count()
	expect.Got(a.clones.Rivals(t.Context(), m, time.Time{}))(t)
	expect.Same(t, "the vCenter is asked anew", true, sum(v.Count()) > 0)
}

// TestBackAfterItWasGone: a VM that shows up soon after its machine was let go is removed all the same.
func TestBackAfterItWasGone(t *testing.T) {
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	watched(t, a)
	a.ledger.strike(m, a.now())
	expect.Got(a.Delete(t.Context(), m))(t)
	expect.Same(t, "what is done", switchingOff, a.ledger.recall(m).job.act)
}
