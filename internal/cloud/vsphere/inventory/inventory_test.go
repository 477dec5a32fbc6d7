package inventory

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
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
		"config.instanceUuid":                 seen.IDOf(m),
		seen.ExtraConfig(seen.MarkOwner):      extra(m.Key.String()),
		seen.ExtraConfig(seen.MarkProviderID): extra(m.ProviderID),
	}
}

// reports is what the guest of a VM of ours reports.
func reports(report string) map[string]any {
	return map[string]any{seen.ExtraConfig(seen.ReportKey): extra(report)}
}

// enters has a VM of ours enter, with its report.
func enters(i *Inventory, name string, m cloud.Machine, report string) {
	i.Update(appeared(name, types.ObjectUpdateKindEnter, oursAs(m)))
	i.UpdateGuest(appeared(name, types.ObjectUpdateKindEnter, reports(report)))
}

// seenOf is what is found of a machine that has no record.
func seenOf(i *Inventory, m cloud.Machine) seen.Found {
	return i.Find(m, types.ManagedObjectReference{})
}

func fresh() *Inventory {
	var i Inventory
	i.Begin()
	i.Complete(false)
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
			return merged(oursAs(machines.VSphere(fmt.Sprint(n))), reports(long[:cloud.MaxReport]))
		},
		"states": func(int) map[string]any {
			return map[string]any{
				"runtime.powerState":      types.VirtualMachinePowerState(long[:seen.MaxMark]),
				"runtime.connectionState": types.VirtualMachineConnectionState(long[:seen.MaxMark]),
			}
		},
		"addresses": func(int) map[string]any {
			return map[string]any{seen.ExtraConfig(seen.MarkOwner): extra("a/b"), "guest.net": nics}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := fresh()
			for n := range 20_000 {
				u := appeared(fmt.Sprint("vm-", n), enter, properties(n%2000))
				u.Obj.ServerGUID = long[:8000]
				i.Update(u)
				i.UpdateGuest(u)
			}
			if i.size > maxInventory || i.reports > maxReports || i.foreign > maxOthers || len(i.vms)*perVM > maxInventory ||
				len(i.otherVMs)*perOther > maxOthers || len(i.byProviderID) > len(i.vms) {
				t.Errorf("%d, %d and %d bytes, %d VMs, %d of ours", i.size, i.reports, i.foreign, len(i.vms), len(i.byProviderID))
			}
			for _, s := range i.vms {
				if len(s.Name) > seen.MaxName || len(s.ID) > seen.MaxMark || len(s.NICs) > seen.MaxAddresses || s.Ref.ServerGUID != "" {
					t.Fatalf("kept: %.300v", *s)
				}
			}
			expect.Same(t, "all VMs are known", len(i.vms)+len(i.otherVMs) == 20_000, i.missing.vms == 0)
			for n := range 20_000 {
				leave := types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: seen.RefOf(fmt.Sprint("vm-", n))}
				i.Update(leave)
				i.UpdateGuest(leave)
			}
			expect.Same(t, "bytes when all are gone", 0, i.size+i.reports+i.foreign+len(i.vms)+len(i.byProviderID)+len(i.otherVMs))
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
	i, m := fresh(), machines.VSphere("m")
	for n := range 30_000 {
		i.Update(appeared(fmt.Sprint("vm-", n), types.ObjectUpdateKindEnter, nil))
	}
	enters(i, "ours", m, "r")
	expect.Same(t, "what is found", cloud.Ours, seenOf(i, m).Whose)
}

// TestPartIsNotBelieved: of a VM that was left out, or of whose guest nothing was reported, not all is known; then the vCenter is
// asked.
func TestPartIsNotBelieved(t *testing.T) {
	t.Parallel()
	const enter, modify = types.ObjectUpdateKindEnter, types.ObjectUpdateKindModify
	m := machines.VSphere("m")
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
			keys = i.Update(u)
		}
		i.UpdateGuest(appeared("vm", enter, nil))
		expect.Same(t, "keys where "+name, []cloud.Key{m.Key}, keys)
		expect.Same(t, "what is found where "+name, cloud.Unseen, seenOf(i, m).Whose)
		expect.Same(t, "another is lacked where "+name, false, i.Lacks(machines.VSphere("other")))
		i.Update(appeared("vm", enter, oursAs(m)))
		expect.Same(t, "what is found when it has entered, where "+name, cloud.Ours, seenOf(i, m).Whose)
	}
	i := fresh()
	i.Update(appeared("vm", enter, oursAs(m)))
	expect.Same(t, "the VM of a machine that had none before", cloud.Ours, seenOf(i, m).Whose)
	m.Asked = cloud.Existed
	expect.Same(t, "a VM that has just come", cloud.Ours, seenOf(i, m).Whose)
	settled := m
	settled.Settled = true
	expect.Same(t, "one that has just come back", cloud.Unseen, seenOf(i, settled).Whose)
	i.vms[seen.RefOf("vm")].Came = time.Now().Add(-GuestsTime)
	expect.Same(t, "a VM of whose guest nothing was reported", cloud.Unseen, seenOf(i, m).Whose)
	expect.Same(t, "keys of a change before its guest is known", 0, len(i.UpdateGuest(appeared("vm", modify, reports("r")))))
	expect.Same(t, "keys of its guest", []cloud.Key{m.Key}, i.UpdateGuest(appeared("vm", enter, nil)))
	expect.Same(t, "what is found", cloud.Ours, seenOf(i, m).Whose)
	i.UpdateGuest(appeared("vm", types.ObjectUpdateKindLeave, nil))
	expect.Same(t, "a VM that has left the list", cloud.Unseen, seenOf(i, m).Whose)

	i = fresh()
	i.Update(appeared("late", enter, map[string]any{"name": m.Name}))
	i.Update(appeared("late", modify, oursAs(m)))
	i.UpdateGuest(appeared("late", enter, reports("r")))
	expect.Same(t, "a VM that got its marks late", cloud.Ours, seenOf(i, m).Whose)
	expect.Same(t, "its name", m.Name, seenOf(i, m).VM.Name)
}

