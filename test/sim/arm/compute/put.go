package compute

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Request is a PUT or PATCH of a VM that front door and rules let through.
type Request struct {
	ID                   doc.ID
	Body                 doc.Object
	Version              string // api-version
	IfMatch, IfNoneMatch string
}

// The api-versions from which on a VM has preconditions, and shows its etag (azure-rest-api-specs PR #26368, issue #27527) [V].
// Older ones ignore the headers without a word.
const (
	preconditionsSince = "2023-09-01"
	etagsSince         = "2024-03-01"
)

// Put makes a VM, or merges into the one that is there.
func (c *Compute) Put(r Request) (*Answer, *reply.Error) {
	m := c.find(r.ID)
	if m == nil && r.IfMatch != "" && r.preconditions() {
		return nil, reply.EtagMismatch(r.IfMatch, `""`)
	}
	if m == nil {
		return c.create(r)
	}
	if refused := c.preconditions(r, m); refused != nil {
		return nil, refused
	}
	return c.update(r, m)
}

func (r Request) preconditions() bool { return r.Version >= preconditionsSince }

func (c *Compute) preconditions(r Request, m *machine) *reply.Error {
	switch {
	case !r.preconditions() || c.Faults.IgnorePreconditions:
		return nil
	case r.IfNoneMatch == "*":
		return reply.PreconditionFailed(r.ID.Name())
	case r.IfMatch != "" && r.IfMatch != "*" && r.IfMatch != m.r.Etag():
		return reply.EtagMismatch(r.IfMatch, m.r.Etag())
	}
	return nil
}

// create checks all that is checked before 201. What it refuses leaves nothing behind [I].
func (c *Compute) create(r Request) (*Answer, *reply.Error) {
	location := normal(doc.Text(r.Body, "location"))
	size, ok := FindSize(doc.Text(r.Body, "properties", "hardwareProfile", "vmSize"))
	if !ok {
		return nil, unknownSize(doc.Text(r.Body, "properties", "hardwareProfile", "vmSize"))
	}
	spot := !slices.Contains([]string{"", "regular"}, strings.ToLower(doc.Text(r.Body, "properties", "priority")))
	if c.Faults.Policy != nil {
		if assignment := c.Faults.Policy(r.ID, r.Body); assignment != "" {
			return nil, reply.Disallowed(r.ID.Name(), assignment)
		}
	}
	image, exact, refused := c.source(r, location)
	if refused != nil {
		return nil, refused
	}
	for _, check := range []func() *reply.Error{
		func() *reply.Error { return c.fits(r.Body, size, location) },
		func() *reply.Error { return size.canBoot(image) },
		func() *reply.Error { return image.suits(r.Body) },
		func() *reply.Error { return c.references(r, size) },
		func() *reply.Error { return c.diskNames(r) },
		func() *reply.Error { return c.quota(r.ID, location, size, spot) },
	} {
		if refused := check(); refused != nil {
			return nil, refused
		}
	}
	return c.begin(r, start{location: location, size: size, spot: spot, image: image, exact: exact}), nil
}

// start is what create has found out.
type start struct {
	location string
	size     Size
	spot     bool
	image    Image
	exact    string
}

func (c *Compute) begin(r Request, s start) *Answer {
	m := &machine{size: s.size, spot: s.spot, power: "", born: c.World.Clock.Now(), image: s.image}
	m.customData, _ = base64.StdEncoding.DecodeString(doc.Text(r.Body, "properties", "osProfile", "customData"))
	m.password = doc.Text(r.Body, "properties", "osProfile", "adminPassword")
	m.configs = doc.List(doc.Clone(r.Body), "properties", "networkProfile", "networkInterfaceConfigurations")
	m.r = c.World.Put(r.ID, c.shape(r, s))
	m.op = c.World.Begin(r.ID, s.location)
	c.machines[r.ID.Key()] = m
	c.live(m)
	return &Answer{Status: http.StatusCreated, Body: c.View(m.r, r.Version, false), Op: m.op}
}

// source finds the image, and refuses a plan or a size of the OS disk that does not fit it.
func (c *Compute) source(r Request, location string) (Image, string, *reply.Error) {
	reference := doc.Of(r.Body, "properties", "storageProfile", "imageReference")
	if reference == nil {
		return Image{}, "", nil
	}
	image, exact, refused := c.resolve(reference, location)
	if refused != nil {
		return image, "", refused
	}
	if refused := image.plan(r.Body); refused != nil {
		return image, "", refused
	}
	if gb := doc.Number(r.Body, "properties", "storageProfile", "osDisk", "diskSizeGB"); gb > 0 && gb < image.SizeGB {
		// [D]
		return image, "", reply.New(http.StatusConflict, "OperationNotAllowed", "The specified disk size %d GB is smaller than the "+
			"size of "+
			"the corresponding disk in the VM image: %d GB. This is not allowed. Please choose equal or greater size or do not specify "+
			"an "+
			"explicit size.", gb, image.SizeGB).At("osDisk.diskSizeGB")
	}
	return image, exact, nil
}

