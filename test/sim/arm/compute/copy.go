package compute

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Copy adds copies of a VM whose guest has reported, with their NICs and disks, as if they had been made at the same time. Each
// of texts turns what is the VM's into a copy's: names of NICs and disks must have the VM's name in them. To ask for thousands of
// VMs takes an hour, and a test of what is there long since has no use for it.
func (c *Compute) Copy(vm doc.ID, texts []func(string) string) {
	of := c.find(vm)
	for _, text := range texts {
		m := *of
		m.serial = slices.Clone(of.serial)
		m.r = c.World.Copy(of.r, text, doc.Change(of.r.Body, text))
		doc.Set(m.r.Body, c.World.UUID(), "properties", "vmId")
		c.machines[m.r.ID.Key()] = &m
	}
	for _, nic := range of.nics() {
		c.Network.Copy(c.World.FindText(nic), texts)
	}
	for _, d := range of.disks() {
		c.copyDisk(c.World.FindText(doc.Text(d, "managedDisk", "id")), texts)
	}
}

func (c *Compute) copyDisk(of *world.Resource, texts []func(string) string) {
	for _, text := range texts {
		body := doc.Change(of.Body, text)
		doc.Set(body, c.World.UUID(), "properties", "uniqueId")
		c.World.Copy(of, text, body)
	}
}
