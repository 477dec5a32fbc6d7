package compute

import (
	"net/http"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// The parts of a VM: what its agent does for other clients. They go with their VM [D].
const (
	Extension  = VM + "/extensions"
	RunCommand = VM + "/runCommands"
)

// How long the agent takes for a part, and how long Azure waits for it: extensionsTimeBudget's default [D].
const (
	partWork   = 20 * time.Second
	partBudget = 90 * time.Minute
)

// PutPart asks the agent of a VM for an extension or a run command.
func (c *Compute) PutPart(id doc.ID, body doc.Object) (*Answer, *reply.Error) {
	m := c.find(parent(id))
	kind := partName(id)
	switch {
	case m == nil:
		return nil, reply.ParentNotFound("write", strings.TrimPrefix(id.Type(), Provider+"/"), parent(id).String())
	case m.deleting():
		return nil, reply.BeingDeleted("Create or Update "+kind, m.r.ID.Name())
	case doc.Get(m.r.Body, "properties", "osProfile", "allowExtensionOperations") == false,
		doc.Get(m.r.Body, "properties", "osProfile", "windowsConfiguration", "provisionVMAgent") == false:
		return nil, reply.ExtensionsDisallowed()
	case m.power != running:
		return nil, reply.New(http.StatusConflict, "OperationNotAllowed", "Cannot modify extensions in the VM when the VM is not "+
			"running.") // [D]
	}
	if other := c.sameHandler(id, body); other != "" {
		return nil, reply.New(http.StatusBadRequest, "BadRequest", "Multiple VMExtensions per handler not supported for OS type "+
			"'Windows'. VMExtension '%s' with handler '%s' already added or specified in input.", other, handler(body)) // [D]
	}
	status := http.StatusOK
	if c.World.Find(id) == nil {
		status = http.StatusCreated
	}
	m.extended = true
	shown := doc.Clone(body)
	for _, hidden := range []string{"protectedSettings", "protectedParameters", "runAsPassword"} {
		doc.Remove(shown, "properties", hidden)
	}
	doc.Set(shown, "Creating", "properties", "provisioningState")
	r := c.World.Put(id, shown)
	op := c.World.Begin(id, doc.Text(m.r.Body, "location"))
	c.work(m, r, op)
	return &Answer{Status: status, Body: c.ViewPart(r, true), Op: op}, nil
}

// work has the agent do its part, or Azure give up on an agent that is not there.
func (c *Compute) work(m *machine, r *world.Resource, op *world.Operation) {
	c.World.Clock.After(partWork, func() {
		if c.World.Find(r.ID) == r && m.reported && m.failure == nil && m.power == running {
			c.endPart(r, op, nil)
		}
	})
	c.World.Clock.After(partBudget, func() {
		if c.World.Find(r.ID) == r && !op.Done() {
			c.endPart(r, op, reply.New(http.StatusConflict, "VMExtensionProvisioningTimeout", "Provisioning of VM extension '%s' has "+
				"timed out. Extension installation may be taking too long, or extension status could not be obtained.", r.ID.Name()))
		}
	})
}

func (c *Compute) endPart(r *world.Resource, op *world.Operation, failure *reply.Error) {
	state := "Succeeded"
	if failure != nil {
		state = "Failed"
	}
	doc.Set(r.Body, state, "properties", "provisioningState")
	c.World.Touch(r)
	c.World.End(op, failure)
}

// DeletePart takes a part away from its VM; no operation if there is none.
func (c *Compute) DeletePart(id doc.ID) (*world.Operation, *reply.Error) {
	m, r := c.find(parent(id)), c.World.Find(id)
	switch {
	case m == nil:
		return nil, reply.ParentNotFound("delete", strings.TrimPrefix(id.Type(), Provider+"/"), parent(id).String())
	case r == nil:
		return nil, nil
	}
	doc.Set(r.Body, "Deleting", "properties", "provisioningState")
	op := c.World.Begin(id, doc.Text(m.r.Body, "location"))
	c.World.Clock.After(partWork, func() {
		c.World.Remove(id)
		c.World.End(op, nil)
	})
	return op, nil
}

// Parts are the extensions or run commands of a VM.
func (c *Compute) Parts(vm doc.ID, kind string) (all []doc.Object) {
	for _, r := range c.World.List(world.Kind{Type: kind, Under: vm.Key()}) {
		all = append(all, c.ViewPart(r, false))
	}
	return all
}

// ViewPart is a part as ARM shows it. What a run command did is in its instance view only [D].
func (c *Compute) ViewPart(r *world.Resource, instance bool) doc.Object {
	body := doc.Clone(r.Body)
	body["id"], body["name"], body["type"] = c.World.Shown(r.ID), r.ID.Name(), r.ID.Type()
	if instance && r.ID.Is(RunCommand) {
		state := map[string]string{"Creating": "Running", "Succeeded": "Succeeded", "Failed": "TimedOut"}
		doc.Set(body, doc.Object{
			"executionState": state[doc.Text(body, "properties", "provisioningState")], "exitCode": 0, "output": "", "error": "",
		}, "properties", "instanceView")
	}
	return body
}

// removeParts ends what the agent of a VM did.
func (c *Compute) removeParts(m *machine) {
	if !m.extended {
		return
	}
	for _, kind := range []string{Extension, RunCommand} {
		for _, r := range c.World.All(world.Kind{Type: kind, Under: m.r.ID.Key()}) {
			c.World.Remove(r.ID)
		}
	}
}

// sameHandler is the extension of the VM that has the handler already: Windows takes one of each.
func (c *Compute) sameHandler(id doc.ID, body doc.Object) string {
	if !id.Is(Extension) {
		return ""
	}
	for _, r := range c.World.All(world.Kind{Type: Extension, Under: parent(id).Key()}) {
		if r.ID.Key() != id.Key() && doc.Same(handler(r.Body), handler(body)) {
			return r.ID.Name()
		}
	}
	return ""
}

func handler(body doc.Object) string {
	return doc.Text(body, "properties", "publisher") + "." + doc.Text(body, "properties", "type")
}

func partName(id doc.ID) string {
	if id.Is(RunCommand) {
		return "VM Run Command"
	}
	return "VM Extension"
}

func parent(id doc.ID) doc.ID {
	id.Types, id.Names = id.Types[:1], id.Names[:1]
	return id
}
