package armsim

import (
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Copy gives a VM that runs copies, with NICs and disks. Each of texts turns a text of the VM's into a copy's.
func (c *Cloud) Copy(vm doc.ID, texts []func(string) string) {
	c.Change(func(w *Inside) { w.Compute.Copy(vm, texts) })
}

// Evict takes the host of a spot VM away. It returns false if there is no such spot VM.
func (c *Cloud) Evict(vm doc.ID) (done bool) {
	c.Change(func(w *Inside) { done = w.Compute.Evict(vm) })
	return done
}

// Shutdown switches a VM off from inside.
func (c *Cloud) Shutdown(vm doc.ID) { c.Change(func(w *Inside) { w.Compute.Stop(vm) }) }

// DeleteGroup takes a group and all that is in it away, at once.
func (c *Cloud) DeleteGroup(group string) {
	c.Change(func(w *Inside) { w.Compute.RemoveGroup(Subscription, group) })
}

// AddGroup makes a group.
func (c *Cloud) AddGroup(subscription, group string) {
	c.Change(func(w *Inside) { w.World.AddGroup(subscription, group, Location) })
}

// ShowGroup has ids in answers write a group's name another way.
func (c *Cloud) ShowGroup(group, as string) {
	c.Change(func(w *Inside) { w.World.Group(Subscription, group).Shown = as })
}

// Lock puts a lock against deletion at a scope; Unlock takes all locks away.
func (c *Cloud) Lock(scope string) { c.Change(func(w *Inside) { w.locks = append(w.locks, scope) }) }

// Unlock takes all locks away.
func (c *Cloud) Unlock() { c.Change(func(w *Inside) { w.locks = nil }) }

// Vanish removes a resource without a word, as a person with the portal does.
func (c *Cloud) Vanish(id doc.ID) {
	c.Change(func(w *Inside) {
		w.Compute.Vanished(id)
		w.World.Remove(id)
	})
}

// Names lists the resources of a type in a group, past all lag.
func (c *Cloud) Names(group, kind string) (names []string) {
	c.Change(func(w *Inside) {
		for _, r := range w.World.All(world.Kind{Type: kind, Subscription: Subscription, Group: group}) {
			names = append(names, r.ID.Name())
		}
	})
	return names
}
