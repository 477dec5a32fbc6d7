package compute

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/world"
)

// Copy adds a copy of a VM whose guest has reported, with its NICs and disks, as if it had been made at the same time. text turns
// each text of theirs into the copy's: their names must have the VM's name in them. To ask for thousands of VMs takes an hour, and
// a test of what is there long since has no use for it.
func (c *Compute) Copy(vm doc.ID, text func(string) string) {
	of := c.find(vm)
	m := *of
	m.serial = slices.Clone(of.serial)
	m.r = c.World.Copy(of.r, text, doc.Change(of.r.Body, text))
	doc.Set(m.r.Body, c.World.UUID(), "properties", "vmId")
	c.machines[m.r.ID.Key()] = &m
	for _, nic := range of.nics() {
		c.Network.Copy(c.World.FindText(nic), text)
	}
	for _, d := range of.disks() {
		c.copyDisk(c.World.FindText(doc.Text(d, "managedDisk", "id")), text)
	}
}

func (c *Compute) copyDisk(of *world.Resource, text func(string) string) {
	body := doc.Change(of.Body, text)
	doc.Set(body, c.World.UUID(), "properties", "uniqueId")
	c.World.Copy(of, text, body)
}