// fits refuses what the size cannot do here.
func (c *Compute) fits(body doc.Object, size Size, location string) *reply.Error {
	zones := doc.Texts(body, "zones")
	zone := ""
	if len(zones) > 0 {
		zone = zones[0]
	}
	restricted := c.Faults.Restricted != nil && c.Faults.Restricted(size.Name, zone)
	soldOut := c.Faults.Full != nil && c.Faults.Full(size.Name, zone) == "SkuNotAvailable"
	if restricted || soldOut || (zone != "" && !slices.Contains(size.Zones, zone)) {
		return reply.SKUNotAvailable(size.Name, location)
	}
	nics := len(doc.List(body, "properties", "networkProfile", "networkInterfaces")) +
		len(doc.List(body, "properties", "networkProfile", "networkInterfaceConfigurations"))
	if nics > size.MaxNICs {
		// [V]
		return reply.New(http.StatusBadRequest, "NetworkInterfaceCountExceeded", "The number of network interfaces for virtual "+
			"machine %s "+
			"exceeds the maximum allowed for the virtual machine size %s. The number of network interfaces is %d and the maximum "+
			"allowed is "+
			"%d.", doc.Text(body, "name"), size.Name, nics, size.MaxNICs)
	}
	if disks := len(doc.List(body, "properties", "storageProfile", "dataDisks")); disks > size.MaxDisks {
		return reply.New(http.StatusConflict, "OperationNotAllowed",
			"The maximum number of data disks allowed to be attached to a VM of this size is %d.", size.MaxDisks).At("dataDisks")
	}
	return size.can(body)
}

// references refuses ids that lead nowhere.
func (c *Compute) references(r Request, size Size) *reply.Error {
	profile := doc.Of(r.Body, "properties", "networkProfile")
	configs := doc.List(profile, "networkInterfaceConfigurations")
	if len(configs) > 0 && c.Faults.RefuseInline {
		return reply.InvalidParameter("networkInterfaceConfigurations",
			"The property 'networkInterfaceConfigurations' is not supported for this resource.")
	}
	for _, config := range configs {
		if refused := c.Network.Check(r.ID, doc.Of(config, "properties")); refused != nil {
			return refused
		}
	}
	for _, nic := range doc.List(profile, "networkInterfaces") {
		if refused := c.usable(doc.Text(nic, "id"), r.ID, size); refused != nil {
			return refused
		}
	}
	for id := range doc.Of(r.Body, "identity", "userAssignedIdentities") {
		if c.World.FindText(id) == nil {
			// [V]
			return reply.New(http.StatusBadRequest, "FailedIdentityOperation", "Identity operation for resource '%s' failed with error "+
				"'Failed to perform resource identity operation. Status: 'BadRequest'. Response: '{\"error\":{\"code\":\"BadRequest\","+
				"\"message\":\"Resource '%s' was not found.\"}}'.", r.ID, id)
		}
	}
	return nil
}

// usable refuses a NIC that the VM cannot have.
func (c *Compute) usable(nic string, vm doc.ID, size Size) *reply.Error {
	found := c.World.FindText(nic)
	if found == nil {
		return reply.InvalidReference(nic, vm.String())
	}
	if owner := c.Network.Owner(found); owner != "" && !doc.Same(owner, vm.String()) {
		if doc.Has(found.Body, "properties", "virtualMachine") {
			return reply.NICInUse(found.ID.String(), owner)
		}
		return reply.NICReserved(owner)
	}
	return cmp.Or(c.Network.Unready(found, vm), size.canAccelerate(found.Body))
}

// update merges: a PUT on an existing VM has the meaning of a PATCH [D put-calls-create-or-update].
func (c *Compute) update(r Request, m *machine) (*Answer, *reply.Error) {
	name := r.ID.Name()
	switch {
	case m.deleting():
		return nil, reply.BeingDeleted("Create or Update VM", name)
	case m.busy() && !c.Faults.Preempting:
		return nil, reply.Busy("Create or Update VM", name)
	}
	merged := doc.Merge(m.r.Body, withoutSecrets(r.Body))
	if refused := unchangeable(m.r.Body, merged); refused != nil {
		return nil, refused
	}
	c.World.End(m.op, reply.Preempted())
	m.stop()
	m.r.Body = merged
	m.op = c.World.Begin(r.ID, doc.Text(merged, "location"))
	c.state(m, "Updating")
	op := m.op
	c.later(m, c.Times.Update, func() {
		if m.op == op {
			c.end(m, nil)
		}
	})
	return &Answer{Status: http.StatusOK, Body: c.View(m.r, r.Version, false), Op: op}, nil
}

// unchangeable refuses what a VM keeps for its life [D].
func unchangeable(old, changed doc.Object) *reply.Error {
	for _, path := range [][]string{
		{"location"},
		{"properties", "osProfile", "computerName"},
		{"properties", "osProfile", "adminUsername"},
		{"properties", "storageProfile", "osDisk", "name"},
		{"properties", "storageProfile", "imageReference", "id"},
		{"properties", "priority"},
	} {
		if before := doc.Text(old, path...); !doc.Same(normal(before), normal(doc.Text(changed, path...))) {
			property := strings.TrimPrefix(strings.Join(path, "."), "properties.")
			return reply.New(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property '%s' is not "+
				"allowed.", property).At(property)
		}
	}
	return nil
}

func unknownSize(name string) *reply.Error {
	var known []string
	for _, s := range Sizes {
		known = append(known, s.Name)
	}
	return reply.InvalidParameter("vmSize", "The value %s provided for the VM size is not valid. The valid sizes in the current "+
		"region "+
		"are: %s. Find out more on the valid VM sizes in each region at "+
		"https://aka.ms/azure-regionservices.", name, strings.Join(known, ","))
}

// normal is a region's name without blanks and capital letters: "West Europe" is westeurope [D].
func normal(location string) string { return strings.ToLower(strings.ReplaceAll(location, " ", "")) }
