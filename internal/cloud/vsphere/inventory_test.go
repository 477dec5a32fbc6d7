package vsphere

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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

func oursAs(m cloud.Machine) map[string]any {
	return map[string]any{
		"config.instanceUuid": idOf(m), extraConfig(markOwner): extra(m.Key.String()), extraConfig(markProviderID): extra(m.ProviderID),
	}
}

// reports is what the guest of a VM of ours reports.
func reports(report string) map[string]any {
	return map[string]any{extraConfig(reportKey): extra(report)}
}

// enters has a VM of ours enter, with its report.
func enters(i *inventory, name string, m cloud.Machine, report string) {
	i.update(appeared(name, types.ObjectUpdateKindEnter, oursAs(m)))
	i.updateGuest(appeared(name, types.ObjectUpdateKindEnter, reports(report)))
}

// seen is what is found of a machine that has no record.
func (i *inventory) seen(m cloud.Machine) found { return i.find(m, types.ManagedObjectReference{}) }

func fresh() *inventory {
	var i inventory
	i.begin()
	i.complete()
	return &i
}

// TestInventoryIsBounded: neither many VMs nor long texts fill the memory, and what is left out is not said to be gone.
func TestInventoryIsBounded(t *testing.T) {
	t.Parallel()
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
		"reports of others": func(int) map[string]any { return reports(long[:cloud.MaxReport]) },
		"reports of ours": func(n int) map[string]any {
			return merged(oursAs(machineOf(t, fmt.Sprint(n), infrav1.WindowsMachineSpec{})), reports(long[:cloud.MaxReport]))
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
			t.Parallel()
			i := fresh()
			for n := range 20_000 {
				u := appeared(fmt.Sprint("vm-", n), enter, properties(n%2000))
				u.Obj.ServerGUID = long[:8000]
				i.update(u)
				i.updateGuest(u)
			}
			if i.size > maxInventory || i.reports > maxReports || i.foreign > maxOthers || len(i.vms)*perVM > maxInventory ||
				len(i.others)*perOther > maxOthers || len(i.ours) > len(i.vms) {
				t.Errorf("%d, %d and %d bytes, %d VMs, %d of ours", i.size, i.reports, i.foreign, len(i.vms), len(i.ours))
			}
			for _, s := range i.vms {
				if len(s.name) > maxName || len(s.id) > maxMark || len(s.nics) > maxAddresses || s.ref.ServerGUID != "" {
					t.Fatalf("kept: %.300v", *s)
				}
			}
			expect.Same(t, "all VMs are known", len(i.vms)+len(i.others) == 20_000, i.missing.vms == 0)
			for n := range 20_000 {
				leave := types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: vmRef(fmt.Sprint("vm-", n))}
				i.update(leave)
				i.updateGuest(leave)
			}
			expect.Same(t, "bytes when all are gone", 0, i.size+i.reports+i.foreign+len(i.vms)+len(i.ours)+len(i.others))
			expect.Same(t, "nothing is missing then", true, i.missing == missing{})
		})
	}
}

func merged(all ...map[string]any) map[string]any {
	one := map[string]any{}
	for _, m := range all {
		maps.Copy(one, m)
	}
	return one
}

// TestOthersLeaveRoom: the VMs of others never take the room of ours.
func TestOthersLeaveRoom(t *testing.T) {
	t.Parallel()
	i, m := fresh(), machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for n := range 30_000 {
		i.update(appeared(fmt.Sprint("vm-", n), types.ObjectUpdateKindEnter, nil))
	}
	enters(i, "ours", m, "r")
	expect.Same(t, "what is found", cloud.Ours, i.seen(m).whose)
}

