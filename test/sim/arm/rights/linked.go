package rights

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Linked lists what the PUT of a VM needs beside its own right: an action at each resource that its body names, and those that
// the platform does in the caller's name. joins are [D] (linked access checks); disks and inline NICs are [I]: no document says
// whether compute asks for them, so the simulator does, and a role that passes here has one right too many at worst.
func Linked(vm doc.ID, body doc.Object) []Need {
	var needs []Need
	add := func(action, scope string) {
		if scope != "" {
			needs = append(needs, Need{Action: action, Scope: scope})
		}
	}
	group := "/subscriptions/" + vm.Subscription + "/resourceGroups/" + vm.Group
	profile := doc.Of(body, "properties", "networkProfile")
	for _, nic := range doc.List(profile, "networkInterfaces") {
		add("Microsoft.Network/networkInterfaces/join/action", doc.Text(nic, "id"))
	}
	for _, nic := range doc.List(profile, "networkInterfaceConfigurations") {
		add("Microsoft.Network/networkInterfaces/write", group)
		needs = append(needs, Joins(doc.Of(nic, "properties"))...)
	}
	add("Microsoft.Compute/disks/write", group)
	add(imageAction(doc.Text(body, "properties", "storageProfile", "imageReference", "id")))
	for id := range doc.Of(body, "identity", "userAssignedIdentities") {
		add("Microsoft.ManagedIdentity/userAssignedIdentities/assign/action", id)
	}
	for _, link := range links {
		add(link.action, doc.Text(body, link.path...))
	}
	return needs
}

// links are single ids in a VM's body.
var links = []struct {
	action string
	path   []string
}{
	{"Microsoft.Compute/proximityPlacementGroups/write", []string{"properties", "proximityPlacementGroup", "id"}},
	{"Microsoft.Compute/hostGroups/read", []string{"properties", "hostGroup", "id"}},
	{
		"Microsoft.Compute/capacityReservationGroups/deploy/action",
		[]string{"properties", "capacityReservation", "capacityReservationGroup", "id"},
	},
	{"Microsoft.Compute/virtualMachineScaleSets/write", []string{"properties", "virtualMachineScaleSet", "id"}},
	{
		"Microsoft.Compute/diskEncryptionSets/read",
		[]string{"properties", "storageProfile", "osDisk", "managedDisk", "diskEncryptionSet", "id"},
	},
}

// imageAction is what reading an image needs. Community galleries and marketplace images need no right.
func imageAction(id string) (string, string) {
	parsed, ok := doc.ParseID(id)
	switch {
	case !ok:
		return "", ""
	case len(parsed.Types) > 1:
		return "Microsoft.Compute/galleries/images/versions/read", id
	}
	return "Microsoft.Compute/images/read", id
}

// Joins are the needs of a NIC's properties, inline or its own.
func Joins(nic doc.Object) []Need {
	var needs []Need
	add := func(action, scope string) {
		if scope != "" {
			needs = append(needs, Need{Action: action, Scope: scope})
		}
	}
	add("Microsoft.Network/networkSecurityGroups/join/action", doc.Text(nic, "networkSecurityGroup", "id"))
	for _, ip := range doc.List(nic, "ipConfigurations") {
		properties := doc.Of(ip, "properties")
		add("Microsoft.Network/virtualNetworks/subnets/join/action", doc.Text(properties, "subnet", "id"))
		add("Microsoft.Network/publicIPAddresses/join/action", doc.Text(properties, "publicIPAddress", "id"))
		for _, pool := range doc.List(properties, "loadBalancerBackendAddressPools") {
			add("Microsoft.Network/loadBalancers/backendAddressPools/join/action", doc.Text(pool, "id"))
		}
		for _, group := range doc.List(properties, "applicationSecurityGroups") {
			add("Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action", doc.Text(group, "id"))
		}
		if doc.Has(properties, "publicIPAddressConfiguration") {
			if id, ok := doc.ParseID(doc.Text(properties, "subnet", "id")); ok {
				add("Microsoft.Network/publicIPAddresses/write", "/subscriptions/"+id.Subscription+"/resourceGroups/"+id.Group)
			}
		}
	}
	return dedupe(needs)
}

func dedupe(needs []Need) []Need {
	seen := map[string]bool{}
	var all []Need
	for _, n := range needs {
		if key := strings.ToLower(n.Action + " " + n.Scope); !seen[key] {
			seen[key] = true
			all = append(all, n)
		}
	}
	return all
}
