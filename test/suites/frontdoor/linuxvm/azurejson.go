package linuxvm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ensureAzureJSON is Cluster API Provider Azure's controller of azure.json, v1.27.0,
// controllers/azurejson_machinetemplate_controller.go: a Secret for each AzureMachineTemplate that a Cluster owns, which the
// garbage collector removes with its template. The controller of machines without a template is not played: there are none.
func (m *Manager) ensureAzureJSON(ctx context.Context, o *object) error {
	if !ownedByCluster(o) || o.cluster.Spec.InfrastructureRef.Kind != "AzureCluster" {
		return nil
	}
	of, err := m.azureClusterOf(ctx, o)
	if err != nil {
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
	kind, isController := o.GroupVersionKind(), true
	return m.keepAzureJSON(ctx, o, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.GetNamespace(), Name: o.GetName() + "-azure-json", Labels: map[string]string{o.cluster.Name: "owned"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: o.GetName(), UID: o.GetUID(), Controller: &isController,
			}},
		},
		Data: map[string][]byte{"control-plane-azure.json": text, "worker-node-azure.json": text, "azure.json": text},
	})
}

func ownedByCluster(o *object) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == clusterv1.ClusterKind && strings.HasPrefix(owner.APIVersion, clusterv1.GroupVersion.Group+"/") {
			return true
		}
	}
	return false
}

// keepAzureJSON is controllers/helpers.go, reconcileAzureSecret: a Secret that somebody else made stays as it is.
func (m *Manager) keepAzureJSON(ctx context.Context, o *object, wanted *corev1.Secret) error {
	old := &corev1.Secret{}
	err := m.Client.Get(ctx, client.ObjectKeyFromObject(wanted), old)
	if apierrors.IsNotFound(err) {
		err = m.Client.Create(ctx, wanted)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	if err != nil || old.Labels[o.cluster.Name] != "owned" {
		return err
	}
	changed := !reflect.DeepEqual(old.Data, wanted.Data)
	old.Data = wanted.Data
	owner, has := wanted.OwnerReferences[0], false
	for _, one := range old.OwnerReferences {
		has = has || one.Kind == owner.Kind && one.Name == owner.Name
	}
	if !has {
		old.OwnerReferences = append(old.OwnerReferences, owner)
	}
	if !changed && has {
		return nil
	}
	return m.Client.Update(ctx, old)
}

// cloudConfig is controllers/helpers.go, newCloudProviderConfig. Machines without an identity log in as the cluster's identity
// does: with a secret, if that has one.
func (m *Manager) cloudConfig(ctx context.Context, template, cluster *object) (map[string]any, error) {
	identity, err := m.identityOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	n := networkOf(cluster)
	tenant, _, _ := unstructured.NestedString(identity.Object, "spec", "tenantID")
	config := map[string]any{
		"cloud": "AzurePublicCloud", "tenantId": tenant, "subscriptionId": n.Subscription, "resourceGroup": n.Group,
		"securityGroupName": n.SecurityGroup, "securityGroupResourceGroup": n.VNetGroup, "location": n.Location, "vmType": "vmss",
		"vnetName": n.VNet, "vnetResourceGroup": n.VNetGroup, "subnetName": n.Subnet, "routeTableName": n.RouteTable,
		"loadBalancerSku": "Standard", "loadBalancerName": "", "maximumLoadBalancerRuleCount": 250,
		"useManagedIdentityExtension": true, "useInstanceMetadata": true,
		"enableVmssFlexNodes": true, // with the feature MachinePool, which is on (config/manager/manager.yaml)
	}
	switch template.text("spec", "template", "spec", "identity") {
	case "SystemAssigned":
		return config, nil
	case "UserAssigned":
	default: // None
		config["useManagedIdentityExtension"] = false
		config["aadClientId"], _, _ = unstructured.NestedString(identity.Object, "spec", "clientID")
		return config, m.addSecret(ctx, identity, config)
	}
	identities, _, _ := unstructured.NestedSlice(template.Object, "spec", "template", "spec", "userAssignedIdentities")
	if len(identities) == 0 {
		return nil, fmt.Errorf("failed to create cloud provider config: expected a non-empty userIdentityID")
	}
	first, _ := identities[0].(map[string]any)
	id, _ := first["providerID"].(string)
	clientID, err := m.Azure.ClientID(ctx, strings.TrimPrefix(id, "azure://"))
	if err != nil {
		return nil, fmt.Errorf("failed to get user-assigned identity ClientID: %w", err)
	}
	config["userAssignedIdentityID"] = clientID
	return config, nil
}

// addSecret is the secret of a service principal (azure/scope/identity.go, GetClientSecret).
func (m *Manager) addSecret(ctx context.Context, identity *unstructured.Unstructured, config map[string]any) error {
	if kind, _, _ := unstructured.NestedString(identity.Object, "spec", "type"); kind != "ServicePrincipal" {
		return nil
	}
	name, _, _ := unstructured.NestedString(identity.Object, "spec", "clientSecret", "name")
	namespace, _, _ := unstructured.NestedString(identity.Object, "spec", "clientSecret", "namespace")
	var secret corev1.Secret
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil {
		return fmt.Errorf("unable to fetch ClientSecret: %w", err)
	}
	config["aadClientSecret"] = string(secret.Data["clientSecret"])
	return nil
}
