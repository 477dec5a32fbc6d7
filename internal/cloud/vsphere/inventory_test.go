package vsphere

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// appeared is the news of a VM, with properties by path.
func appeared(name string, kind types.ObjectUpdateKind, properties map[string]any) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: kind, Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: name}}
	for path, value := range properties {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: path, Val: value})
	}
	return u
}

func extra(value string) types.OptionValue { return types.OptionValue{Value: value} }

func oursAs(m cloud.Machine, report string) map[string]any {
	return map[string]any{
		"config.instanceUuid": idOf(m), extraConfig(markOwner): extra(m.Key.String()), extraConfig(markProviderID): extra(m.ProviderID),
		extraConfig(reportKey): extra(report),
	}
}

func fresh() *inventory {
	var i inventory
	i.begin()
	i.complete()
	return &i
}

// TestInventoryIsBounded: neither many VMs nor long texts fill the memory, and what is left out is not said to be gone.
func TestInventoryIsBounded(t *testing.T) {
	const enter = types.ObjectUpdateKindEnter
	long := strings.Repeat("x", 100_000)
	nics := types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{
		{IpAddress: strings.Split(strings.Repeat("10.0.0.1 ", 2000), " ")},
	}}
	for name, properties := range map[string]func(n int) map[string]any{
		"VMs of others": func(int) map[string]any { return map[string]any{"name": "vm"} },
		"long texts": func(int) map[string]any {
			return map[string]any{"name": long, "config.instanceUuid": long, "runtime.powerState": types.VirtualMachinePowerState(long)}
		},
		"reports of others": func(int) map[string]any { return map[string]any{extraConfig(reportKey): extra(long[:cloud.MaxReport])} },
		"reports of ours": func(n int) map[string]any {
			return oursAs(machineOf(t, fmt.Sprint(n), infrav1.WindowsMachineSpec{}), long[:cloud.MaxReport])
		},
		"states": func(int) map[string]any {
			return map[string]any{
				"runtime.powerState":      types.VirtualMachinePowerState(long[:maxMark]),
				"runtime.connectionState": types.VirtualMachineConnectionState(long[:maxMark]),
			}
		},
		"addresses": func(int) map[string]any {
			return map[string]any{extraConfig(markOwner): extra("a/b"), "guest.net": nics}
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := fresh()
			for n := range 20_000 {
				u := appeared(fmt.Sprint("vm-", n), enter, properties(n%2000))
				u.Obj.ServerGUID = long[:8000]
				i.update(u)
			}
			if i.size > maxInventory || len(i.vms)*perVM > maxInventory || len(i.ours) > len(i.vms) {
				t.Errorf("%d bytes, %d VMs, %d of ours", i.size, len(i.vms), len(i.ours))
			}
			held := 0
			for _, s := range i.vms {
				held += len(s.ref.Value) + len(s.ref.ServerGUID) + len(s.name) + len(s.power) + len(s.connection)
				if len(s.name) > maxName || len(s.id) > maxMark || s.report != "" && s.owner == "" || len(s.nics) > maxAddresses {
					t.Fatalf("kept: %.300v", *s)
				}
			}
			if held > maxInventory {
				t.Errorf("%d bytes of texts", held)
			}
			for ref := range i.vms {
				i.update(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
			}
			expect.Same(t, "bytes when all are gone", 0, i.size+len(i.vms)+len(i.ours))
		})
	}
}

// TestOthersLeaveRoom: the VMs of others never take the room of ours.
func TestOthersLeaveRoom(t *testing.T) {
	i, m := fresh(), machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for n := range 20_000 {
		i.update(appeared(fmt.Sprint("vm-", n), types.ObjectUpdateKindEnter, nil))
	}
	i.update(appeared("ours", types.ObjectUpdateKindEnter, oursAs(m, "r")))
	expect.Same(t, "what is found", cloud.Ours, i.find(m).whose)
}

