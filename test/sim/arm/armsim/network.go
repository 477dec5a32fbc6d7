package armsim

import (
	"net/http"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// nic is a call about NICs.
func (in *Inside) nic(q *request) (*answer, *reply.Error) {
	switch {
	case q.list:
		return in.paged(q, func() []doc.Object { return in.shown(q.kind(network.NIC)) })
	case q.Method == http.MethodGet:
		return in.read(q)
	case q.Method == http.MethodDelete:
		op, refused := in.Network.Delete(q.id)
		return deleting(op, refused)
	case q.Method == http.MethodPut:
		return in.putNIC(q)
	}
	return nil, notAllowed(q)
}

func (in *Inside) putNIC(q *request) (*answer, *reply.Error) {
	check := rules.Request{ID: q.id, Body: q.body, Version: q.Version, Create: in.World.Find(q.id) == nil}
	if refused := rules.CheckNIC(check); refused != nil {
		return nil, refused
	}
	if refused := in.matches(q, in.World.Find(q.id)); refused != nil {
		return nil, refused
	}
	created, op, refused := in.Network.Put(q.id, q.body)
	if refused != nil {
		return nil, refused
	}
	a := &answer{status: http.StatusOK, body: in.show(in.World.Find(q.id)), op: op}
	if created {
		a.status = http.StatusCreated
	}
	return a, nil
}

// matches are the preconditions of a NIC's PUT. That NRP compares etags is [V], that it knows If-None-Match is [I].
func (in *Inside) matches(q *request, there *world.Resource) *reply.Error {
	etag := `""`
	if there != nil {
		etag = "W/" + there.Etag()
	}
	sent := q.header.Get("If-Match")
	switch {
	case in.Network.IgnorePreconditions:
	case there != nil && q.header.Get("If-None-Match") == "*":
		return reply.PreconditionFailed(q.id.Name())
	case sent != "" && sent != etag && (sent != "*" || there == nil):
		return reply.EtagMismatch(sent, etag)
	}
	return nil
}

// read is a GET of a resource without behaviour, or a list of them.
func (in *Inside) read(q *request) (*answer, *reply.Error) {
	if q.list {
		return in.paged(q, func() []doc.Object { return in.shown(q.kind(q.id.Type())) })
	}
	if q.action == "versions" { // publishers/.../skus/NAME/versions
		names := q.id.Names
		if len(names) == 5 { // locations, publishers, artifacttypes (a word of the path), offers, skus
			names = []string{names[1], names[3], names[4]}
		}
		return in.versions(q, strings.Join(names, "/"))
	}
	if q.action == "subnets" {
		return ok(doc.Object{"value": doc.Objects(in.shown(world.Kind{Type: network.Subnet, Under: q.ID})...)}), nil
	}
	r := in.World.See(q.id)
	if r == nil {
		return nil, reply.ResourceNotFound(q.id.Type(), strings.Join(q.id.Names, "/"), q.id.Group)
	}
	return ok(in.show(r)), nil
}

func (in *Inside) versions(q *request, name string) (*answer, *reply.Error) {
	versions := in.Compute.Versions(q.id.Subscription, Location, name)
	if versions == nil {
		return nil, reply.New(http.StatusNotFound, "NotFound", "Artifact: VMImage was not found.")
	}
	return &answer{status: http.StatusOK, bare: doc.Objects(versions...)}, nil // [V] armcompute, VirtualMachineImagesClient.List
}

func (in *Inside) shown(of world.Kind) []doc.Object {
	var all []doc.Object
	for _, r := range in.World.List(of) {
		all = append(all, in.show(r))
	}
	return all
}

// show is a resource as its provider shows it. A vnet shows its subnets [D].
func (in *Inside) show(r *world.Resource) doc.Object {
	body := doc.Clone(r.Body)
	body["id"], body["name"], body["type"] = in.World.Shown(r.ID), r.ID.Name(), r.ID.Type()
	if doc.Same(r.ID.Provider, network.Provider) {
		body["etag"] = "W/" + r.Etag()
	}
	if r.ID.Is("Microsoft.Network/virtualNetworks") {
		subnets := in.shown(world.Kind{Type: network.Subnet, Under: r.ID.Key()})
		doc.Set(body, doc.Objects(subnets...), "properties", "subnets")
	}
	if r.ID.Is(network.Subnet) {
		delete(body, "location")
	}
	return body
}

// place is a call about a group or a subscription.
func (in *Inside) place(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodGet {
		return nil, notAllowed(q)
	}
	group := func(g *world.Group) doc.Object {
		return doc.Object{
			"id": g.ID.String(), "name": g.ID.Group, "type": "Microsoft.Resources/resourceGroups", "location": g.Location,
			"properties": doc.Object{"provisioningState": "Succeeded"},
		}
	}
	switch q.Class {
	case "subscription":
		return ok(subscription(q.id.Subscription)), nil
	case "subscription list":
		return ok(doc.Object{"value": doc.Objects(subscription(Subscription))}), nil
	case "group list":
		var all []doc.Object
		for _, g := range in.World.Groups(q.id.Subscription) {
			all = append(all, group(g))
		}
		return ok(doc.Object{"value": doc.Objects(all...)}), nil
	}
	return ok(group(in.World.Group(q.id.Subscription, q.id.Group))), nil
}

// permissions are the caller's, one entry for each of its roles at the scope and above [D authorization/permissions].
func (in *Inside) permissions(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodGet {
		return nil, notAllowed(q)
	}
	var all []doc.Object
	for _, actions := range in.Rights.Of(q.client.Object, q.scope()) {
		all = append(all, doc.Object{
			"actions": actions, "notActions": []string{}, "dataActions": []string{}, "notDataActions": []string{},
		})
	}
	return ok(doc.Object{"value": doc.Objects(all...)}), nil
}

func subscription(id string) doc.Object {
	return doc.Object{
		"id": "/subscriptions/" + id, "subscriptionId": id, "displayName": "capwin", "state": "Enabled", "tenantId": Tenant,
	}
}
