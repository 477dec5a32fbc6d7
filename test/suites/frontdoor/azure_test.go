package frontdoor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	armworld "github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

const (
	labCloud = "LabCloud"
	// linuxSize is that of all Linux VMs.
	linuxSize = "Standard_D2s_v3"
)

// azure is the simulated Azure as its Linux VMs see it; the Windows VMs are those of the lab. Of Linux VMs it shows what Azure's
// cloud provider asks for, and nothing runs in them.
type azure struct {
	*armsim.Cloud
	// flags of our managers.
	flags []string
	// endpoint is the address of the load balancer.
	endpoint string
	// controller is the real cloud controller manager; a stand-in plays it when empty.
	controller string
	// federated says that our managers have an identity of their own.
	federated bool

	mu sync.Mutex
	// linux are the ids of the Linux VMs, addresses those of all VMs, by their names.
	linux     map[string]string
	addresses map[string]string
	next      netip.Addr
}

func (w *world) inAzure() {
	w.Helper()
	a := &azure{
		Cloud: armsim.Start("127.0.0.1:0", time.Now()), linux: map[string]string{}, addresses: map[string]string{},
		next: netip.MustParseAddr("10.1.100.1"), endpoint: w.endpoint, controller: peers.Program(w, peers.AzureCCM),
	}
	w.azure = a
	w.Cleanup(a.Close)
	a.Change(func(in *armsim.Inside) { // Azure takes half a minute each; its order stays
		in.Compute.Times.Network, in.Compute.Times.Allocate = 200*time.Millisecond, 400*time.Millisecond
		in.Compute.Times.Boot, in.Compute.Times.Delete = 600*time.Millisecond, time.Second
	})
	a.Change(func(in *armsim.Inside) {
		in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
			if call.Class == "vm" && call.Method == http.MethodPut {
				w.ordered()
			}
			if call.Class == "vm" && call.Method == http.MethodDelete {
				w.gone()
			}
			return nil
		}
	})
	clouds := filepath.Join(w.dir, "clouds.json")
	expect.OK(w, a.WriteFile(clouds, labCloud))
	a.flags = []string{"--azure-clouds=" + clouds, "--azure-cloud=" + labCloud}
	w.background(a.KeepTime)
	w.background(func(ctx context.Context) {
		hypervisor.RunAzure(ctx, a.Cloud, func(ctx context.Context, vm *hypervisor.AzureVM) {
			for vm.Address() == "" && (windows.RealClock{}).Sleep(ctx, 50*time.Millisecond) == nil {
				continue // its adapter is still being made
			}
			a.mu.Lock()
			a.addresses[strings.ToLower(vm.Name())] = vm.Address()
			a.mu.Unlock()
			w.boot(ctx, vm, vm.Name(), vm.Address())
		})
	})
}

// Network is part of linuxvm.Azure.
func (a *azure) Network(_ context.Context, n linuxvm.AzureNetwork) (host string, port int, err error) {
	if n.Subscription != armsim.Subscription || n.Location != armsim.Location {
		return "", 0, fmt.Errorf("there is no subscription %s in %s", n.Subscription, n.Location)
	}
	a.Change(func(in *armsim.Inside) {
		for _, group := range []string{n.Group, n.VNetGroup} {
			if in.World.Group(n.Subscription, group) == nil {
				in.World.AddGroup(n.Subscription, group, n.Location)
			}
		}
		id := func(typeAndName ...string) doc.ID {
			return doc.Resource(n.Subscription, n.VNetGroup, "Microsoft.Network", typeAndName...)
		}
		put := func(id doc.ID, properties doc.Object) {
			if in.World.Find(id) == nil {
				properties["provisioningState"] = "Succeeded"
				in.World.Put(id, doc.Object{"location": n.Location, "properties": properties})
			}
		}
		group, table := id("networkSecurityGroups", n.SecurityGroup), id("routeTables", n.RouteTable)
		put(group, doc.Object{})
		put(table, doc.Object{})
		put(id("virtualNetworks", n.VNet), doc.Object{"addressSpace": doc.Object{"addressPrefixes": []any{"10.0.0.0/8"}}})
		put(id("virtualNetworks", n.VNet, "subnets", n.Subnet), doc.Object{
			"addressPrefix": "10.1.0.0/16", "networkSecurityGroup": doc.Object{"id": group.String()},
			"routeTable": doc.Object{"id": table.String()},
		})
	})
	return a.endpoint, 6443, nil
}

