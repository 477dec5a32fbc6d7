package linuxvm

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Azure makes the VMs of a subscription.
type Azure interface {
	// Network makes the network of a cluster and the address of its load balancer, unless they are there.
	Network(ctx context.Context, cluster AzureNetwork) (host string, port int, err error)
	// Ensure gives a Linux VM of this name its id, the UUID that Linux sees, and its address.
	Ensure(ctx context.Context, group, name string) (id, system, address string, err error)
	// Destroy removes a VM. One that is not there is fine.
	Destroy(ctx context.Context, name string) error
	// ClientID is that of a managed identity.
	ClientID(ctx context.Context, identity string) (string, error)
}

// AzureNetwork is where the VMs of a cluster are.
type AzureNetwork struct {
	Subscription, Group, Location, VNetGroup, VNet, Subnet string
	// SecurityGroup and RouteTable are those of the subnet.
	SecurityGroup, RouteTable string
}

func capzKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: kind}
}

// capz is Cluster API Provider Azure v1.27.0: the defaults of its webhook (internal/api/v1beta1/azurecluster_default.go), its
// controllers of clusters and machines, and that of azure.json.
func (m *Manager) capz() []provider {
	if m.Azure == nil {
		return nil
	}
	return []provider{
		{
			kind: capzKind("AzureCluster"), finalizer: "azurecluster.infrastructure.cluster.x-k8s.io",
			ensure: m.ensureAzureCluster, remove: m.removeAzureCluster,
		},
		{kind: capzKind("AzureMachineTemplate"), ensure: m.ensureAzureJSON},
		{
			kind: capzKind("AzureMachine"), finalizer: "azuremachine.infrastructure.cluster.x-k8s.io",
			ensure: m.ensureAzureMachine, remove: m.removeAzureMachine,
		},
	}
}

// networkOf is what the defaults of the webhook make of the spec.
func networkOf(o *object) AzureNetwork {
	either := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	n := AzureNetwork{
		Subscription: o.text("spec", "subscriptionID"), Location: o.text("spec", "location"),
		Group: either(o.text("spec", "resourceGroup"), o.cluster.Name),
		VNet:  either(o.text("spec", "networkSpec", "vnet", "name"), o.cluster.Name+"-vnet"),
	}
	n.VNetGroup = either(o.text("spec", "networkSpec", "vnet", "resourceGroup"), n.Group)
	for _, subnet := range subnetsOf(o) {
		if subnet["role"] == "node" {
			n.Subnet, n.SecurityGroup, n.RouteTable = nameIn(subnet), nameIn(subnet["securityGroup"]), nameIn(subnet["routeTable"])
		}
	}
	return n
}

// subnetsOf are those of the spec, or both that a cluster has, with what the defaults add.
func subnetsOf(o *object) (subnets []map[string]any) {
	found, _, _ := unstructured.NestedSlice(o.Object, "spec", "networkSpec", "subnets")
	if len(found) == 0 {
		found = []any{
			map[string]any{"name": o.cluster.Name + "-controlplane-subnet", "role": "control-plane"},
			map[string]any{"name": o.cluster.Name + "-node-subnet", "role": "node"},
		}
	}
	for _, one := range found {
		subnet, ok := one.(map[string]any)
		if !ok {
			continue
		}
		if subnet["role"] == "node" {
			add(subnet, "securityGroup", o.cluster.Name+"-node-nsg")
			add(subnet, "routeTable", o.cluster.Name+"-node-routetable")
		} else {
			add(subnet, "securityGroup", o.cluster.Name+"-controlplane-nsg")
		}
		subnets = append(subnets, subnet)
	}
	return subnets
}

func add(to map[string]any, part, name string) {
	if to[part] == nil {
		to[part] = map[string]any{"name": name}
	}
}

func nameIn(of any) string {
	part, _ := of.(map[string]any)
	name, _ := part["name"].(string)
	return name
}

func (m *Manager) ensureAzureCluster(ctx context.Context, o *object) error {
	n := networkOf(o)
	if o.is("status", "ready") {
		return m.lead(ctx, o)
	}
	if _, err := m.identityOf(ctx, o); err != nil {
		return err
	}
	host, port, err := m.Azure.Network(ctx, n)
	if err != nil {
		return err
	}
	var subnets []any
	for _, subnet := range subnetsOf(o) {
		subnets = append(subnets, subnet)
	}
	return m.set(ctx, o,
		field{[]string{"spec", "resourceGroup"}, n.Group},
		field{[]string{"spec", "networkSpec", "vnet", "name"}, n.VNet},
		field{[]string{"spec", "networkSpec", "vnet", "resourceGroup"}, n.VNetGroup},
		field{[]string{"spec", "networkSpec", "subnets"}, subnets},
		field{[]string{"spec", "controlPlaneEndpoint"}, map[string]any{"host": host, "port": int64(port)}},
		field{[]string{"status", "ready"}, true})
}

