package lists

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestRecordOf: what is read of a VM, and of what is none.
func TestRecordOf(t *testing.T) {
	of := calls.VM{ID: blue.VM.String(), Tags: arm.Tags(blue.Machine(), nil, ""), Zones: []string{strings.Repeat("z", 65), "2"}}
	r, ok := RecordOf(of)
	expect.Same(t, "a VM without properties", true, ok && r.Original && r.State == "")
	expect.Same(t, "bytes of a long zone", true, len(r.Zone) <= 64 && strings.HasSuffix(r.Zone, "..."))
	of.Zones = []string{strings.Repeat("z", 64)}
	r, _ = RecordOf(of)
	expect.Same(t, "the longest zone", of.Zones[0], r.Zone)
	for _, id := range []string{"", "x", blue.Group.Disk("win-1").String()} {
		_, ok := RecordOf(calls.VM{ID: id})
		expect.Same(t, "a VM of ID "+id, false, ok)
	}
}

// TestSame: each thing that is told of a VM is news.
func TestSame(t *testing.T) {
	whole := Record{
		Mark: blue.Mark(), State: next.Succeeded, Zone: "1", Size: "D2", Image: "1.2.3", Evictable: true, Adapters: []string{"a"},
	}
	expect.Same(t, "nothing new", true, whole.equal(whole))
	for name, change := range map[string]func(*Record){
		"mark": func(r *Record) { r.Mark.Name = "x" }, "state": func(r *Record) { r.State = next.Failed },
		"zone": func(r *Record) { r.Zone = "2" }, "size": func(r *Record) { r.Size = "D4" },
		"image": func(r *Record) { r.Image = "1.2.4" }, "evictable": func(r *Record) { r.Evictable = false },
		"adapters": func(r *Record) { r.Adapters = nil },
	} {
		other := whole
		change(&other)
		expect.Same(t, name, false, whole.equal(other))
	}
}

// TestEvictable: a VM may lose its place and stay if it is a spot VM that Azure deallocates.
func TestEvictable(t *testing.T) {
	for name, c := range map[string]struct {
		priority, policy string
		want             bool
	}{
		"deallocated": {"spot", "deallocate", true}, "removed": {"Spot", "Delete", false}, "regular": {"Regular", "Deallocate", false},
	} {
		var of calls.VM
		expect.OK(t, json.Unmarshal(fmt.Appendf(nil, `{"id":%q,"properties":{"priority":%q,"evictionPolicy":%q}}`,
			blue.VM.String(), c.priority, c.policy), &of))
		r, ok := RecordOf(of)
		expect.Same(t, name, c.want, ok && r.Evictable)
	}
}

// TestPowerOf: the first power state that decides, among the statuses of a VM; a state of another kind is none.
func TestPowerOf(t *testing.T) {
	for text, want := range map[string]next.Power{
		"PowerState/running": next.PoweredOn, "x powerstate/STOPPED": next.Stopped, "PowerState/starting": "", "": "",
		"ProvisioningState/succeeded PowerState/deallocated": next.Deallocated, "otherstate/running": "",
		"PowerState/stopping PowerState/stopped": next.Stopped,
	} {
		var all []calls.Status
		for code := range strings.SplitSeq(text, " ") {
			all = append(all, calls.Status{Code: code})
		}
		expect.Same(t, text, want, powerOf(all))
	}
}
