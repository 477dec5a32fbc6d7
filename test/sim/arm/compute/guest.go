package compute

import (
	"net/netip"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Guest is the operating system of all VMs. Both methods are called under the lock of the world: they must start what they do and
// return, and must not call back before they returned.
type Guest interface {
	// Boot says that a VM was switched on. A VM that is deallocated and started boots again, with the same Host.ID and VMID.
	Boot(Host)
	// Halt says that a VM was switched off or is gone.
	Halt(vm string)
}

// Host is what a VM's host offers to its guest.
type Host struct {
	ID, VMID, Location, Zone, Size string
	// CPUs and MemoryMiB are those of the size.
	CPUs      int
	MemoryMiB int64
	// What is on the provisioning drive: ovf-env.xml has the names and the password, CustomData.bin the data.
	ComputerName, AdminUsername, AdminPassword string
	CustomData                                 []byte
	// Address tells the first NIC's address as soon as there is one.
	Address func() netip.Addr
	// Report is the host agent: the guest says that it is ready, or why not.
	Report func(ready bool, description string)
	// Write is COM1.
	Write func([]byte)
}

// The longest description that the host agent keeps.
const longestDescription = 512

// Drive is what the guest of a VM finds, for a test that looks at it; empty if there is no such VM.
func (c *Compute) Drive(vm doc.ID) Host {
	if m := c.find(vm); m != nil {
		return c.host(m)
	}
	return Host{}
}

func (c *Compute) host(m *machine) Host {
	body := m.r.Body
	profile := doc.Of(body, "properties", "osProfile")
	h := Host{
		ID: m.r.ID.String(), VMID: doc.Text(body, "properties", "vmId"), Location: doc.Text(body, "location"), Size: m.size.Name,
		CPUs: m.size.Cores, MemoryMiB: int64(m.size.MemoryGB) * 1024,
		ComputerName: doc.Text(profile, "computerName"), AdminUsername: doc.Text(profile, "adminUsername"),
		AdminPassword: m.password, CustomData: m.customData,
	}
	if zones := doc.Texts(body, "zones"); len(zones) > 0 {
		h.Zone = zones[0]
	}
	h.Address = func() (address netip.Addr) {
		c.Enter(func() { address = c.address(m) })
		return address
	}
	h.Report = func(ready bool, description string) {
		c.Enter(func() { c.report(m, ready, description) })
	}
	h.Write = func(line []byte) {
		c.Enter(func() { m.write(c.World.Clock.Now(), line) })
	}
	return h
}

func (c *Compute) address(m *machine) netip.Addr {
	for _, id := range m.nics() {
		if nic := c.World.FindText(id); nic != nil {
			for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
				if a, err := netip.ParseAddr(doc.Text(ip, "properties", "privateIPAddress")); err == nil {
					return a
				}
			}
		}
	}
	return netip.Addr{}
}

// report is what the host agent does with a guest's word: the first one while provisioning is open decides, later ones are
// answered as usual and change nothing [V azure-init, cloud-init; that later ones change nothing is I].
func (c *Compute) report(m *machine, ready bool, description string) {
	if m.gone || m.reported {
		return
	}
	if len(description) > longestDescription {
		description = description[:longestDescription]
	}
	m.reported = true
	late := m.op == nil || m.op.Done()
	switch {
	case late && ready && c.Faults.LateReady && m.timedOut:
		m.failure = nil
		c.state(m, "Succeeded")
	case late:
	case ready:
		c.end(m, nil)
	default:
		c.end(m, osProvisioningFailed(m.r.ID.Name(), description))
	}
}

// boot starts the guest, or its reports.
func (c *Compute) boot(m *machine) {
	if c.Guest != nil {
		c.Guest.Boot(c.host(m))
		return
	}
	m.write(c.World.Clock.Now(), []byte("<INF>The EMS/SAC is aware that setup is done.\r\n"))
	if m.reported || c.Faults.Silent {
		return
	}
	failing := c.Faults.Failing
	// Not one of the VM's alarms, which end with its provisioning: a guest may report after that.
	c.World.Clock.After(c.Times.Ready, func() {
		if m.power == running {
			c.report(m, failing == "", failing)
		}
	})
}

func (c *Compute) halt(m *machine) {
	if c.Guest != nil && m.power == running {
		c.Guest.Halt(m.r.ID.String())
	}
}

// state writes the provisioning state.
func (c *Compute) state(m *machine, state string) {
	doc.Set(m.r.Body, state, "properties", "provisioningState")
	c.World.Touch(m.r)
}
