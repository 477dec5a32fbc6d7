package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var instanceID = check{
	name:   "instance-id",
	effect: "reads the vCenter's instance UUID, and compares it with that of an earlier run",
	relies: "account.Server in internal/cloud/vsphere/account.go; sameServer in controllers/machine/secrets.go",
	decides: "the UUID is there, the product tells the same, and it is that of the report in earlierReport, from " +
		"before a restore",
	means: "A vCenter that is restored from a backup counts as another one: its machines stop with IdentityMismatch until " +
		"status.vsphere.server and the annotation with the server's UUID are taken away from each.",
	run: func(ctx context.Context, r *runner) outcome {
		system, err := r.witness.systemInfo(ctx)
		if err != nil {
			return unchecked("%v", err)
		}
		server, err := r.account.Server(ctx, cloud.Key{})
		if err != nil {
			return unchecked("the product's account: %v", err)
		}
		seen := map[string]string{"instance": digest(system.InstanceUuid)}
		if system.InstanceUuid == "" || server != system.InstanceUuid {
			return decide(seen, "", "the vCenter tells no instance UUID, or the product another one")
		}
		if r.config.EarlierReport == "" {
			return outcome{notChecked, "the UUID is there; if this vCenter is restored one day, run again with earlierReport", seen}
		}
		earlier, err := readEarlier(r.config.EarlierReport)
		if err != nil {
			return unchecked("%v", err)
		}
		seen["earlier"] = earlier.Instance
		return decide(seen, "it is the same as in the earlier report",
			require(earlier.Instance == seen["instance"], "it is another one than in the earlier report"))
	},
}

func readEarlier(file string) (earlier report, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &earlier)
	}
	if err != nil {
		return earlier, fmt.Errorf("read earlierReport: %w", err)
	}
	return earlier, nil
}

var cloneIdentity = check{
	name:   "clone-identity",
	effect: "makes a VM as the product does, and reads its UUIDs and marks",
	relies: "CloneSpec in internal/cloud/vsphere/request/clonespec.go; byID in internal/cloud/vsphere/look.go",
	decides: "config.uuid and config.instanceUuid are those of the clone's spec, the marks are there, and FindByUuid " +
		"finds the VM at once",
	means: "The provider ID of the Node would not be that of the VM, and a VM might not be found again: do not use " +
		"this release.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		props, err := r.witness.read(ctx, m.ref, "name", "config.uuid", "config.instanceUuid", keyed(markOwner), keyed(markProviderID))
		if err != nil {
			return unchecked("%v", err)
		}
		seen := map[string]string{"seconds to make it": fmt.Sprintf("%.0f", m.took.Seconds())}
		return decide(seen, "the VM has the ids and marks that the clone asked for",
			require(props["config.uuid"] == m.id(), "config.uuid is another one"),
			require(props["config.instanceUuid"] == m.id(), "config.instanceUuid is another one"),
			require(props["name"] == m.Name, "the name is another one"),
			require(option(props[keyed(markOwner)]) == m.Key.String() && option(props[keyed(markProviderID)]) == m.ProviderID,
				"the marks are not there"))
	}),
}

var adapters = check{
	name:    "adapters-connected",
	effect:  "reads the network adapters of the VM",
	relies:  "AdapterChanges in internal/cloud/vsphere/request/adapters.go",
	decides: "each adapter is connected and starts connected",
	means:   "A node comes up without a network: GuestSilent or a join that fails. Send us what the template's adapters have.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		devices, err := property[types.ArrayOfVirtualDevice](ctx, r.witness, m.ref, "config.hardware.device")
		if err != nil {
			return unchecked("%v", err)
		}
		seen, cards, unplugged := map[string]string{}, 0, []string{}
		for _, device := range devices.VirtualDevice {
			card, ok := device.(types.BaseVirtualEthernetCard)
			if !ok {
				continue
			}
			cards++
			name, plug := fmt.Sprintf("adapter %d", cards), card.GetVirtualEthernetCard().Connectable
			seen[name] = strings.TrimPrefix(fmt.Sprintf("%T", device), "*types.")
			if plug == nil || !plug.StartConnected || !plug.Connected {
				unplugged = append(unplugged, name)
			}
		}
		return decide(seen, "all adapters are connected",
			require(cards > 0, "the VM has no adapter"), require(len(unplugged) == 0, "not connected: %s", strings.Join(unplugged, ", ")))
	}),
}

// checkKey is written by this program alone.
const checkKey = "guestinfo.capwin.check"

var keyedPushes = check{
	name:   "keyed-pushes",
	effect: "watches single keys of extraConfig of the VM, and writes to them",
	relies: "setters and paths in internal/cloud/vsphere/seen/vm.go; Watch in internal/cloud/vsphere/watch.go",
	decides: "the filter is not refused, a change comes under the path that was asked for, other keys wake it for " +
		"nothing, and the product sees it",
	means: "The product does not see what guests report: phases are missing and machines are GuestSilent. If the filter is " +
		"refused, nothing works at all: do not use this release.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		return r.watchKeys(ctx, m)
	}),
}

