package compute

import (
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// disks are the OS disk and the data disks of a VM.
func (m *machine) disks() []doc.Object {
	profile := doc.Of(m.r.Body, "properties", "storageProfile")
	all := doc.List(profile, "dataDisks")
	if os := doc.Of(profile, "osDisk"); os != nil {
		all = append([]doc.Object{os}, all...)
	}
	return all
}

// diskNames refuses names that are taken, and disks that do not exist or have a VM.
func (c *Compute) diskNames(r Request) *reply.Error {
	profile := doc.Of(r.Body, "properties", "storageProfile")
	all := doc.List(profile, "dataDisks")
	if os := doc.Of(profile, "osDisk"); os != nil {
		all = append(all, os)
	}
	for _, d := range all {
		if doc.Same(doc.Text(d, "createOption"), "Attach") {
			if refused := c.attachable(r.ID, doc.Text(d, "managedDisk", "id")); refused != nil {
				return refused
			}
			continue
		}
		name := doc.Text(d, "name")
		if name != "" && c.World.Find(diskID(r.ID, name)) != nil {
			return reply.DiskExists(name, r.ID.Group)
		}
	}
	return nil
}

func (c *Compute) attachable(vm doc.ID, id string) *reply.Error {
	disk := c.World.FindText(id)
	if disk == nil {
		return reply.New(404, "NotFound", "Disk %s is not found.", id).At("dataDisk.managedDisk.id")
	}
	if owner := doc.Text(disk.Body, "managedBy"); owner != "" && !doc.Same(owner, vm.String()) {
		return reply.New(409, "ConflictingUserInput", "Disk '%s' cannot be attached as the disk is already owned by VM '%s'.", // [D]
			disk.ID.Name(), owner)
	}
	return nil
}

func diskID(vm doc.ID, name string) doc.ID {
	return doc.Resource(vm.Subscription, vm.Group, Provider, "disks", name)
}

// makeDisks makes the disks of a VM. An ephemeral OS disk is no resource [D].
func (c *Compute) makeDisks(m *machine) {
	for _, d := range m.disks() {
		if doc.Has(d, "diffDiskSettings") {
			continue
		}
		id := diskID(m.r.ID, doc.Text(d, "name"))
		if doc.Same(doc.Text(d, "createOption"), "Attach") {
			id, _ = doc.ParseID(doc.Text(d, "managedDisk", "id"))
		}
		if c.World.Find(id) == nil {
			c.World.Put(id, c.disk(m, d))
		}
		r := c.World.Find(id)
		r.Body["managedBy"] = m.r.ID.String()
		doc.Set(d, id.String(), "managedDisk", "id")
	}
	c.diskState(m, "Attached")
}

// disk is a disk as ARM shows it. It gets the VM's tags when it is made with the VM, and no later ones
// (terraform-provider-azurerm #8162, azure-sdk-for-js #17787).
func (c *Compute) disk(m *machine, d doc.Object) doc.Object {
	kind := doc.Text(d, "managedDisk", "storageAccountType")
	if kind == "" {
		kind = "Standard_LRS"
		if m.size.Premium {
			kind = "Premium_LRS"
		}
		doc.Set(d, kind, "managedDisk", "storageAccountType")
	}
	gb := max(doc.Number(d, "diskSizeGB"), 1)
	body := doc.Object{
		"location": doc.Text(m.r.Body, "location"), "sku": doc.Object{"name": kind, "tier": "Premium"},
		"properties": doc.Object{
			"creationData": doc.Object{"createOption": doc.Text(d, "createOption")}, "diskSizeGB": gb, "diskSizeBytes": gb << 30,
		},
	}
	c.shapeDisk(body)
	if zones := doc.Texts(m.r.Body, "zones"); zones != nil {
		body["zones"] = texts(zones...)
	}
	if tags := doc.Of(m.r.Body, "tags"); tags != nil && !c.Faults.UntaggedDisks {
		body["tags"] = doc.Clone(tags)
	}
	if os := doc.Text(d, "osType"); os != "" {
		doc.Set(body, os, "properties", "osType")
	}
	return body
}

// diskState: Attached while the VM runs, Reserved when it is deallocated [D].
func (c *Compute) diskState(m *machine, state string) {
	for _, d := range m.disks() {
		if r := c.World.FindText(doc.Text(d, "managedDisk", "id")); r != nil && state != "" {
			doc.Set(r.Body, state, "properties", "diskState")
			c.World.Touch(r)
		}
	}
}

func (c *Compute) releaseDisk(id string, remove bool) {
	r := c.World.FindText(id)
	if r == nil {
		return
	}
	delete(r.Body, "managedBy")
	doc.Set(r.Body, "Unattached", "properties", "diskState")
	c.World.Touch(r)
	if remove && !c.Faults.LeaveDisks {
		c.World.Remove(r.ID)
	}
}

// DeleteDisk begins to delete a disk; nil means that there was none.
func (c *Compute) DeleteDisk(id doc.ID) (*world.Operation, *reply.Error) {
	r := c.World.Find(id)
	if r == nil {
		return nil, nil
	}
	if vm := doc.Text(r.Body, "managedBy"); vm != "" {
		return nil, reply.New(409, "OperationNotAllowed", "Disk %s is attached to VM %s.", id.Name(), vm) // [V]
	}
	op := c.World.Begin(id, doc.Text(r.Body, "location"))
	c.World.Clock.After(c.Times.Update, func() {
		c.World.Remove(id)
		c.World.End(op, nil)
	})
	return op, nil
}
