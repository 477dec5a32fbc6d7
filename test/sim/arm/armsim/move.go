package armsim

import (
	"net/http"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rights"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// moveTakes is how long a move to another group takes: 4 minutes are on record (azure-cli #11942) [V].
const moveTakes = 4 * time.Minute

// moveNeeds are the rights to move: an action at the group that has the resources, write at the other one [D].
func (q *request) moveNeeds() []rights.Need {
	const group = "Microsoft.Resources/subscriptions/resourceGroups/"
	return []rights.Need{
		{Action: group + "moveResources/action", Scope: q.scope()},
		{Action: group + "write", Scope: doc.Text(q.body, "targetResourceGroup")},
	}
}

// move begins a move of resources to another group of the subscription [D learn.microsoft.com/rest/api/resources/resources/
// move-resources]. Until it ends both groups are locked: "write and delete operations are blocked on the groups".
func (in *Inside) move(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodPost {
		return nil, notAllowed(q)
	}
	target, _ := doc.ParseID(doc.Text(q.body, "targetResourceGroup"))
	if in.World.Group(target.Subscription, target.Group) == nil {
		return nil, reply.ResourceGroupNotFound(target.Group)
	}
	var all []doc.ID
	for _, text := range doc.Texts(q.body, "resources") {
		r := in.World.FindText(text)
		if r == nil || !doc.Same(r.ID.Group, q.id.Group) {
			return nil, reply.InvalidReference(text, q.id.String())
		}
		if doc.Text(r.Body, "properties", "provisioningState") != "Succeeded" {
			return nil, unfinished(r)
		}
		all = append(all, r.ID)
	}
	source := q.id
	in.moving = append(in.moving, source.Key(), target.Key())
	at := doc.ID{Subscription: source.Subscription, Group: source.Group, Provider: "Microsoft.Resources"}
	op := in.World.Begin(at, Location)
	in.World.Clock.After(moveTakes, func() {
		in.moving = nil
		in.moveTo(target.Group, all)
		in.World.End(op, nil)
	})
	return &answer{status: http.StatusAccepted, op: op}, nil
}

// unfinished refuses the move of what is not done [V MicrosoftDocs/azure-docs #59719].
func unfinished(r *world.Resource) *reply.Error {
	e := reply.New(http.StatusConflict, "ResourceMoveProviderValidationFailed",
		"Resource move validation failed. Please see details.")
	e.Details = []reply.Error{{
		Code: "MoveCannotProceedWithResourcesNotInSucceededState", Target: r.ID.Type(),
		Message: "One of the resources being migrated or its dependency is not in Succeeded state. Please check details for " +
			"information about each resource/operation.",
	}}
	return e
}

// inMove refuses writes and deletions in a group from which or to which something is being moved. The code is [I].
func (in *Inside) inMove(q *request) *reply.Error {
	if q.Method == http.MethodGet {
		return nil
	}
	for _, group := range in.moving {
		if q.ID == group || strings.HasPrefix(q.ID, group+"/") {
			return reply.Locked(q.id.String(), "write", group)
		}
	}
	return nil
}

// MoveVM has somebody move a VM with its disks, NICs and public addresses to another group, which is made if it does not exist,
// and returns the VM's new id. What the platform calls them and their tags stay, their old ids are 404 ResourceNotFound.
func (c *Cloud) MoveVM(vm doc.ID, group string) (moved doc.ID) {
	c.Change(func(w *Inside) {
		if w.World.Group(vm.Subscription, group) == nil {
			w.World.AddGroup(vm.Subscription, group, Location)
		}
		w.moveTo(group, w.withWhatItHas(vm))
	})
	vm.Group = group
	return vm
}

// withWhatItHas is a VM and those of its group's resources that it names, and that they name.
func (in *Inside) withWhatItHas(vm doc.ID) []doc.ID {
	all := []doc.ID{vm}
	add := func(text string) *world.Resource {
		r := in.World.FindText(text)
		if r != nil && doc.Same(r.ID.Group, vm.Group) {
			all = append(all, r.ID)
		}
		return r
	}
	r := in.World.Find(vm)
	if r == nil {
		return nil
	}
	storage := doc.Of(r.Body, "properties", "storageProfile")
	for _, disk := range append(doc.List(storage, "dataDisks"), doc.Of(storage, "osDisk")) {
		add(doc.Text(disk, "managedDisk", "id"))
	}
	for _, reference := range doc.List(r.Body, "properties", "networkProfile", "networkInterfaces") {
		nic := add(doc.Text(reference, "id"))
		if nic == nil {
			continue
		}
		for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
			add(doc.Text(ip, "properties", "publicIPAddress", "id"))
		}
	}
	return all
}

// moveTo gives resources, and their parts, ids in another group, and changes the ids wherever they are named. Only tags
// stay as they are, whatever they say.
func (in *Inside) moveTo(group string, all []doc.ID) {
	names := renames{}
	for _, id := range all {
		parts := in.World.All(world.Kind{Under: id.Key()})
		if r := in.World.Find(id); r != nil {
			parts = append(parts, r)
		}
		for _, r := range parts {
			old, to := r.ID, r.ID
			to.Group = group
			names[old.Key()] = to.String()
			in.World.Move(r, to)
			in.Network.Moved(old, to)
			if old.Is(compute.VM) {
				in.Compute.Moved(old, to)
			}
		}
	}
	in.World.Each(world.Kind{}, func(r *world.Resource) {
		tags, tagged := r.Body["tags"]
		r.Body = doc.Change(r.Body, names.in)
		if tagged {
			r.Body["tags"] = tags
		}
	})
}

// renames are new ids by the keys of old ones.
type renames map[string]string

// in is a text with the id that it is, or begins with, in its new form.
func (n renames) in(text string) string {
	key := strings.ToLower(text)
	if !strings.HasPrefix(key, "/subscriptions/") {
		return text
	}
	for old, to := range n {
		if key == old || strings.HasPrefix(key, old+"/") {
			return to + text[len(old):]
		}
	}
	return text
}