// TestByRecord: a VM without marks is found by the reference in the machine's record and its id, and by both alone.
func TestByRecord(t *testing.T) {
	t.Parallel()
	m, other := machines.VSphere("m"), machines.VSphere("other")
	m.Asked = cloud.Existed
	i, ref := fresh(), seen.RefOf("vm")
	i.Update(appeared("vm", types.ObjectUpdateKindEnter, map[string]any{"config.instanceUuid": seen.IDOf(m)}))
	expect.Same(t, "without a record", cloud.Unseen, seenOf(i, m).Whose)
	expect.Same(t, "by another machine", cloud.Unseen, i.Find(other, ref).Whose)
	expect.Same(t, "still a stranger's", 1, len(i.otherVMs))
	expect.Same(t, "before its guest is known", cloud.Unseen, i.Find(m, ref).Whose)
	add, _ := i.Unlisted()
	expect.Same(t, "to be listed", []types.ManagedObjectReference{ref}, add)
	expect.Same(t, "keys of its guest", []cloud.Key{m.Key}, i.UpdateGuest(appeared("vm", types.ObjectUpdateKindEnter, nil), m.Key))
	expect.Same(t, "by its record", cloud.Ours, i.Find(m, ref).Whose)
	expect.Same(t, "by another machine with its record", cloud.Unseen, i.Find(other, ref).Whose)
	expect.Same(t, "not by another reference", cloud.Unseen, i.Find(m, seen.RefOf("vm-2")).Whose)
}

// TestReportTooLong: 2 KiB of a report at the limit are kept, and one beyond becomes one that no one can read.
func TestReportTooLong(t *testing.T) {
	t.Parallel()
	expect.Same(t, "limit", plan.MaxReportBytes, cloud.MaxReport)
	m := machines.VSphere("m")
	for _, length := range []int{cloud.MaxReport, cloud.MaxReport + 1, 1 << 20} {
		want := plan.KeptReportBytes
		if length > cloud.MaxReport {
			want = len(seen.TooLong)
		}
		i := fresh()
		enters(i, "vm", m, strings.Repeat("r", length))
		expect.Same(t, fmt.Sprint("bytes of a report of ", length), want, len(seenOf(i, m).VM.Report))
	}
	if _, err := plan.DecodeReport([]byte(seen.TooLong)); err == nil {
		t.Error("what stands for a long report can be read")
	}
}

// TestNews: a machine hears of its VM alone what it keeps of it, and of a VM that can be its own.
func TestNews(t *testing.T) {
	t.Parallel()
	const enter, modify = types.ObjectUpdateKindEnter, types.ObjectUpdateKindModify
	m := machines.VSphere("m")
	i := fresh()
	enters(i, "vm", m, "r")
	expect.Same(t, "keys of nothing new", 0, len(i.UpdateGuest(appeared("vm", modify, reports("r")))))
	expect.Same(t, "keys of a report", 1, len(i.UpdateGuest(appeared("vm", modify, reports("s")))))
	expect.Same(t, "keys of what is not kept", 0, len(i.Update(appeared("vm", modify, map[string]any{"summary.text": "x"}))))

	i = fresh()
	half := oursAs(m)
	delete(half, seen.ExtraConfig(seen.MarkProviderID))
	i.Update(appeared("half", enter, half))
	i.UpdateGuest(appeared("half", enter, nil))
	i.Update(appeared("half", modify, map[string]any{seen.ExtraConfig(seen.MarkProviderID): extra(m.ProviderID)}))
	expect.Same(t, "a VM that got its second mark late", cloud.Ours, seenOf(i, m).Whose)

	i = fresh()
	other := m
	other.Key.Name = "other"
	enters(i, "others", other, "r")
	expect.Same(t, "a VM that another machine owns", cloud.Unseen, seenOf(i, m).Whose)
}

