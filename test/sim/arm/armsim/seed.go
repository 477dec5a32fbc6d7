package armsim

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
)

// What is in the cloud from the beginning.
const (
	Tenant       = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	Subscription = "11111111-2222-3333-4444-555555555555"
	Location     = "westeurope"
	// Group has the machines, NetworkGroup the vnet.
	Group        = "capwin-nodes"
	NetworkGroup = "capwin-network"
	VNet         = "capwin-vnet"
	SubnetName   = "nodes"
	// Audience is what tokens may be for besides the endpoint.
	Audience = "https://management.core.windows.net/"

	// ClientID, Secret and ObjectID are an app that may do everything in the subscription.
	ClientID = "aaaaaaaa-0000-4000-8000-000000000001"
	ObjectID = "bbbbbbbb-0000-4000-8000-000000000001"
	Secret   = "a secret~with+signs/&"
	// StrangerID is another app with the same secret and rights.
	StrangerID     = "aaaaaaaa-0000-4000-8000-000000000002"
	StrangerObject = "bbbbbbbb-0000-4000-8000-000000000002"

	// NodeClientID and NodeObjectID are the managed identity IdentityID, which nodes of Linux have; IdentityHeader is the secret of
	// the endpoint at which they get its tokens.
	NodeClientID   = "cccccccc-0000-4000-8000-000000000001"
	NodeObjectID   = "dddddddd-0000-4000-8000-000000000001"
	IdentityHeader = "a secret of this machine"

	// Gallery image, community image and marketplace images.
	GalleryImage = "/subscriptions/" + Subscription + "/resourceGroups/" + NetworkGroup + "/providers/Microsoft.Compute" +
		"/galleries/capwin/images/windows-2022"
	ManagedImage = "/subscriptions/" + Subscription + "/resourceGroups/" + NetworkGroup + "/providers/Microsoft.Compute" +
		"/images/windows-2022"
	CommunityImage   = "/CommunityGalleries/ClusterAPI-f72ceb4f/Images/capi-win-2022-containerd"
	MarketplaceImage = "MicrosoftWindowsServer/WindowsServer/2022-datacenter-azure-edition"
	PlanImage        = "cncf-upstream/capi-windows/windows-2022-containerd"
)

// SubnetID, and the other things that a NIC may name.
var (
	SubnetID     = NetworkID("virtualNetworks", VNet, "subnets", SubnetName)
	SmallSubnet  = NetworkID("virtualNetworks", VNet, "subnets", "small")
	NSGID        = NetworkID("networkSecurityGroups", "nodes")
	RouteTableID = NetworkID("routeTables", "nodes")
	PoolID       = NetworkID("loadBalancers", "capwin", "backendAddressPools", "capwin-outboundBackendPool")
	ASGID        = NetworkID("applicationSecurityGroups", "nodes")
	NATGatewayID = NetworkID("natGateways", "nodes")
	IdentityID   = doc.Resource(Subscription, NetworkGroup, "Microsoft.ManagedIdentity", "userAssignedIdentities", "nodes").String()
)

// NetworkID is the id of something in NetworkGroup.
func NetworkID(typeAndName ...string) string {
	return doc.Resource(Subscription, NetworkGroup, "Microsoft.Network", typeAndName...).String()
}

// VMID is the id of a VM in Group.
func VMID(name string) doc.ID {
	return doc.Resource(Subscription, Group, compute.Provider, "virtualMachines", name)
}

func seed(w *Inside) {
	w.World.AddGroup(Subscription, Group, Location)
	w.World.AddGroup(Subscription, NetworkGroup, Location)
	add := func(id string, properties doc.Object) {
		parsed, _ := doc.ParseID(id)
		w.World.Put(parsed, doc.Object{"location": Location, "properties": properties})
	}
	reference := func(id string) doc.Object { return doc.Object{"id": id} }
	add(NetworkID("virtualNetworks", VNet), doc.Object{
		"addressSpace":      doc.Object{"addressPrefixes": []any{"10.1.0.0/16"}},
		"provisioningState": "Succeeded",
	})
	add(SubnetID, doc.Object{
		"addressPrefix":        "10.1.0.0/17",
		"networkSecurityGroup": reference(NSGID), "routeTable": reference(RouteTableID),
		"provisioningState": "Succeeded",
	})
	add(SmallSubnet, doc.Object{
		"addressPrefix": "10.1.200.0/29", "natGateway": reference(NATGatewayID),
		"provisioningState": "Succeeded",
	})
	for _, id := range []string{NSGID, RouteTableID, PoolID, ASGID, NATGatewayID, NetworkID("loadBalancers", "capwin")} {
		add(id, doc.Object{"provisioningState": "Succeeded"})
	}
	add(IdentityID, doc.Object{"clientId": NodeClientID, "tenantId": Tenant})
	for _, i := range []compute.Image{
		{Name: GalleryImage, Versions: []string{"1.36.2", "1.36.3"}, SizeGB: 40, Generation: "V2"},
		{Name: ManagedImage, SizeGB: 40, Generation: "V2"},
		{Name: CommunityImage, Versions: []string{"1.36.2", "1.36.3"}, SizeGB: 40},
		{Name: MarketplaceImage, Versions: []string{"20348.4052.250906", "20348.4171.251003"}, SizeGB: 127},
		{Name: PlanImage, Versions: []string{"136.3.20261001"}, SizeGB: 127, Plan: PlanImage},
	} {
		w.Compute.AddImage(i)
	}
	for id, object := range map[string]string{ClientID: ObjectID, StrangerID: StrangerObject} {
		w.Tokens.Add(&tokens.Principal{Tenant: Tenant, ClientID: id, ObjectID: object, Secrets: []string{Secret}})
		w.Rights.Grant(object, "/subscriptions/"+Subscription, "*")
	}
	w.Tokens.Add(&tokens.Principal{Tenant: Tenant, ClientID: NodeClientID, ObjectID: NodeObjectID, ResourceID: IdentityID})
	w.Tokens.Header = IdentityHeader
	w.Rights.Grant(NodeObjectID, "/subscriptions/"+Subscription, "*")
}

func listen(server *httptest.Server, address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
}

func certificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
