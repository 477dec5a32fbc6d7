package inventory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// foreign is a VM of others, with a name of 35 characters.
func foreign(n int) types.ObjectUpdate {
	return appeared(fmt.Sprint("vm-", 100_000+n), types.ObjectUpdateKindEnter, map[string]any{
		"name":                    fmt.Sprintf("production-europe-database-%08d", n),
		"config.instanceUuid":     fmt.Sprintf("5023a1b4-9c0d-6b8e-2f11-8a7c66%06d", n),
		"parent":                  types.ManagedObjectReference{Type: "Folder", Value: fmt.Sprint("group-v", n%100)},
		"runtime.powerState":      types.VirtualMachinePowerStatePoweredOn,
		"runtime.connectionState": types.VirtualMachineConnectionStateConnected,
	})
}

func propertiesOf(u types.ObjectUpdate) map[string]any {
	all := map[string]any{}
	for _, c := range u.ChangeSet {
		all[c.Name] = c.Val
	}
	return all
}

// TestFigures: the limits that documents promise.
func TestFigures(t *testing.T) {
	t.Parallel()
	expect.Same(t, "bytes of an inventory", []int{4 << 20, 6 << 20, 6 << 20}, []int{maxOthers, maxInventory, maxReports})
}

// TestOthersAreSmall: what 10,000 VMs of others take, by what the heap has more, and by what the inventory counts.
func TestOthersAreSmall(t *testing.T) {
	const count, most = 10_000, 300
	i, heap := fresh(), func() int {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc) //nolint:gosec // because a heap has less than 2^63 bytes
	}
	before := heap()
	for n := range count {
		i.Update(foreign(n))
	}
	each, counted := (heap()-before)/count, i.foreign/count
	t.Logf("a VM of others takes %d bytes of the heap, and counts %d", each, counted)
	if len(i.otherVMs) != count || each > most || counted > most || each > counted {
		t.Errorf("%d VMs, %d bytes each, %d counted, want at most %d", len(i.otherVMs), each, counted, most)
	}
}

// TestRoom: 10,000 VMs of others and 5,000 of ours, each with a report of 1 KiB, fit.
func TestRoom(t *testing.T) {
	t.Parallel()
	i, count := fresh(), 5000
	for n := range 10_000 {
		i.Update(foreign(n))
	}
	report := strings.Repeat("r", 1<<10)
	for n := range count {
		m := machines.VSphere(fmt.Sprintf("production-pool-%08d-abcde", n))
		ref := fmt.Sprint("vm-", 200_000+n)
		i.Update(appeared(ref, types.ObjectUpdateKindEnter, merged(oursAs(m), propertiesOf(foreign(n)), map[string]any{
			"config.instanceUuid":              seen.IDOf(m),
			seen.ExtraConfig(seen.MarkCluster): extra("production-europe/5023a1b4-9c0d-6b8e-2f11-8a7c66d0e9f3"),
		})))
		i.UpdateGuest(appeared(ref, types.ObjectUpdateKindEnter, merged(reports(report), map[string]any{
			"guest.ipAddress": "10.100.200.100",
			"guest.net": types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{IpAddress: []string{
				"10.100.200.100", "fe80::250:56ff:fe9c:d0e9", "fd00:1234:5678:9abc:250:56ff:fe9c:d0e9",
			}}}},
		})))
		if n == count-1 {
			expect.Same(t, "what is found of the last", cloud.Ours, seenOf(i, m).Whose)
		}
	}
	t.Logf("%d bytes of %d, reports %d of %d, others %d of %d", i.size, maxInventory, i.reports, maxReports, i.foreign, maxOthers)
	expect.Same(t, "VMs", []int{10_000, count}, []int{len(i.otherVMs), len(i.vms)})
	expect.Same(t, "nothing is missing", true, i.missing == missing{})
	expect.Same(t, "a new machine is lacked", true, i.Lacks(machines.VSphere("new")))
}

// TestRoomAgain: once what was left out is gone, the inventory knows all VMs again; and once there is room for it, all is read
// again.
func TestRoomAgain(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	i, full := fresh(), 0
	for ; i.missing.vms == 0; full++ {
		i.Update(foreign(full))
	}
	i.Update(foreign(full))
	full++
	expect.Same(t, "VMs that are left out", 2, i.missing.vms)
	expect.Same(t, "m is lacked while VMs are left out", false, i.Lacks(m))
	expect.Same(t, "room while it is full", false, i.HasRoomAgain())
	leave := func(n int) { i.Update(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: foreign(n).Obj}) }
	leave(full - 1)
	expect.Same(t, "m is lacked while one is left out", false, i.Lacks(m))
	leave(full - 2)
	expect.Same(t, "m is lacked when those are gone", true, i.Lacks(m))
	expect.Same(t, "something is to be read again", false, i.HasRoomAgain())

	i.Update(foreign(full))
	i.Update(foreign(full + 1))
	for n := range full / 4 {
		leave(n)
	}
	expect.Same(t, "m is lacked while one was left out, which is not known", false, i.Lacks(m))
	expect.Same(t, "room for it", true, i.HasRoomAgain())
}