// TestLastRoom: a VM that just finds room is kept.
func TestLastRoom(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	for over, want := range []cloud.Whose{cloud.Ours, cloud.Unseen} {
		i, measured := fresh(), fresh()
		enters(measured, "vm", m, "r")
		i.size = maxInventory - measured.size + over
		enters(i, "vm", m, "r")
		expect.Same(t, fmt.Sprint(over, " bytes too many"), want, seenOf(i, m).Whose)
		expect.Same(t, "some are left out", over > 0, i.missing.vms > 0)
	}
}

// TestSize: each text of a VM counts, and none twice.
func TestSize(t *testing.T) {
	t.Parallel()
	s := seen.VM{
		Ref: seen.RefOf("1"), Name: "4444", ID: "88888888", Owner: strings.Repeat("o", 16),
		ProviderID: strings.Repeat("p", 32), Cluster: strings.Repeat("c", 64), Power: "x", Connection: "yy", Address: "zzzz",
		Report: strings.Repeat("r", cloud.MaxReport), NICs: []string{"a", "bb"},
	}
	expect.Same(t, "bytes", 512+1+4+8+16+32+64+1+2+4+1+16+2+16, sizeOf(&s))
	expect.Same(t, "bytes of the report", cloud.MaxReport, reported(&s))
	s.Report = seen.TooLong
	expect.Same(t, "bytes of what stands for a long report", 0, reported(&s))
}

// TestBeginsAnew: of what an inventory knew before a new list, nothing takes room from what the list has, and nothing is proved
// by it.
func TestBeginsAnew(t *testing.T) {
	t.Parallel()
	i, m := fresh(), machines.VSphere("m")
	enters(i, "vm", m, "r")
	i.Update(foreign(1))
	i.Complete(true)
	i.missing.vms, i.missing.reports = 1, 1
	expect.Same(t, "there is something of each kind", true, i.synced && i.size > 0 && i.reports > 0 && i.foreign > 0)
	expect.Same(t, "keys of before", []cloud.Key{m.Key}, i.Begin())
	expect.Same(t, "it is up to date", false, i.IsSynced())
	expect.Same(t, "bytes of ours, of reports and of others", []int{0, 0, 0}, []int{i.size, i.reports, i.foreign})
	expect.Same(t, "VMs", []int{0, 0, 0}, []int{len(i.vms), len(i.byProviderID), len(i.otherVMs)})
	expect.Same(t, "nothing is missing", true, i.missing == missing{})
	expect.Same(t, "guests that are listed", 0, len(i.guests.listed))
}

func TestInventory(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	type property = types.PropertyChange
	change := func(kind types.ObjectUpdateKind, ref types.ManagedObjectReference, changes ...property) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: kind, Obj: ref, ChangeSet: changes}
	}
	is := func(name string, value any) types.PropertyChange { return types.PropertyChange{Name: name, Val: value} }
	marks := []types.PropertyChange{
		is(seen.ExtraConfig(seen.MarkOwner), types.OptionValue{Value: "default/m"}),
		is(seen.ExtraConfig(seen.MarkProviderID), types.OptionValue{Value: m.ProviderID}),
	}
	i := new(Inventory)
	i.Begin()
	if keys := i.Update(change(types.ObjectUpdateKindEnter, ref, is("name", m.Name))); len(keys) != 0 {
		t.Errorf("a VM without marks concerns %v", keys)
	}
	keys := i.Update(change(types.ObjectUpdateKindModify, ref, append(marks, is("config.instanceUuid", seen.IDOf(m)))...))
	if diff := cmp.Diff([]cloud.Key{m.Key}, keys); diff != "" {
		t.Errorf("marks that come later (-want +got):\n%s", diff)
	}
	i.UpdateGuest(change(types.ObjectUpdateKindEnter, ref))
	if seenOf(i, m).VM != nil {
		t.Error("an inventory that is not complete knows the VM")
	}
	if diff := cmp.Diff([]cloud.Key{m.Key}, i.Complete(false)); diff != "" {
		t.Errorf("keys of all (-want +got):\n%s", diff)
	}
	copied := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}
	i.Update(change(types.ObjectUpdateKindEnter, copied,
		append(marks, is("name", "copy"), is("config.instanceUuid", "11111111-1111-1111-1111-111111111111"))...))
	if s := seenOf(i, m).VM; s == nil || s.Ref != ref {
		t.Errorf("find = %+v, want the VM and not its clone", s)
	}
	i.Update(change(types.ObjectUpdateKindEnter, ref, is("runtime.powerState", types.VirtualMachinePowerStatePoweredOn)))
	if s := seenOf(i, m).VM; s == nil || s.Name != m.Name || s.PoweredOff() {
		t.Errorf("find = %+v after it entered once more, want all that was known and the change", s)
	}
	i.Lose()
	if seenOf(i, m).VM != nil {
		t.Error("an inventory that gets no changes answers")
	}
	i.Complete(false)
	if keys := i.Update(change(types.ObjectUpdateKindLeave, ref)); len(keys) != 1 || seenOf(i, m).VM != nil {
		t.Errorf("a VM that left concerns %v and is %+v", keys, seenOf(i, m).VM)
	}
	if keys := i.Begin(); len(keys) != 1 {
		t.Errorf("keys known before = %v", keys)
	}
}