// TestLongTexts: a name and a mark are kept up to the last byte that they may have. A longer one counts as none.
func TestLongTexts(t *testing.T) {
	for path, kept := range map[string]func(*sighting) string{
		"name":                      func(s *sighting) string { return s.name },
		"config.instanceUuid":       func(s *sighting) string { return s.id },
		"guest.ipAddress":           func(s *sighting) string { return s.address },
		extraConfig(markOwner):      func(s *sighting) string { return s.owner },
		extraConfig(markProviderID): func(s *sighting) string { return s.providerID },
		extraConfig(markCluster):    func(s *sighting) string { return s.cluster },
		"runtime.powerState":        func(s *sighting) string { return string(s.power) },
		"runtime.connectionState":   func(s *sighting) string { return string(s.connection) },
		"guest.net":                 func(s *sighting) string { return s.nics[0] },
	} {
		limit := 512
		if path == "name" {
			limit = 320
		}
		for length, want := range map[int]int{limit: limit, limit + 1: 0} {
			text := strings.Repeat("x", length)
			value := map[string]any{
				"runtime.powerState":      types.VirtualMachinePowerState(text),
				"runtime.connectionState": types.VirtualMachineConnectionState(text),
				"guest.net":               types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{IpAddress: []string{text}}}},
			}[path]
			switch {
			case strings.HasPrefix(path, "config.extraConfig"):
				value = extra(text)
			case value == nil:
				value = text
			}
			var s sighting
			s.set(path, value)
			expect.Same(t, fmt.Sprint("bytes kept of ", length, " of ", path), want, len(kept(&s)))
		}
	}
}

// TestRoomForOthers: a vCenter may have 10,000 VMs of others before one is left out.
func TestRoomForOthers(t *testing.T) {
	i := fresh()
	for n := range 10_000 {
		i.update(appeared(fmt.Sprint("vm-", 100_000+n), types.ObjectUpdateKindEnter, map[string]any{
			"name": fmt.Sprintf("production-europe-database-%05d", n), "config.instanceUuid": "5023a1b4-9c0d-6b8e-2f11-8a7c66d0e9f3",
			"runtime.powerState": types.VirtualMachinePowerStatePoweredOn, "guest.ipAddress": "10.0.0.1",
			"runtime.connectionState": types.VirtualMachineConnectionStateConnected,
		}))
	}
	expect.Same(t, "VMs", 10_000, len(i.vms))
}

// TestPartIsNotBelieved: of a VM that was left out or cut when it had no mark, not all is known; then the vCenter is asked.
func TestPartIsNotBelieved(t *testing.T) {
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	i := fresh()
	keys := i.update(appeared("unknown", types.ObjectUpdateKindModify, oursAs(m, "r")))
	expect.Same(t, "key", m.Key, keys[0])
	expect.Same(t, "a VM of which only changes are known", cloud.Unseen, i.find(m).whose)

	i = fresh()
	i.update(appeared("cut", types.ObjectUpdateKindEnter, map[string]any{"guest.ipAddress": "10.0.0.1"}))
	i.update(appeared("cut", types.ObjectUpdateKindModify, oursAs(m, "r")))
	expect.Same(t, "a VM whose address was not kept", cloud.Unseen, i.find(m).whose)

	i = fresh()
	i.update(appeared("reported", types.ObjectUpdateKindEnter, map[string]any{extraConfig(reportKey): extra("r")}))
	marks := oursAs(m, "")
	delete(marks, extraConfig(reportKey))
	i.update(appeared("reported", types.ObjectUpdateKindModify, marks))
	expect.Same(t, "a VM whose report was not kept", cloud.Unseen, i.find(m).whose)

	i = fresh()
	i.update(appeared("late", types.ObjectUpdateKindEnter, map[string]any{"name": m.Name}))
	i.update(appeared("late", types.ObjectUpdateKindModify, oursAs(m, "r")))
	expect.Same(t, "a VM that got its marks late", cloud.Ours, i.find(m).whose)
}

// TestReportTooLong: a report at the limit is kept, and one beyond becomes one that no one can read.
func TestReportTooLong(t *testing.T) {
	expect.Same(t, "limit", plan.MaxReportBytes, cloud.MaxReport)
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for _, length := range []int{cloud.MaxReport, cloud.MaxReport + 1, 1 << 20} {
		want := min(length, cloud.MaxReport+1)
		i := fresh()
		i.update(appeared("vm", types.ObjectUpdateKindEnter, oursAs(m, strings.Repeat("r", length))))
		expect.Same(t, fmt.Sprint("bytes of a report of ", length), want, len(i.find(m).vm.report))
	}
	if _, err := plan.DecodeReport([]byte(tooLong)); err == nil {
		t.Error("what stands for a long report can be read")
	}
}

