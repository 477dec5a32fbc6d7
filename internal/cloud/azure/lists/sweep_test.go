package lists

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// kept is what a list keeps of resources.
func kept(shown ...calls.Resource) (resources []Resource) {
	for _, one := range shown {
		if r, bytes := KeepResource(one); bytes > 0 {
			resources = append(resources, r)
		}
	}
	return resources
}

// TestTakeRemnants: what nothing uses is a remnant, since when it was first seen, and what is used tells of its VM.
func TestTakeRemnants(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	disk := calls.Resource{ID: blue.Group.Disk("d").String()}
	used := calls.Resource{ID: blue.Group.Disk("u").String(), ManagedBy: blue.Group.VM("WIN-1").String()}
	ip := calls.Resource{ID: blue.Group.String() + "/providers/Microsoft.Network/publicIPAddresses/ip"}
	ip.Properties.IPConfiguration.ID = "adapter"
	odd := calls.Resource{ID: blue.Group.Disk("o").String(), ManagedBy: "x"}
	s.TakeRemnants(Sweeping{Disks: kept(disk, used, calls.Resource{ID: "x"}, odd), Public: kept(ip)}, false, blue.Noon)
	expect.Same(t, "remnants", 1, len(stateIn(s).Remnants))
	expect.Same(t, "used", map[string]bool{"win-1": true}, stateIn(s).Used)
	one := stateIn(s).Remnants[blue.Group.Disk("d").Key()]
	one.Looked = blue.Noon.Add(1)
	stateIn(s).Remnants[blue.Group.Disk("d").Key()] = one
	ip.Properties.IPConfiguration.ID = ""
	s.TakeRemnants(Sweeping{Disks: kept(disk), Public: kept(ip)}, false, blue.Noon.Add(time.Minute))
	expect.Same(t, "remnants, later", 2, len(stateIn(s).Remnants))
	one = stateIn(s).Remnants[blue.Group.Disk("d").Key()]
	expect.Same(t, "since, and looked at", []time.Time{blue.Noon, blue.Noon.Add(1)}, []time.Time{one.FirstSeen, one.Looked})
	expect.Same(t, "none is used", 0, len(stateIn(s).Used))
	s.TakeRemnants(Sweeping{}, false, blue.Noon)
	expect.Same(t, "nothing is left", 0, len(stateIn(s).Remnants))
}

// TestHeed: a right that is lacked is told until Azure answers, the first by name.
func TestHeed(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	lacks := func(what string) calls.Answer {
		return calls.Answer{Verdict: &fault.Verdict{Error: cloud.Errorf(cloud.Denied, "Other", "%s", what), Lacks: what}}
	}
	told := func() string {
		if err := stateIn(s).Refusal(); err != nil {
			return err.Message
		}
		return ""
	}
	s.NoteRefusal(PublicList, calls.Answer{Verdict: &fault.Verdict{Error: cloud.Errorf(cloud.Transient, "Other", "later")}})
	expect.Same(t, "an error of no right", "", told())
	s.NoteRefusal("b", lacks("b"))
	s.NoteRefusal("a", lacks("a"))
	expect.Same(t, "two", "a", told())
	expect.Same(t, "no list is hidden", true, stateIn(s).Hidden() == nil)
	for _, what := range []string{PublicList, DiskList, AdapterList} {
		s.NoteRefusal(what, lacks(what))
		expect.Same(t, "hidden", what, stateIn(s).Hidden().Message)
	}
	s.NoteRefusal("a", calls.Answer{})
	expect.Same(t, "one is there again", "b", told())
	powersIn(s.Power).Refused = cloud.Errorf(cloud.Denied, "Other", "powers")
	expect.Same(t, "that to the power states", "powers", told())
}

// TestAttach: adapters that a VM has now are no remnants.
func TestAttach(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	stateIn(s).Remnants[blue.NIC.Key()], stateIn(s).Remnants["other"] = Remnant{}, Remnant{}
	s.Attach(blue.NIC)
	_, other := stateIn(s).Remnants["other"]
	expect.Same(t, "one of another name is left alone", true, other && len(stateIn(s).Remnants) == 1)
}

// TestHasPublic: public IPs are looked for where a machine wants one, or an adapter of a machine has one.
func TestHasPublic(t *testing.T) {
	adapter := func(address string, mark cloud.Marked) Resource { return Resource{Mark: mark, Public: address != ""} }
	marks := blue.Mark()
	for name, c := range map[string]struct {
		wanted   bool
		adapters []Resource
		want     bool
	}{
		"none":                   {false, []Resource{adapter("", marks)}, false},
		"a stranger's":           {false, []Resource{adapter("ip", cloud.Marked{})}, false},
		"a machine's":            {false, []Resource{adapter("", marks), adapter("ip", marks)}, true},
		"one that is wanted":     {true, nil, true},
		"wanted, and not theirs": {true, []Resource{adapter("ip", cloud.Marked{})}, true},
	} {
		s := &Scope{}
		stateIn(s).Public = c.wanted
		expect.Same(t, name, c.want, s.HasPublic(c.adapters))
		expect.Same(t, name+", and it is remembered", c.want, s.HasPublic(nil))
	}
}

// TestRemovalOfEachKind: a right that is lacked for one kind is still told of when another kind can be removed.
func TestRemovalOfEachKind(t *testing.T) {
	group := arm.GroupID(armsim.Subscription, armsim.Group)
	public, _ := arm.Parse(group.String() + "/providers/Microsoft.Network/publicIPAddresses/x")
	expect.Same(t, "a disk", "removal of disks", RemovalOf(group.Disk("x")))
	expect.Same(t, "an adapter", "removal of adapters", RemovalOf(group.Adapter("x")))
	expect.Same(t, "a public IP", "removal of public IPs", RemovalOf(public))
}