// lead has the load balancer of a cluster listen.
func (m *Manager) lead(ctx context.Context, o *object) error {
	cluster := m.VMs.Cluster(client.ObjectKeyFromObject(o.cluster))
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	if cluster.front != nil {
		return nil
	}
	port, _, _ := unstructured.NestedInt64(o.Object, "spec", "controlPlaneEndpoint", "port")
	var err error
	cluster.front, err = newFront(context.WithoutCancel(ctx),
		net.JoinHostPort(o.text("spec", "controlPlaneEndpoint", "host"), strconv.FormatInt(port, 10)))
	return err
}

// identityOf is the AzureClusterIdentity, which must let the cluster's namespace use it.
func (m *Manager) identityOf(ctx context.Context, o *object) (*unstructured.Unstructured, error) {
	identity := &unstructured.Unstructured{}
	identity.SetGroupVersionKind(capzKind("AzureClusterIdentity"))
	key := client.ObjectKey{Namespace: o.text("spec", "identityRef", "namespace"), Name: o.text("spec", "identityRef", "name")}
	if key.Namespace == "" {
		key.Namespace = o.GetNamespace()
	}
	if err := m.Client.Get(ctx, key, identity); err != nil {
		return nil, err
	}
	if allowed, found, _ := unstructured.NestedMap(identity.Object, "spec", "allowedNamespaces"); !found || allowed == nil {
		return nil, fmt.Errorf("AzureClusterIdentity %s list of allowed namespaces doesn't include current cluster namespace", key.Name)
	}
	return identity, nil
}

func (m *Manager) removeAzureCluster(ctx context.Context, o *object) (gone bool, err error) {
	left, err := m.inCluster(ctx, o, capzKind("AzureMachine"))
	if err != nil || left > 0 {
		return false, err
	}
	cluster := m.VMs.Cluster(client.ObjectKeyFromObject(o.cluster))
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	if cluster.front != nil {
		cluster.front.close()
		cluster.front = nil
	}
	return true, nil
}

func (m *Manager) ensureAzureMachine(ctx context.Context, o *object) error {
	data, err := m.bootstrapData(ctx, o)
	if err != nil || data == nil {
		return err
	}
	of, err := m.azureClusterOf(ctx, o)
	if err != nil {
		return err
	}
	id, system, address, err := m.Azure.Ensure(ctx, networkOf(of).Group, o.GetName())
	if err != nil {
		return err
	}
	m.VMs.Ensure(Spec{
		Name: o.GetName(), Cluster: client.ObjectKeyFromObject(o.cluster), UserData: data, Address: address, SystemUUID: system,
		Identities: identitiesIn(o, "spec"),
	})
	if o.is("status", "ready") {
		return nil
	}
	return m.set(ctx, o, field{[]string{"spec", "providerID"}, "azure://" + id},
		field{[]string{"status", "addresses"}, []any{
			map[string]any{"type": string(clusterv1.MachineInternalIP), "address": address},
			map[string]any{"type": "InternalDNS", "address": o.GetName()},
		}},
		field{[]string{"status", "vmState"}, "Succeeded"}, field{[]string{"status", "ready"}, true})
}

// identitiesIn are the ids of the managed identities that the spec of a machine has.
func identitiesIn(o *object, path ...string) (ids []string) {
	all, _, _ := unstructured.NestedSlice(o.Object, append(path, "userAssignedIdentities")...)
	for _, one := range all {
		identity, _ := one.(map[string]any)
		id, _ := identity["providerID"].(string)
		ids = append(ids, strings.TrimPrefix(id, "azure://"))
	}
	return ids
}

func (m *Manager) azureClusterOf(ctx context.Context, o *object) (*object, error) {
	of := &object{&unstructured.Unstructured{}, o.cluster}
	of.SetGroupVersionKind(capzKind("AzureCluster"))
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.cluster.Spec.InfrastructureRef.Name}
	return of, m.Client.Get(ctx, key, of.Unstructured)
}

func (m *Manager) removeAzureMachine(ctx context.Context, o *object) (gone bool, err error) {
	if err := m.VMs.Remove(o.GetName()); err != nil {
		return false, err
	}
	return true, m.Azure.Destroy(ctx, o.GetName())
}