// Ensure is part of linuxvm.Azure.
func (a *azure) Ensure(_ context.Context, group, name string) (id, system, address string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.linux[name] == "" {
		vm := doc.Resource(armsim.Subscription, group, "Microsoft.Compute", "virtualMachines", name)
		a.linux[name] = vm.String()
		a.addresses[name], a.next = a.next.String(), a.next.Next()
		a.Change(func(in *armsim.Inside) {
			in.World.Put(vm, doc.Object{"location": armsim.Location, "properties": doc.Object{
				"provisioningState": "Succeeded", "hardwareProfile": doc.Object{"vmSize": linuxSize},
				"osProfile": doc.Object{"computerName": name},
			}})
		})
	}
	return a.linux[name], strings.ToUpper(uuid.NewSHA1(uuid.NameSpaceURL, []byte(a.linux[name])).String()), a.addresses[name], nil
}

// windowsVMs are those that are not of Linux.
func (a *azure) windowsVMs() (names []string) {
	a.mu.Lock()
	linux := slices.Collect(maps.Keys(a.linux))
	a.mu.Unlock()
	a.Change(func(in *armsim.Inside) {
		for _, one := range in.World.All(armworld.Kind{Type: "Microsoft.Compute/virtualMachines"}) {
			if name := one.ID.Names[0]; !slices.Contains(linux, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// Destroy is part of linuxvm.Azure.
func (a *azure) Destroy(_ context.Context, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if vm, is := doc.ParseID(a.linux[name]); is {
		a.Change(func(in *armsim.Inside) { in.World.Remove(vm) })
	}
	delete(a.linux, name)
	delete(a.addresses, name)
	return nil
}

// ClientID is part of linuxvm.Azure.
func (a *azure) ClientID(_ context.Context, identity string) (clientID string, err error) {
	err = fmt.Errorf("there is no managed identity %s", identity)
	a.Change(func(in *armsim.Inside) {
		id, is := doc.ParseID(identity)
		if !is {
			return
		}
		if found := in.World.Find(id); found != nil {
			properties, _ := found.Body["properties"].(doc.Object)
			clientID, _ = properties["clientId"].(string)
			err = nil
		}
	})
	return clientID, err
}

// servicePrincipal is the identity that the head of the flavor asks for, with a Secret. By the labels both are moved with their
// Cluster, as docs/day-two.md says.
const servicePrincipal = `kubectl apply -f - <<END
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata:
  name: demo-identity
  namespace: default
  labels: {clusterctl.cluster.x-k8s.io/move-hierarchy: "true"}
spec:
  type: ServicePrincipal
  tenantID: $AZURE_TENANT_ID
  clientID: $AZURE_CLIENT_ID
  clientSecret: {name: demo-identity, namespace: default}
  allowedNamespaces: {list: [default]}
END
kubectl create secret generic demo-identity --from-literal=clientSecret="$AZURE_CLIENT_SECRET"
kubectl label secret demo-identity clusterctl.cluster.x-k8s.io/move=
`

func (w *world) azureVariables() []string {
	return []string{
		"WINDOWS_CLOUD=azure", "KUBERNETES_VERSION=" + kubernetesVersion, "AZURE_TENANT_ID=" + armsim.Tenant,
		"AZURE_CLIENT_ID=" + armsim.ClientID, "AZURE_CLIENT_SECRET=" + armsim.Secret,
		"AZURE_SUBSCRIPTION_ID=" + armsim.Subscription, "AZURE_LOCATION=" + armsim.Location, "CLUSTER_IDENTITY_NAME=demo-identity",
		"AZURE_NODE_IDENTITY=" + armsim.IdentityID, "AZURE_WINDOWS_GALLERY=ClusterAPI-f72ceb4f",
		"AZURE_SSH_PUBLIC_KEY_B64=c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmth" +
			"R3h3ZEhoOGcgYWRtaW5AZXhhbXBsZS5jb20=",
	}
}