// TestLongTexts: a name and a mark are kept up to the last byte that they may have. A longer one counts as none.
func TestLongTexts(t *testing.T) {
	t.Parallel()
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

// TestPartIsNotBelieved: of a VM that was left out, or of whose guest nothing was reported, not all is known; then the vCenter is
// asked.
func TestPartIsNotBelieved(t *testing.T) {
	t.Parallel()
	const enter, modify = types.ObjectUpdateKindEnter, types.ObjectUpdateKindModify
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for name, changes := range map[string][]types.ObjectUpdate{
		"only changes are known": {appeared("vm", modify, oursAs(m))},
		"only changes are known, marks last": {
			appeared("vm", modify, map[string]any{"name": m.Name}), appeared("vm", modify, oursAs(m)),
		},
		"nothing was left out, and changes alone known": {appeared("a", enter, nil), appeared("vm", modify, oursAs(m))},
	} {
		i := fresh()
		var keys []cloud.Key
		for _, u := range changes {
			keys = i.update(u)
		}
		i.updateGuest(appeared("vm", enter, nil))
		expect.Same(t, "keys where "+name, []cloud.Key{m.Key}, keys)
		expect.Same(t, "what is found where "+name, cloud.Unseen, i.seen(m).whose)
		expect.Same(t, "another is lacked where "+name, false, i.lacks(machineOf(t, "other", infrav1.WindowsMachineSpec{})))
		i.update(appeared("vm", enter, oursAs(m)))
		expect.Same(t, "what is found when it has entered, where "+name, cloud.Ours, i.seen(m).whose)
	}
	i := fresh()
	i.update(appeared("vm", enter, oursAs(m)))
	expect.Same(t, "the VM of a machine that had none before", cloud.Ours, i.seen(m).whose)
	m.Asked = cloud.Existed
	expect.Same(t, "a VM that has just come", cloud.Ours, i.seen(m).whose)
	settled := m
	settled.Settled = true
	expect.Same(t, "one that has just come back", cloud.Unseen, i.seen(settled).whose)
	i.vms[vmRef("vm")].came = time.Now().Add(-guestsTime)
	expect.Same(t, "a VM of whose guest nothing was reported", cloud.Unseen, i.seen(m).whose)
	expect.Same(t, "keys of a change before its guest is known", 0, len(i.updateGuest(appeared("vm", modify, reports("r")))))
	expect.Same(t, "keys of its guest", []cloud.Key{m.Key}, i.updateGuest(appeared("vm", enter, nil)))
	expect.Same(t, "what is found", cloud.Ours, i.seen(m).whose)
	i.updateGuest(appeared("vm", types.ObjectUpdateKindLeave, nil))
	expect.Same(t, "a VM that has left the list", cloud.Unseen, i.seen(m).whose)

	i = fresh()
	i.update(appeared("late", enter, map[string]any{"name": m.Name}))
	i.update(appeared("late", modify, oursAs(m)))
	i.updateGuest(appeared("late", enter, reports("r")))
	expect.Same(t, "a VM that got its marks late", cloud.Ours, i.seen(m).whose)
	expect.Same(t, "its name", m.Name, i.seen(m).vm.name)
}

// TestByRecord: a VM without marks is found by the reference in the machine's record and its id, and by both alone.
func TestByRecord(t *testing.T) {
	t.Parallel()
	m, other := machineOf(t, "m", infrav1.WindowsMachineSpec{}), machineOf(t, "other", infrav1.WindowsMachineSpec{})
	m.Asked = cloud.Existed
	i, ref := fresh(), vmRef("vm")
	i.update(appeared("vm", types.ObjectUpdateKindEnter, map[string]any{"config.instanceUuid": idOf(m)}))
	expect.Same(t, "without a record", cloud.Unseen, i.seen(m).whose)
	expect.Same(t, "by another machine", cloud.Unseen, i.find(other, ref).whose)
	expect.Same(t, "still a stranger's", 1, len(i.others))
	expect.Same(t, "before its guest is known", cloud.Unseen, i.find(m, ref).whose)
	add, _ := i.unlisted()
	expect.Same(t, "to be listed", []types.ManagedObjectReference{ref}, add)
	expect.Same(t, "keys of its guest", []cloud.Key{m.Key}, i.updateGuest(appeared("vm", types.ObjectUpdateKindEnter, nil), m.Key))
	expect.Same(t, "by its record", cloud.Ours, i.find(m, ref).whose)
	expect.Same(t, "by another machine with its record", cloud.Unseen, i.find(other, ref).whose)
	expect.Same(t, "not by another reference", cloud.Unseen, i.find(m, vmRef("vm-2")).whose)
}

// TestReportTooLong: a report at the limit is kept, and one beyond becomes one that no one can read.
func TestReportTooLong(t *testing.T) {
	t.Parallel()
	expect.Same(t, "limit", plan.MaxReportBytes, cloud.MaxReport)
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for _, length := range []int{cloud.MaxReport, cloud.MaxReport + 1, 1 << 20} {
		want := min(length, cloud.MaxReport+1)
		i := fresh()
		enters(i, "vm", m, strings.Repeat("r", length))
		expect.Same(t, fmt.Sprint("bytes of a report of ", length), want, len(i.seen(m).vm.report))
	}
	if _, err := plan.DecodeReport([]byte(tooLong)); err == nil {
		t.Error("what stands for a long report can be read")
	}
}

// TestNews: a machine hears of its VM alone what it keeps of it, and of a VM that can be its own.
func TestNews(t *testing.T) {
	t.Parallel()
	const enter, modify = types.ObjectUpdateKindEnter, types.ObjectUpdateKindModify
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	i := fresh()
	enters(i, "vm", m, "r")
	expect.Same(t, "keys of nothing new", 0, len(i.updateGuest(appeared("vm", modify, reports("r")))))
	expect.Same(t, "keys of a report", 1, len(i.updateGuest(appeared("vm", modify, reports("s")))))
	expect.Same(t, "keys of what is not kept", 0, len(i.update(appeared("vm", modify, map[string]any{"summary.text": "x"}))))

	i = fresh()
	half := oursAs(m)
	delete(half, extraConfig(markProviderID))
	i.update(appeared("half", enter, half))
	i.updateGuest(appeared("half", enter, nil))
	i.update(appeared("half", modify, map[string]any{extraConfig(markProviderID): extra(m.ProviderID)}))
	expect.Same(t, "a VM that got its second mark late", cloud.Ours, i.seen(m).whose)

	i = fresh()
	other := m
	other.Key.Name = "other"
	enters(i, "others", other, "r")
	expect.Same(t, "a VM that another machine owns", cloud.Unseen, i.seen(m).whose)
}

// TestLastRoom: a VM that just finds room is kept.
func TestLastRoom(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for over, want := range []cloud.Whose{cloud.Ours, cloud.Unseen} {
		i, measured := fresh(), fresh()
		enters(measured, "vm", m, "r")
		i.size = maxInventory - measured.size + over
		enters(i, "vm", m, "r")
		expect.Same(t, fmt.Sprint(over, " bytes too many"), want, i.seen(m).whose)
		expect.Same(t, "some are left out", over > 0, i.missing.vms > 0)
	}
}

// TestOption: what is no option has no text.
func TestOption(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	s := sighting{
		ref: vmRef("1"), name: "4444", id: "88888888", owner: strings.Repeat("o", 16),
		providerID: strings.Repeat("p", 32), cluster: strings.Repeat("c", 64), power: "x", connection: "yy", address: "zzzz",
		report: strings.Repeat("r", cloud.MaxReport), nics: []string{"a", "bb"},
	}
	expect.Same(t, "bytes", 512+1+4+8+16+32+64+1+2+4+1+16+2+16, s.size())
	expect.Same(t, "bytes of the report", cloud.MaxReport, s.reported())
	s.report = tooLong
	expect.Same(t, "bytes of what stands for a long report", 0, s.reported())
}

// TestBeginsAnew: of what an inventory knew before a new list, nothing takes room from what the list has, and nothing is proved
// by it.
func TestBeginsAnew(t *testing.T) {
	t.Parallel()
	i, m := fresh(), machineOf(t, "m", infrav1.WindowsMachineSpec{})
	enters(i, "vm", m, "r")
	i.update(foreign(1))
	i.partly()
	i.missing.vms, i.missing.reports = 1, 1
	expect.Same(t, "there is something of each kind", true, i.synced && i.size > 0 && i.reports > 0 && i.foreign > 0)
	expect.Same(t, "keys of before", []cloud.Key{m.Key}, i.begin())
	expect.Same(t, "it is up to date", false, i.isSynced())
	expect.Same(t, "bytes of ours, of reports and of others", []int{0, 0, 0}, []int{i.size, i.reports, i.foreign})
	expect.Same(t, "VMs", []int{0, 0, 0}, []int{len(i.vms), len(i.ours), len(i.others)})
	expect.Same(t, "nothing is missing", true, i.missing == missing{})
	expect.Same(t, "guests that are listed", 0, len(i.guests.listed))
}
