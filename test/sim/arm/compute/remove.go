package compute

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Delete begins to delete a VM. It overtakes whatever is under way. A VM that does not exist is 204 [V recordings].
func (c *Compute) Delete(id doc.ID, force bool) *Answer {
	m := c.find(id)
	if m == nil {
		return &Answer{Status: http.StatusNoContent}
	}
	if m.deleting() {
		return &Answer{Status: http.StatusAccepted, Op: m.op}
	}
	c.World.End(m.op, reply.Preempted())
	m.stop()
	c.state(m, "Deleting")
	m.op = c.World.Begin(id, doc.Text(m.r.Body, "location"))
	takes := c.Times.Delete
	if force {
		takes = c.Times.Force
	}
	op := m.op
	c.later(m, takes, func() {
		if force {
			c.Network.Hold(m.nics())
		}
		c.remove(m)
		c.World.End(op, nil)
	})
	return &Answer{Status: http.StatusAccepted, Op: op}
}

// remove takes a VM away, and with it what its deleteOptions say [D delete.md].
func (c *Compute) remove(m *machine) {
	c.halt(m)
	m.gone = true
	m.power = ""
	m.stop()
	delete(c.machines, m.r.ID.Key())
	c.removeParts(m)
	c.World.Remove(m.r.ID)
	for _, nic := range doc.List(m.r.Body, "properties", "networkProfile", "networkInterfaces") {
		c.Network.Release(doc.Text(nic, "id"), doc.Text(nic, "properties", "deleteOption") == "Delete")
	}
	for _, disk := range m.disks() {
		c.releaseDisk(doc.Text(disk, "managedDisk", "id"), doc.Text(disk, "deleteOption") == "Delete")
	}
}

// vanish is the end of a VM that nobody deleted: a spot VM with policy Delete.
func (c *Compute) vanish(m *machine) {
	op := m.op
	c.remove(m)
	c.World.End(op, reply.Preempted())
}

// Evict takes a spot VM's host away, as its policy says: Deallocate leaves it deallocated, which only its power state shows,
// Delete makes it a 404, also while it is made [V]. It returns false if the VM does not exist or is no spot VM.
func (c *Compute) Evict(id doc.ID) bool {
	m := c.find(id)
	if m == nil || !m.spot {
		return false
	}
	if doc.Same(doc.Text(m.r.Body, "properties", "evictionPolicy"), "Delete") {
		c.vanish(m)
		return true
	}
	c.halt(m)
	m.power = deallocated
	c.diskState(m, "Reserved")
	if m.busy() {
		c.end(m, capacity("OverconstrainedAllocationRequest"))
	}
	c.World.Touch(m.r)
	return true
}

// RemoveGroup forgets the VMs of a group that was deleted by hand.
func (c *Compute) RemoveGroup(subscription, group string) {
	for key, m := range c.machines {
		if doc.Same(m.r.ID.Subscription, subscription) && doc.Same(m.r.ID.Group, group) {
			c.halt(m)
			m.gone = true
			m.stop()
			delete(c.machines, key)
		}
	}
	c.World.RemoveGroup(subscription, group)
}
