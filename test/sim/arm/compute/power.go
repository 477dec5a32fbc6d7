package compute

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// The power states [D states-billing.md], as the code PowerState/... names them.
const (
	starting     = "starting"
	running      = "running"
	stopping     = "stopping"
	stopped      = "stopped"
	deallocating = "deallocating"
	deallocated  = "deallocated"
)

// action is a POST that changes the power state, or nothing that shows.
type action struct {
	name, meanwhile, after string
}

var actions = map[string]action{
	"start":      {"Start VM", starting, running},
	"restart":    {"Restart VM", running, running},
	"redeploy":   {"Redeploy VM", running, running},
	"reapply":    {"Reapply VM", "", ""},
	"poweroff":   {"Stop VM", stopping, stopped},
	"deallocate": {"Deallocate VM", deallocating, deallocated},
}

// Act does an action. known is false if there is none of that name.
func (c *Compute) Act(id doc.ID, name string) (answer *Answer, refused *reply.Error, known bool) {
	m, a := c.find(id), actions[name]
	switch {
	case a.name == "":
		return nil, nil, false
	case m == nil:
		return nil, reply.ResourceNotFound(VM, id.Name(), id.Group), true
	case m.deleting():
		return nil, reply.BeingDeleted(a.name, id.Name()), true
	case m.busy():
		return nil, reply.Busy(a.name, id.Name()), true
	}
	m.op = c.World.Begin(id, doc.Text(m.r.Body, "location"))
	c.state(m, "Updating")
	before := m.power
	if a.meanwhile != "" && before != a.after {
		m.power = a.meanwhile
	}
	c.later(m, c.Times.Power, func() { c.acted(m, a, before) })
	return &Answer{Status: http.StatusAccepted, Op: m.op}, nil, true
}

// acted is the end of an action. What fails stays failed: a reapply of a VM that could not be made does not make it.
func (c *Compute) acted(m *machine, a action, before string) {
	if a.after == running && before != running && c.Faults.Full != nil {
		if code := c.Faults.Full(m.size.Name, m.zone()); code != "" {
			m.power = before
			c.end(m, capacity(code))
			return
		}
	}
	if a.after != "" && a.after != before {
		m.power = before
		c.switchTo(m, a.after)
	}
	c.end(m, nil)
}

func (c *Compute) switchTo(m *machine, power string) {
	if power != running {
		c.halt(m)
	}
	m.power = power
	states := map[string]string{running: "Attached", stopped: "Attached", deallocated: "Reserved"} // [D]
	c.diskState(m, states[power])
	if power == running {
		c.boot(m)
	}
	c.World.Touch(m.r)
}

// Stop switches a VM off from inside, as a shutdown in the guest does: its host stays, and only its power state shows it.
func (c *Compute) Stop(id doc.ID) {
	if m := c.find(id); m != nil {
		c.switchTo(m, stopped)
	}
}
