package armsim_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

const inGroup = "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.Group + "/providers/"

// reads are the calls of cloud-provider-azure that lead to an initialised Node. Its node manager makes no call to Azure Resource
// Manager as long as it asks the instance metadata service (pkg/node/node.go, the default); without it, and in the cloud
// controller manager, provider ID, type, zone and addresses (azure_instances_v1.go, azure_zones.go) are asked for with
//
//   - one VM with its instance view for all of them (azure_vmsets_repo.go, newVMCache),
//   - its primary NIC, and the public address of that (azure_standard.go, GetPrimaryInterface and GetIPByNodeName),
//   - for vmType vmss the scale sets and VMs of the group (azure_vmss_cache.go, newVMSSCache, newNonVmssUniformNodesCache), and,
//     with enableVmssFlexNodes, the scale sets of the group and VMs by scale set, twice (azure_vmssflex_cache.go),
//   - zones of regions (pkg/azclient/providerclient, GetVirtualMachineSupportedZones),
//   - for load balancers and routes: availability sets, subnet, security group, route table, load balancers and their addresses.
//
// Versions are those of its SDK, of its earlier clients and of its profile for Azure Stack.
var reads = []struct {
	name, path string
	query      url.Values
	versions   []string
	shows      []string // a path to a value
	want       any
	list       int // how many, unless shows is set
}{
	{
		name: "a VM with its instance view", path: inGroup + "Microsoft.Compute/virtualMachines/win-1",
		query:    url.Values{"$expand": {"instanceView"}},
		versions: []string{"2017-12-01", "2020-06-01", "2022-08-01", "2024-03-01", "2024-07-01"},
		shows:    []string{"properties", "provisioningState"}, want: "Creating",
	},
	{
		name: "its size", path: inGroup + "Microsoft.Compute/virtualMachines/win-1",
		versions: []string{"2017-12-01", "2022-08-01"},
		shows:    []string{"properties", "hardwareProfile", "vmSize"}, want: "Standard_D4s_v5",
	},
	{
		name: "VMs of the group", path: inGroup + "Microsoft.Compute/virtualMachines",
		versions: []string{"2022-08-01", "2024-07-01"}, list: 2,
	},
	{
		name: "scale sets", path: inGroup + "Microsoft.Compute/virtualMachineScaleSets",
		versions: []string{"2017-12-01", "2024-07-01"},
	},
	{
		name: "VMs of a scale set", path: "/subscriptions/" + armsim.Subscription + "/providers/Microsoft.Compute/virtualMachines",
		query: url.Values{"$filter": {"'virtualMachineScaleSet/id' eq '" + flexible + "'"}}, versions: []string{"2022-08-01"}, list: 1,
	},
	{
		name: "their instance views", path: "/subscriptions/" + armsim.Subscription + "/providers/Microsoft.Compute/virtualMachines",
		query:    url.Values{"$filter": {"'virtualMachineScaleSet/id' eq '" + flexible + "'"}, "statusOnly": {"true"}},
		versions: []string{"2022-08-01"}, list: 1,
	},
	{
		name: "availability sets", path: inGroup + "Microsoft.Compute/availabilitySets",
		versions: []string{"2022-08-01"},
	},
	{
		name: "zones", path: "/subscriptions/" + armsim.Subscription + "/providers/Microsoft.Compute",
		versions: []string{"2020-10-01", "2021-04-01"}, shows: []string{"registrationState"}, want: "Registered",
	},
	{
		name: "the subnet", path: armsim.SubnetID,
		versions: []string{"2018-11-01", "2022-07-01", "2024-05-01"},
		shows:    []string{"properties", "addressPrefix"}, want: "10.1.0.0/17",
	},
	{
		name: "the vnet", path: armsim.NetworkID("virtualNetworks", armsim.VNet),
		versions: []string{"2022-07-01"}, shows: []string{"properties", "provisioningState"}, want: "Succeeded",
	},
	{
		name: "the security group", path: armsim.NSGID,
		versions: []string{"2022-07-01"}, shows: []string{"name"}, want: "nodes",
	},
	{
		name: "the route table", path: armsim.RouteTableID,
		versions: []string{"2022-07-01"}, shows: []string{"name"}, want: "nodes",
	},
	{
		name: "load balancers", path: inGroup + "Microsoft.Network/loadBalancers",
		versions: []string{"2022-07-01"},
	},
	{
		name: "public addresses", path: inGroup + "Microsoft.Network/publicIPAddresses",
		versions: []string{"2022-07-01"},
	},
}

