// Package arm reads and writes Azure's names: resource IDs, the providerID of a Node, and tags. It calls nothing and remembers
// nothing.
//
// Azure answers with IDs in another case than it was asked, so IDs are compared without it: use SameID or Key, never ==.
package arm

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ID is a resource ID: what Azure calls a VM, a subnet or a group. It keeps the case in which it was written.
type ID struct {
	Subscription string
	Group        string
	// Provider is the namespace, such as Microsoft.Compute; empty for the ID of a group.
	Provider string
	// Types and Names go together: a subnet has two of each, virtualNetworks NAME and subnets NAME.
	Types []string
	Names []string
}

// The types of resources that we make or name.
const (
	compute  = "Microsoft.Compute"
	networks = "Microsoft.Network"
)

// The types of what is made with a VM.
const (
	AdapterType  = networks + "/networkInterfaces"
	DiskType     = compute + "/disks"
	PublicIPType = networks + "/publicIPAddresses"
)

// GroupID is the ID of a resource group.
func GroupID(subscription, group string) ID { return ID{Subscription: subscription, Group: group} }

// VM is the ID of a VM in a group.
func (g ID) VM(name string) ID { return g.child(compute, "virtualMachines", name) }

// Disk is the ID of a disk in a group.
func (g ID) Disk(name string) ID { return g.child(compute, "disks", name) }

// Adapter is the ID of a network interface in a group.
func (g ID) Adapter(name string) ID { return g.child(networks, "networkInterfaces", name) }

// Network is the ID of a virtual network in a group.
func (g ID) Network(name string) ID { return g.child(networks, "virtualNetworks", name) }

// Subnet is the ID of a subnet of a virtual network in a group.
func (g ID) Subnet(network, name string) ID { return g.Network(network).part("subnets", name) }

// Pool is the ID of a backend pool of a load balancer in a group.
func (g ID) Pool(balancer, name string) ID {
	return g.child(networks, "loadBalancers", balancer).part("backendAddressPools", name)
}

func (g ID) child(provider, kind, name string) ID {
	return ID{Subscription: g.Subscription, Group: g.Group, Provider: provider, Types: []string{kind}, Names: []string{name}}
}

func (g ID) part(kind, name string) ID {
	g.Types, g.Names = append(g.Types, kind), append(g.Names, name)
	return g
}

// String is the ID as Azure's documentation writes it.
func (g ID) String() string {
	var text strings.Builder
	text.WriteString("/subscriptions/" + g.Subscription + "/resourceGroups/" + g.Group)
	if g.Provider != "" {
		text.WriteString("/providers/" + g.Provider)
	}
	for i, kind := range g.Types {
		text.WriteString("/" + kind + "/" + g.Names[i])
	}
	return text.String()
}

// Key is equal for IDs of the same resource.
func (g ID) Key() string { return strings.ToLower(g.String()) }

// Parent is the resource group of a resource.
func (g ID) Parent() ID { return GroupID(g.Subscription, g.Group) }

// Name is the last of the names; for a group it is the group's.
func (g ID) Name() string {
	if len(g.Names) == 0 {
		return g.Group
	}
	return g.Names[len(g.Names)-1]
}

// Type is the type of the resource, such as Microsoft.Network/virtualNetworks/subnets.
func (g ID) Type() string { return strings.Join(append([]string{g.Provider}, g.Types...), "/") }

// HasType reports whether the resource is of a type, in any case.
func (g ID) HasType(kind string) bool { return strings.EqualFold(g.Type(), kind) }

// SameID reports whether two texts are IDs of the same resource.
func SameID(a, b string) bool {
	return a != "" && strings.EqualFold(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/"))
}

// maxID is longer than all IDs that Azure gives.
const maxID = 1024

// Parse reads an ID of a group or of what is in one. Azure's own answers pass, in any case.
func Parse(text string) (ID, bool) {
	if len(text) > maxID {
		return ID{}, false
	}
	parts := strings.Split(text, "/")
	if len(parts) < 5 || parts[0] != "" || !strings.EqualFold(parts[1], "subscriptions") ||
		!strings.EqualFold(parts[3], "resourceGroups") || !isUUID(parts[2]) || !isGroup(parts[4]) {
		return ID{}, false
	}
	id, rest := GroupID(parts[2], parts[4]), parts[5:]
	if len(rest) == 0 {
		return id, true
	}
	if len(rest) < 4 || len(rest)%2 != 0 || !strings.EqualFold(rest[0], "providers") || !areNames(rest) {
		return ID{}, false
	}
	id.Provider = rest[1]
	for i := 2; i < len(rest); i += 2 {
		id = id.part(rest[i], rest[i+1])
	}
	return id, true
}

func areNames(parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notInName)
	})
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.()", r)
}

func isGroup(name string) bool {
	return len(name) <= 90 && areNames([]string{name}) && !strings.HasSuffix(name, ".")
}

// UUID is an ID that Azure itself gave, in lower case; empty if it is none.
func UUID(text string) string {
	if !isUUID(text) {
		return ""
	}
	return strings.Clone(strings.ToLower(text))
}

// isUUID reports whether a text is a UUID in the form with dashes; Validate takes others, too.
func isUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