// TestNews: a machine hears of its VM alone what it keeps of it, and of a VM that can be its own.
func TestNews(t *testing.T) {
	const enter, modify = types.ObjectUpdateKindEnter, types.ObjectUpdateKindModify
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	i := fresh()
	i.update(appeared("vm", enter, oursAs(m, "r")))
	says := func(report string) map[string]any { return map[string]any{extraConfig(reportKey): extra(report)} }
	expect.Same(t, "keys of nothing new", 0, len(i.update(appeared("vm", modify, says("r")))))
	expect.Same(t, "keys of a report", 1, len(i.update(appeared("vm", modify, says("s")))))
	expect.Same(t, "keys of what is not kept", 0, len(i.update(appeared("vm", modify, map[string]any{"summary.text": "x"}))))

	i = fresh()
	i.update(appeared("cut", enter, map[string]any{"guest.net": types.ArrayOfGuestNicInfo{
		GuestNicInfo: []types.GuestNicInfo{{IpAddress: []string{"10.0.0.1"}}},
	}}))
	i.update(appeared("cut", modify, oursAs(m, "r")))
	expect.Same(t, "a VM whose adapters were not kept", cloud.Unseen, i.find(m).whose)

	i = fresh()
	i.update(appeared("unknown", modify, map[string]any{"name": m.Name}))
	i.update(appeared("unknown", modify, oursAs(m, "r")))
	expect.Same(t, "a VM of which only changes are known, marks last", cloud.Unseen, i.find(m).whose)

	i = fresh()
	half := oursAs(m, "r")
	delete(half, extraConfig(markProviderID))
	i.update(appeared("half", enter, half))
	i.update(appeared("half", modify, map[string]any{extraConfig(markProviderID): extra(m.ProviderID)}))
	expect.Same(t, "a VM that got its second mark late", cloud.Ours, i.find(m).whose)

	i = fresh()
	other := m
	other.Key.Name = "other"
	i.update(appeared("others", enter, oursAs(other, "r")))
	expect.Same(t, "a VM that another machine owns", cloud.Unseen, i.find(m).whose)
}

// TestLastRoom: a VM that just finds room is kept.
func TestLastRoom(t *testing.T) {
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for over, want := range []cloud.Whose{cloud.Ours, cloud.Unseen} {
		i, measured := fresh(), fresh()
		measured.update(appeared("vm", types.ObjectUpdateKindEnter, oursAs(m, "r")))
		i.size = maxInventory - measured.size + over
		i.update(appeared("vm", types.ObjectUpdateKindEnter, oursAs(m, "r")))
		expect.Same(t, fmt.Sprint(over, " bytes too many"), want, i.find(m).whose)
		expect.Same(t, "some are left out", over > 0, i.part)
	}
}

// TestOption: what is no option has no text.
func TestOption(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"none": {nil, ""}, "a text": {"x", ""}, "an option": {extra("x"), "x"}, "a pointer": {&types.OptionValue{Value: "x"}, "x"},
		"no option at all": {(*types.OptionValue)(nil), ""}, "a number": {types.OptionValue{Value: 1}, ""},
	} {
		expect.Same(t, name, c.want, option(c.value))
	}
}

// TestSize: each text of a VM counts, and none twice.
func TestSize(t *testing.T) {
	s := sighting{
		ref: types.ManagedObjectReference{Value: "1", ServerGUID: "22"}, name: "4444", id: "88888888", owner: strings.Repeat("o", 16),
		providerID: strings.Repeat("p", 32), cluster: strings.Repeat("c", 64), power: "x", connection: "yy", address: "zzzz",
		report: strings.Repeat("r", cloud.MaxReport), nics: []string{"a", "bb"},
	}
	expect.Same(t, "bytes", 256+1+2+4+8+16+32+64+1+2+4+cloud.MaxReport+1+16+2+16, s.size())
	s.report, s.nics = tooLong, nil
	expect.Same(t, "bytes with what stands for a long report", 256+1+2+4+8+16+32+64+1+2+4, s.size())
}