const flexible = inGroup + "Microsoft.Compute/virtualMachineScaleSets/flexible"

// TestReadsOfCloudProviderAzure plays each of them by hand, in each version, while the VM is still Creating.
func TestReadsOfCloudProviderAzure(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "win-1")
	h.put(t, "win-2", func(b doc.Object) { doc.Set(b, doc.Object{"id": flexible}, "properties", "virtualMachineScaleSet") })
	c.Advance(time.Minute)
	for _, read := range reads {
		for _, version := range read.versions {
			query := url.Values{"api-version": {version}}
			for name := range read.query {
				query.Set(name, read.query.Get(name))
			}
			a := h.get(t, read.path+"?"+query.Encode())
			if a.status != http.StatusOK {
				t.Errorf("%s in %s: %d %s", read.name, version, a.status, a.message())
				continue
			}
			if read.shows != nil {
				expect.Same(t, read.name+" in "+version, read.want, doc.Get(a.body, read.shows...))
				continue
			}
			if _, is := a.body["value"].([]any); !is || len(doc.List(a.body, "value")) != read.list {
				t.Errorf("%s in %s: %v, want %d items", read.name, version, a.body, read.list)
			}
		}
	}
	h.get(t, inGroup+"Microsoft.Compute/virtualMachines?$filter=x").refused(t, http.StatusBadRequest, "InvalidParameter", "$filter")
}

// TestNodeOfCloudProviderAzure reads what becomes of a Node: power state, zone, address, and the zones of the region.
func TestNodeOfCloudProviderAzure(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "win-1")
	c.Advance(time.Minute)
	vm := h.get(t, inGroup+"Microsoft.Compute/virtualMachines/WIN-1?$expand=instanceView&api-version=2022-08-01").body
	statuses := doc.List(vm, "properties", "instanceView", "statuses")
	if !slices.ContainsFunc(statuses, func(s doc.Object) bool { return doc.Text(s, "code") == "PowerState/running" }) {
		t.Errorf("no power state in %v", statuses)
	}
	equal(t, doc.Texts(vm, "zones"), []string{"1"})
	equal(t, doc.Text(vm, "properties", "osProfile", "computerName"), "win-1")
	nic := only(t, doc.List(vm, "properties", "networkProfile", "networkInterfaces"))
	equal(t, doc.Flag(nic, "properties", "primary"), true)
	shown := h.get(t, doc.Text(nic, "id")+"?api-version=2022-07-01").body
	equal(t, doc.Flag(shown, "properties", "primary"), true)
	ip := only(t, doc.List(shown, "properties", "ipConfigurations"))
	equal(t, doc.Flag(ip, "properties", "primary"), true)
	equal(t, doc.Text(ip, "properties", "privateIPAddress"), "10.1.0.4")
	kinds := doc.List(h.get(t, "/subscriptions/"+armsim.Subscription+"/providers/Microsoft.Compute").body, "resourceTypes")
	equal(t, doc.Texts(doc.List(only(t, kinds), "zoneMappings")[0], "zones"), []string{"1", "2", "3"})
	h.get(t, inGroup+"Microsoft.Compute/virtualMachines/other?$expand=instanceView").
		refused(t, http.StatusNotFound, "ResourceNotFound", "other") // a VM that is gone is a Node to be removed
}
