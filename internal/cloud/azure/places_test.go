package azure

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// reasonOf is the reason of an error of a cloud, "later" if it is none of the machine's, and empty without an error.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil || errors.Is(err, cloud.ErrNotFound) {
		return ""
	}
	e, ok := errors.AsType[*cloud.Error](err)
	expect.Same(t, "the error is a cloud's: "+err.Error(), true, ok)
	if e.Kind == cloud.Later {
		return "later"
	}
	return e.Reason
}

// team is a machine of a namespace that may have one location.
func team(instant time.Time) lists.User {
	return lists.User{Namespace: "team", Limits: tenants.Limits{"team": {tenants.Locations: 1}}, Instant: instant}
}

// TestGroupsOfANamespace has a tenant put each machine into a group of its own: new ones are refused beyond 64 groups, and those
// with a VM, or that are deleted, have to wait beyond twice as many. Another namespace has its own, and once groups are left,
// there is room again.
func TestGroupsOfANamespace(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	published := map[int]bool{}
	a.notices = &tenants.Notices{Publish: func(n tenants.Notice) {
		if n.Namespace == "a" && n.Kind == tenants.Groups {
			published[n.Count] = n.Full
		}
	}}
	machine := func(namespace string, group int) cloud.Machine {
		m := s.machineIn(fmt.Sprint("group-", group), "m")
		m.Key.Namespace = namespace
		return m
	}
	begin := func(m cloud.Machine, want next.Goal) string {
		_, err := a.begin(m, homeOf(m), want)
		return reasonOf(t, err)
	}
	for group := range 64 {
		expect.Same(t, "a new machine", "", begin(machine("a", group), next.Running))
	}
	expect.Same(t, "notices", map[int]bool{48: false, 64: true}, published)
	expect.Same(t, "one more", infrav1.TooManyPlacesReason, begin(machine("a", 64), next.Running))
	_, err := a.Ensure(t.Context(), machine("a", 64))
	expect.Says(t, "one more", err, "namespace a already use 64 resource groups of one cloud account")
	expect.Same(t, "one more of a group that is there", "", begin(machine("a", 0), next.Running))
	expect.Same(t, "one of another namespace", "", begin(machine("b", 64), next.Running))
	old := machine("a", 65)
	old.Asked = cloud.MaybeAsked
	expect.Same(t, "one that may have a VM", "", begin(old, next.Report))
	for group := range 62 {
		expect.Same(t, "one that is deleted", "", begin(machine("a", 66+group), next.Gone))
	}
	expect.Same(t, "the last one that is deleted", "", begin(machine("a", 128), next.Gone))
	expect.Same(t, "one more that is deleted", "later", begin(machine("a", 129), next.Gone))
	s.Advance(time.Minute)
	expect.Same(t, "it, once the others are gone", "", begin(machine("a", 129), next.Gone))
	expect.Same(t, "a new machine then", "", begin(machine("a", 64), next.Running))
}

// TestGroupsThatAreLifted: an operator says how many groups a namespace may have.
func TestGroupsThatAreLifted(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	a.limits = expect.Got(tenants.Parse([]string{"default:groups=65"}))(t)
	for group := range 66 {
		m, want := s.machineIn(fmt.Sprint("group-", group), "m"), ""
		if group == 65 {
			want = infrav1.TooManyPlacesReason
		}
		_, err := a.begin(m, homeOf(m), next.Running)
		expect.Same(t, "group "+fmt.Sprint(group), want, reasonOf(t, err))
	}
}

// TestLocationsOfANamespace: new machines are refused beyond so many locations. One with a VM is not, and nothing is kept of its
// location. A location that no machine names any more makes room.
func TestLocationsOfANamespace(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	begin := func(location int, asked cloud.Asked) string {
		m := s.machine("m")
		m.Spec.Azure.Location, m.Asked = fmt.Sprint("location", location), asked
		p, err := a.begin(m, homeOf(m), next.Running)
		if err == nil {
			expect.Same(t, "something is kept", location < 64, p.cache != nil)
		}
		return reasonOf(t, err)
	}
	for location := range 64 {
		expect.Same(t, "a new machine", "", begin(location, cloud.NeverAsked))
	}
	expect.Same(t, "one more", infrav1.TooManyPlacesReason, begin(64, cloud.NeverAsked))
	expect.Same(t, "one that had a VM", "", begin(64, cloud.Existed))
	s.Advance(30 * time.Minute)
	expect.Same(t, "one more, later", "", begin(1, cloud.NeverAsked))
	m := s.machine("m")
	m.Spec.Azure.Location = "another"
	_, err := a.begin(m, homeOf(m), next.Running)
	expect.OK(t, err)
	expect.Same(t, "locations that are kept", 2, len(a.sizes.regions))
}

// TestRoomOfSizes: the sizes of a location count for the namespace that came first, until the location is left.
func TestRoomOfSizes(t *testing.T) {
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) {
		return http.StatusOK, `{"value":[{"resourceType":"disks","name":"x"},{"resourceType":"virtualMachines","name":"one",
			"locationInfo":[{"location":"eastus","zones":["1"]},{"location":"westus"}],
			"capabilities":[{"name":"vCPUs","value":"4"},{"name":"other","value":"4"}]}]}`
	}))
	kept := a.calls.Bounds.Kept
	s, _ := a.sizes.enter(here("eastus"), team(blue.Noon))
	for range 2 {
		expect.OK(t, a.listSizes(t.Context(), s))
		expect.Same(t, "sizes", 1, len(s.sizes))
		size, ok := s.sizes.Find("one")
		expect.Same(t, "a size", []any{true, int64(4), "1"}, []any{ok, size.CPUs, strings.Join(size.Zones, " ")})
		expect.Same(t, "bytes of a size", true, kept.Kept("team") > perSize && kept.Kept("team") < 2*perSize)
	}
	_, entered := a.sizes.enter(here("westus"), team(blue.Noon.Add(time.Hour)))
	expect.Same(t, "another one enters", true, entered)
	expect.Same(t, "bytes once it is left", 0, kept.Kept("team"))
	expect.OK(t, a.listSizes(t.Context(), s))
	expect.Same(t, "bytes of a list that comes later", 0, kept.Kept("team"))
}
