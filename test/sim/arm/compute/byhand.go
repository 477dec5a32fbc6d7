package compute

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Moved says that a VM has got another id.
func (c *Compute) Moved(from, to doc.ID) {
	if m := c.machines[from.Key()]; m != nil {
		delete(c.machines, from.Key())
		c.machines[to.Key()] = m
	}
}

// Vanished takes over that somebody removed a VM without an operation: its guest is gone, and a deletion finds nothing.
func (c *Compute) Vanished(id doc.ID) {
	if m := c.find(id); m != nil {
		c.halt(m)
		m.gone = true
		delete(c.machines, id.Key())
	}
}

// AddDisk makes an empty disk that no VM has.
func (c *Compute) AddDisk(id doc.ID, location string) {
	c.World.Put(id, c.shapeDisk(doc.Object{
		"location": location, "sku": doc.Object{"name": "Premium_LRS", "tier": "Premium"},
		"properties": doc.Object{"creationData": doc.Object{"createOption": "Empty"}, "diskSizeGB": 128, "diskSizeBytes": 128 << 30},
	}))
	doc.Set(c.World.Find(id).Body, "Unattached", "properties", "diskState")
}

// PutDisk makes an empty disk, or changes its tags and its size: a PUT replaces what can be changed.
func (c *Compute) PutDisk(id doc.ID, body doc.Object) *Answer {
	location := normal(doc.Text(body, "location"))
	r := c.World.Find(id)
	if r == nil {
		c.AddDisk(id, location)
		r = c.World.Find(id)
	}
	if gb := doc.Number(body, "properties", "diskSizeGB"); gb > 0 {
		doc.Set(r.Body, gb, "properties", "diskSizeGB")
		doc.Set(r.Body, gb<<30, "properties", "diskSizeBytes")
	}
	delete(r.Body, "tags")
	for _, field := range []string{"tags", "zones", "sku"} {
		if v, sent := body[field]; sent {
			r.Body[field] = v
		}
	}
	c.World.Touch(r)
	op := c.World.Begin(id, location)
	c.World.Clock.After(c.Times.Update, func() { c.World.End(op, nil) })
	return &Answer{Status: http.StatusAccepted, Body: doc.Clone(r.Body), Op: op} // [V recordings]
}

// shapeDisk adds what the platform adds to a disk.
func (c *Compute) shapeDisk(body doc.Object) doc.Object {
	for field, value := range map[string]any{
		"provisioningState": "Succeeded", "timeCreated": world.Time(c.World.Clock.Now()), "uniqueId": c.World.UUID(),
		"encryption": doc.Object{"type": "EncryptionAtRestWithPlatformKey"}, "networkAccessPolicy": "AllowAll",
	} {
		doc.Set(body, value, "properties", field)
	}
	return body
}
