// Package compute is the compute provider: VMs with their life, their disks, images and sizes. Sources of what it does are named
// where it does it: [D] Microsoft's documentation, [V] clients' sources, recordings of the SDK or reports, [I] our guess, which a
// setting changes.
//
//	compute.go   what there is, faults and times
//	put.go       PUT of a VM: what is refused at once
//	life.go      what happens to a VM by itself
//	remove.go    DELETE and its cascade, evictions
//	power.go     power states and the actions that change them
//	parts.go     extensions and run commands
//	view.go      how a VM is shown
//	guest.go     the seam to a guest
//	copy.go      VMs that are there without a PUT
//	byhand.go    what people do beside us: moves, disks of their own
//	disks.go, images.go, skus.go, bootlog.go
package compute

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// The types that have behaviour.
const (
	Provider = "Microsoft.Compute"
	VM       = Provider + "/virtualMachines"
	Disk     = Provider + "/disks"
)

// Times are how long things take.
type Times struct {
	// From an accepted PUT on: NIC and disks exist, capacity is found or not, the VM runs.
	Network, Allocate, Boot time.Duration
	// Ready is how long after its boot a guest reports, if no real guest is there.
	Ready time.Duration
	// Limit is when provisioning ends without a report: 40 minutes [D custom-data.md].
	Limit time.Duration
	// Delete and Force are how long a deletion takes, without and with forceDeletion; Update and Power what other operations take.
	Delete, Force, Update, Power time.Duration
	// BootLog is how late the boot log shows what a guest wrote.
	BootLog time.Duration
}

// Faults are what goes wrong, until they are set back.
type Faults struct {
	// Full names the error of sizes without capacity in a zone ("" without zones); nil or "" is capacity.
	Full func(size, zone string) string
	// Restricted says which sizes this subscription may not use in a zone. The list of SKUs says so, too.
	Restricted func(size, zone string) bool
	// Cores are the quotas per family, and AllCores that of all families together; one that is not in it has plenty. SpotCores is
	// the quota of spot, nil for plenty.
	Cores     map[string]int
	SpotCores *int
	// Policy names the policy assignment that forbids a VM, "" for none.
	Policy func(vm doc.ID, body doc.Object) string
	// Silent guests never report. Failing is what guests report as failure.
	Silent  bool
	Failing string
	// Preempting has a PUT overtake a running operation; without it a PUT is refused meanwhile.
	Preempting bool
	// LateReady has a guest that reports after the limit turn the VM back to Succeeded. No document says so [I].
	LateReady bool
	// LeaveDisks has the cascade of a deletion leave disks.
	LeaveDisks bool
	// UntaggedDisks has new disks lack the tags of their VM.
	UntaggedDisks bool
	// RefuseInline is a cloud that knows no networkInterfaceConfigurations on a VM [I].
	RefuseInline bool
	// HideVMID is a cloud that does not tell vmId.
	HideVMID bool
	// IgnorePreconditions is a cloud that ignores If-None-Match, whatever the api-version.
	IgnorePreconditions bool
}

// AllCores is what the list of quotas calls that of a region, whatever the family of a size [D].
const AllCores = "cores"

// Compute is the provider.
type Compute struct {
	World   *world.World
	Network *network.Network
	Times   Times
	Faults  Faults
	// Guest boots in each VM. Without one, guests are only their reports.
	Guest Guest
	// Enter runs a function under the lock of the world. A guest's reports come through it.
	Enter func(func())

	machines map[string]*machine
	images   []Image
}

// New returns the provider with usual times.
func New(w *world.World, n *network.Network) *Compute {
	return &Compute{
		World: w, Network: n, machines: map[string]*machine{}, Enter: func(do func()) { do() },
		Times: Times{
			Network: 5 * time.Second, Allocate: 15 * time.Second, Boot: 30 * time.Second, Ready: 4 * time.Minute, Limit: 40 * time.Minute,
			Delete: 40 * time.Second, Force: 15 * time.Second, Update: 5 * time.Second, Power: 20 * time.Second, BootLog: time.Minute,
		},
	}
}

// Answer is what the server says to an accepted request.
type Answer struct {
	Status int
	Body   doc.Object
	Op     *world.Operation
}

// Find returns a VM as its owner sees it, past all lag.
func (c *Compute) find(id doc.ID) *machine { return c.machines[id.Key()] }

// Region is where a VM is, "" if it does not exist.
func (c *Compute) Region(id doc.ID) string {
	if r := c.World.Find(id); r != nil {
		return doc.Text(r.Body, "location")
	}
	return ""
}

// cores adds up what VMs of a family use.
func (c *Compute) cores(is func(*machine) bool) int {
	sum := 0
	for _, m := range c.machines {
		if is(m) {
			sum += m.size.Cores
		}
	}
	return sum
}

// quota refuses a VM for which there are no cores left. Spot VMs have a quota of their own [D].
func (c *Compute) quota(id doc.ID, location string, size Size, spot bool) *reply.Error {
	if spot {
		if c.Faults.SpotCores == nil {
			return nil
		}
		used := c.cores(func(m *machine) bool { return m.spot && doc.Same(m.r.ID.Subscription, id.Subscription) })
		if used+size.Cores > *c.Faults.SpotCores {
			return reply.QuotaExceeded("LowPriorityCores", location, *c.Faults.SpotCores, used, size.Cores)
		}
		return nil
	}
	limit, limited := c.Faults.Cores[size.Family]
	used := c.cores(func(m *machine) bool {
		return !m.spot && m.size.Family == size.Family && doc.Same(m.r.ID.Subscription, id.Subscription)
	})
	if limited && used+size.Cores > limit {
		return reply.QuotaExceeded(size.Family, location, limit, used, size.Cores)
	}
	limit, limited = c.Faults.Cores[AllCores]
	all := c.cores(func(m *machine) bool { return !m.spot && doc.Same(m.r.ID.Subscription, id.Subscription) })
	if limited && all+size.Cores > limit {
		return reply.QuotaExceeded("Total Regional", location, limit, all, size.Cores)
	}
	return nil
}
