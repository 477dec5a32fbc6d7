package linuxvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
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
// controllers of clusters and machines, and that of azure.json (controllers/azurejson_machinetemplate_controller.go).
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

// ensureAzureJSON makes the Secret with azure.json, which has the name of the machine template in its own.
func (m *Manager) ensureAzureJSON(ctx context.Context, o *object) error {
	of := &object{&unstructured.Unstructured{}, o.cluster}
	of.SetGroupVersionKind(capzKind("AzureCluster"))
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.cluster.Spec.InfrastructureRef.Name}
	if key.Name == "" || o.cluster.Spec.InfrastructureRef.Kind != "AzureCluster" {
		return nil
	}
	if err := m.Client.Get(ctx, key, of.Unstructured); err != nil {
		return err
	}
	config, err := m.cloudConfig(ctx, o, of)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(config, "", "    ")
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName() + "-azure-json", Labels: map[string]string{o.cluster.Name: "owned"},
	}}
	_, err = controllerutil.CreateOrPatch(ctx, m.Client, secret, func() error {
		secret.Data = map[string][]byte{"control-plane-azure.json": text, "worker-node-azure.json": text, "azure.json": text}
		return controllerutil.SetControllerReference(o, secret, m.Client.Scheme())
	})
	return err
}

// cloudConfig is controllers/helpers.go, newCloudProviderConfig, and what the kind of the VM's identity makes of it.
func (m *Manager) cloudConfig(ctx context.Context, template, cluster *object) (map[string]any, error) {
	identity, err := m.identityOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	of, n := &object{identity, cluster.cluster}, networkOf(cluster)
	config := map[string]any{
		"cloud": "AzurePublicCloud", "tenantId": of.text("spec", "tenantID"), "subscriptionId": n.Subscription,
		"resourceGroup": n.Group, "securityGroupName": n.SecurityGroup, "securityGroupResourceGroup": n.VNetGroup,
		"location": n.Location, "vmType": "vmss", "vnetName": n.VNet, "vnetResourceGroup": n.VNetGroup, "subnetName": n.Subnet,
		"routeTableName": n.RouteTable, "loadBalancerSku": "Standard", "loadBalancerName": "", "maximumLoadBalancerRuleCount": 250,
		"useManagedIdentityExtension": true, "useInstanceMetadata": true,
	}
	switch template.text("spec", "template", "spec", "identity") {
	case "SystemAssigned":
		return config, nil
	case "UserAssigned":
		ids := identitiesIn(template, "spec", "template", "spec")
		if len(ids) == 0 {
			return nil, errors.New("failed to create cloud provider config: expected a non-empty userIdentityID")
		}
		if config["userAssignedIdentityID"], err = m.Azure.ClientID(ctx, ids[0]); err != nil {
			return nil, fmt.Errorf("failed to get user-assigned identity ClientID: %w", err)
		}
		return config, nil
	}
	config["useManagedIdentityExtension"], config["aadClientId"] = false, of.text("spec", "clientID")
	if of.text("spec", "type") != "ServicePrincipal" {
		return config, nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: of.text("spec", "clientSecret", "namespace"), Name: of.text("spec", "clientSecret", "name")}
	if err := m.Client.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	config["aadClientSecret"] = string(secret.Data["clientSecret"])
	return config, nil
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

func (m *Manager) ensureAzureMachine(ctx context.Context, o *object) error {
	data, err := m.bootstrapData(ctx, o)
	if err != nil || data == nil {
		return err
	}
	of := &object{&unstructured.Unstructured{}, o.cluster}
	of.SetGroupVersionKind(capzKind("AzureCluster"))
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.cluster.Spec.InfrastructureRef.Name}
	if err := m.Client.Get(ctx, key, of.Unstructured); err != nil {
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

func (m *Manager) removeAzureMachine(ctx context.Context, o *object) (gone bool, err error) {
	if err := m.VMs.Remove(o.GetName()); err != nil {
		return false, err
	}
	return true, m.Azure.Destroy(ctx, o.GetName())
}