// TestReportsHaveTheirRoom: a report that finds no room takes nothing from its VM but a call for each look, and wakes its
// machine.
func TestReportsHaveTheirRoom(t *testing.T) {
	t.Parallel()
	i, m := fresh(), machines.VSphere("m")
	other := machines.VSphere("other")
	i.reports = maxReports
	enters(i, "vm", m, "r")
	expect.Same(t, "what is found", cloud.Unseen, seenOf(i, m).Whose)
	expect.Same(t, "another is lacked", true, i.Lacks(other))
	says := func(report string) []cloud.Key {
		return i.UpdateGuest(appeared("vm", types.ObjectUpdateKindModify, reports(report)))
	}
	expect.Same(t, "keys of another report", []cloud.Key{m.Key}, says("s"))
	expect.Same(t, "bytes of reports that are missing", 1, i.missing.reports)
	i.reports = 0
	expect.Same(t, "room again", true, i.HasRoomAgain())
	expect.Same(t, "keys of a report that finds room", []cloud.Key{m.Key}, says("t"))
	expect.Same(t, "the report", "t", seenOf(i, m).VM.Report)
	expect.Same(t, "bytes of reports that are missing", 0, i.missing.reports)
}

// TestNoRoomForARecord: a VM that counted as a stranger's until a record named it may find no room among ours. It is missing
// then, once: it is found by a call, and nothing says that it is gone. One of which not all was known was missing before.
func TestNoRoomForARecord(t *testing.T) {
	t.Parallel()
	for kind, missing := range map[types.ObjectUpdateKind]bool{
		types.ObjectUpdateKindEnter: false, types.ObjectUpdateKindModify: true,
	} {
		i, m, other := fresh(), machines.VSphere("m"), machines.VSphere("other")
		i.Update(appeared("vm-1", kind, map[string]any{"config.instanceUuid": seen.IDOf(m)}))
		expect.Same(t, "before there is a record, a machine without a VM has none", !missing, i.Lacks(other))
		i.size = maxInventory
		expect.Same(t, "what is found by the record", true, i.Find(m, seen.RefOf("vm-1")) == seen.Found{})
		expect.Same(t, "it has no VM", []bool{false, false}, []bool{i.Lacks(m), i.Lacks(other)})
		i.Update(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: seen.RefOf("vm-1")})
		expect.Same(t, "it has no VM once that is gone", []bool{true, true}, []bool{i.Lacks(m), i.Lacks(other)})
	}
}

// TestShare: the inventories of a namespace share its room. What finds none is left out, and read again once there is some. All
// of it is given back when a watch begins anew.
func TestShare(t *testing.T) {
	t.Parallel()
	kept := &tenants.Bytes{}
	share := kept.Share("team")
	i, beside := fresh(), fresh()
	i.Share, beside.Share = share, share
	for n := range 100 {
		beside.Update(foreign(n))
	}
	m := machines.VSphere("m")
	enters(beside, "vm", m, strings.Repeat("r", 1<<10))
	expect.Same(t, "what is counted", beside.size+beside.reports+beside.foreign, kept.Kept("team"))
	rest := kept.Bound("team") - kept.Kept("team")
	expect.Same(t, "room for the rest", true, share.Take(rest))

	i.Update(foreign(0))
	enters(i, "vm", m, "r")
	beside.UpdateGuest(appeared("vm", types.ObjectUpdateKindModify, reports(strings.Repeat("r", 2<<10))))
	expect.Same(t, "VMs that found no room", []int{2, 0}, []int{i.missing.vms, beside.missing.vms})
	expect.Same(t, "bytes of a report that found none", 2<<10, beside.missing.reports)
	expect.Same(t, "room again", []bool{false, false}, []bool{i.HasRoomAgain(), beside.HasRoomAgain()})
	share.Give(rest)
	expect.Same(t, "room again", []bool{true, true}, []bool{i.HasRoomAgain(), beside.HasRoomAgain()})
	i.Begin()
	beside.Begin()
	expect.Same(t, "kept in the end", 0, kept.Kept("team"))
}
