package compute

import (
	"net/http"
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/clock"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// machine is a VM with what its resource does not show.
type machine struct {
	r    *world.Resource
	size Size
	spot bool
	born time.Time
	// configs are the inline NICs that were asked for. image is what the disk is made of.
	configs []doc.Object
	image   Image

	op     *world.Operation
	alarms []*clock.Alarm
	// power is the power state, "" until there is one.
	power string
	// failure is why provisioning failed. reported says that the guest's word has been taken, timedOut that it came too late.
	failure                  *reply.Error
	reported, timedOut, gone bool
	// extended says that there have been parts.
	extended bool

	customData []byte
	password   string
	serial     []written
}

func (m *machine) provisioning() string { return doc.Text(m.r.Body, "properties", "provisioningState") }
func (m *machine) deleting() bool       { return m.provisioning() == "Deleting" }
func (m *machine) busy() bool           { return m.op != nil && !m.op.Done() }

// stop forgets what was to happen.
func (m *machine) stop() {
	for _, a := range m.alarms {
		a.Stop()
	}
	m.alarms = nil
}

func (m *machine) nics() []string {
	var all []string
	for _, nic := range doc.List(m.r.Body, "properties", "networkProfile", "networkInterfaces") {
		all = append(all, doc.Text(nic, "id"))
	}
	return all
}

func (m *machine) zone() string {
	if zones := doc.Texts(m.r.Body, "zones"); len(zones) > 0 {
		return zones[0]
	}
	return ""
}

func (c *Compute) later(m *machine, d time.Duration, what func()) {
	m.alarms = append(m.alarms, c.World.Clock.After(d, what))
}

// live plans a VM's way from an accepted PUT to the end of provisioning. Power is on before provisioning ends, and Creating lasts
// until the guest reports [D states-billing.md].
func (c *Compute) live(m *machine) {
	c.later(m, c.Times.Network, func() {
		c.makeNICs(m)
		c.makeDisks(m)
	})
	c.later(m, c.Times.Allocate, func() { c.allocate(m) })
	c.later(m, c.Times.Boot, func() { c.turnOn(m) })
	c.later(m, c.Times.Limit, func() {
		m.timedOut = true
		c.end(m, osProvisioningTimedOut(m.r.ID.Name()))
	})
}

// makeNICs makes the inline NICs and binds the others.
func (c *Compute) makeNICs(m *machine) {
	profile := doc.Of(m.r.Body, "properties", "networkProfile")
	for i, nic := range doc.List(profile, "networkInterfaces") {
		if id, ok := doc.ParseID(doc.Text(nic, "id")); ok && c.World.Find(id) != nil {
			c.Network.Attach(id, m.r.ID, doc.Flag(nic, "properties", "primary") || i == 0)
		}
	}
	var references []any
	for i, config := range m.configs {
		primary := doc.Flag(config, "properties", "primary") || len(m.configs) == 1
		doc.Set(m.configs[i], primary, "properties", "primary")
		id := c.Network.Inline(m.r.ID, doc.Text(m.r.Body, "location"), config)
		option := doc.Text(config, "properties", "deleteOption")
		if option == "" {
			option = "Delete" // the default of inline NICs [D]
		}
		references = append(references, doc.Object{
			"id": id.String(), "properties": doc.Object{"primary": primary, "deleteOption": option},
		})
	}
	if references != nil {
		doc.Set(m.r.Body, references, "properties", "networkProfile", "networkInterfaces")
	}
	c.World.Touch(m.r)
}

// allocate finds a host, or not: then the VM stays, Failed, and its NICs are reserved for three minutes [V].
func (c *Compute) allocate(m *machine) {
	if slices.ContainsFunc(m.nics(), c.Network.Held) {
		c.end(m, capacity("NetworkingInternalOperationError"))
		return
	}
	if c.Faults.Full == nil {
		return
	}
	code := c.Faults.Full(m.size.Name, m.zone())
	if code == "" {
		return
	}
	m.stop()
	for _, nic := range m.nics() {
		c.Network.Reserve(nic, m.r.ID)
	}
	if code == "VanishedSpot" {
		c.vanish(m) // eviction with policy Delete while the VM is made (scylla-cluster-tests #15199) [V]
		return
	}
	c.end(m, capacity(code))
}

// turnOn starts the VM.
func (c *Compute) turnOn(m *machine) {
	m.power = running
	for _, nic := range m.nics() {
		c.Network.Power(nic)
	}
	c.diskState(m, "Attached")
	c.World.Touch(m.r)
	c.boot(m)
}

// end finishes the operation that is under way and says how it went.
func (c *Compute) end(m *machine, failure *reply.Error) {
	if m.gone {
		return
	}
	if failure == nil {
		m.failure = nil
		c.state(m, "Succeeded")
	} else {
		m.failure = failure
		c.state(m, "Failed")
	}
	m.stop()
	c.World.End(m.op, failure)
}

// What a failed provisioning says [D error-messages].
func osProvisioningTimedOut(vm string) *reply.Error {
	return reply.New(http.StatusConflict, "OSProvisioningTimedOut", "OS Provisioning for VM '%s' did not finish in the allotted "+
		"time. The "+
		"VM may still finish provisioning successfully. Please check provisioning state later. Also, make sure the image has been "+
		"properly prepared (generalized).\r\n * Instructions for Windows: "+
		"https://azure.microsoft.com/documentation/articles/virtual-machines-windows-upload-image/ \r\n * Instructions for Linux: "+
		"https://azure.microsoft.com/documentation/articles/virtual-machines-linux-capture-image/ ", vm)
}

func osProvisioningFailed(vm, description string) *reply.Error {
	return reply.New(http.StatusConflict, "OSProvisioningClientError", "OS provisioning for VM '%s' failed. Error details: %s "+
		"Make sure "+
		"the image has been properly prepared (generalized).\r\n * Instructions for Windows: "+
		"https://azure.microsoft.com/documentation/articles/virtual-machines-windows-upload-image/ ", vm, description)
}

// capacity are the words of a failed allocation [D allocation-failure, V].
func capacity(code string) *reply.Error {
	texts := map[string]string{
		"AllocationFailed": "Allocation failed. We do not have sufficient capacity for the requested VM size in this region. Read " +
			"more about improving likelihood of allocation success at http://aka.ms/allocation-guidance",
		"ZonalAllocationFailed": "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. " +
			"Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance",
		"OverconstrainedAllocationRequest": "Allocation failed. VM(s) with the following constraints cannot be allocated, because " +
			"the condition is too restrictive. Please remove some constraints and try again. Constraints applied are:\n  - VM Size",
		"OverconstrainedZonalAllocationRequest": "Allocation failed. VM(s) with the following constraints cannot be allocated, " +
			"because the condition is too restrictive. Please remove some constraints and try again. Constraints applied are:\n  - " +
			"Availability Zone\n  - VM Size",
		"VMStartTimedOut": "VM did not start in the allotted time. The VM may still start successfully. Please " +
			"check the power state later.",
		"InternalExecutionError":           "An internal execution error occurred. Please retry later.",
		"NetworkingInternalOperationError": "An internal error occurred in processing network profile of the VM.",
	}
	text, ok := texts[code]
	if !ok {
		text = "The operation failed."
	}
	return reply.New(http.StatusConflict, code, "%s", text)
}