func (r *runner) watchKeys(ctx context.Context, m *machine) outcome {
	path := keyed(checkKey)
	p, err := r.witness.collectListed(ctx, "VirtualMachine", []string{keyed(markOwner), path}, m.ref)
	if err != nil {
		return outcome{doesNot, fmt.Sprintf("the filter is refused: %v", err), nil}
	}
	defer p.free(ctx)
	first, err := p.next(ctx, r.times.settle, func(types.ObjectUpdate) bool { return true })
	if err != nil {
		return unchecked("%v", err)
	}
	hints := r.account.hinted(m.Key)
	if _, err := r.witness.setExtra(ctx, m.ref, checkKey, "one"); err != nil {
		return unchecked("%v", err)
	}
	isOurs := func(u types.ObjectUpdate) bool { return valueIn(u, path) == "one" }
	changed, err := p.next(ctx, r.times.settle, isOurs)
	if err != nil {
		return unchecked("%v", err)
	}
	if _, err := r.witness.setExtra(ctx, m.ref, "capwin.other", "two"); err != nil {
		return unchecked("%v", err)
	}
	quiet, err := p.next(ctx, r.times.poll, func(types.ObjectUpdate) bool { return false })
	if err != nil {
		return unchecked("%v", err)
	}
	seen := map[string]string{
		"first values": paths(first), "after a change": paths(changed), "after a change of another key": paths(quiet),
		"hints of the product": strconv.Itoa(r.account.hinted(m.Key) - hints),
	}
	return decide(seen, "single keys are pushed under their paths",
		require(slices.ContainsFunc(first, func(u types.ObjectUpdate) bool { return valueIn(u, keyed(markOwner)) == m.Key.String() }),
			"the first values lack the mark"),
		require(slices.ContainsFunc(changed, isOurs), "the change did not come"),
		require(!slices.ContainsFunc(quiet, func(u types.ObjectUpdate) bool { return valueIn(u, path) != "" }),
			"a key came that had not changed"),
		r.reportSeen(ctx, m))
}

// reportSeen writes what a guest reports, and has the product see it without being asked for anything but its VM.
func (r *runner) reportSeen(ctx context.Context, m *machine) string {
	vm, err := r.account.Observe(ctx, m.Machine)
	if err != nil {
		return fmt.Sprintf("the product does not see its VM: %v", err)
	}
	if vm.Report != "" {
		return "" // the guest itself reports already, and the product has seen it
	}
	const report = `{"version":1,"uid":"realvcenter"}`
	if _, err := r.witness.setExtra(ctx, m.ref, reportKey, report); err != nil {
		return err.Error()
	}
	err = poll(ctx, r.times.poll, r.times.settle, func(ctx context.Context) (bool, error) {
		vm, err := r.account.Observe(ctx, m.Machine)
		return vm.Report != "", err
	})
	return require(err == nil, "the product did not see the report of a guest: %v", err)
}

func valueIn(u types.ObjectUpdate, path string) string {
	for _, change := range u.ChangeSet {
		if change.Name == path {
			return option(change.Val)
		}
	}
	return ""
}

// paths are the names of what came, each once.
func paths(updates []types.ObjectUpdate) string {
	var names []string
	for _, u := range updates {
		for _, change := range u.ChangeSet {
			names = append(names, change.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

var vmLeaves = check{
	name:   "vm-leaves",
	effect: "removes the VM as the product does, and watches it go",
	relies: "Inventory.Update in internal/cloud/vsphere/inventory; Delete in account.go",
	decides: "the vCenter pushes leave for the VM in a view of all VMs, FindByUuid finds nothing then, and the product " +
		"says that it is gone",
	means: "Deletions are noticed late: machines stay in Deleting until the next look.",
	run: onVM(func(ctx context.Context, r *runner, m *machine) outcome {
		p, err := r.witness.collectVMs(ctx, []string{"name"})
		if err != nil {
			return unchecked("%v", err)
		}
		defer p.free(ctx)
		if _, err := p.next(ctx, r.times.settle, func(u types.ObjectUpdate) bool { return u.Obj == m.ref }); err != nil {
			return unchecked("%v", err)
		}
		if err := m.remove(ctx, r.times.poll); err != nil {
			return unchecked("the VM could not be removed: %v", err)
		}
		isLeave := func(u types.ObjectUpdate) bool { return u.Obj == m.ref && u.Kind == types.ObjectUpdateKindLeave }
		pushed, err := p.next(ctx, r.times.settle, isLeave)
		if err != nil {
			return unchecked("%v", err)
		}
		_, found := r.witness.byUUID(ctx, m.id())
		_, observed := r.account.Observe(ctx, m.Machine)
		seen := map[string]string{"FindByUuid": fmt.Sprint(found), "the product": fmt.Sprint(observed)}
		return decide(seen, "leave was pushed, and the VM is gone",
			require(slices.ContainsFunc(pushed, isLeave), "no leave was pushed"),
			require(isError(found, errNoVM), "FindByUuid still finds it"),
			require(isError(observed, cloud.ErrNotFound), "the product still sees it"))
	}),
}
