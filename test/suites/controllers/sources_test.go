package controllers

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestCloudConfigFile waits for where the machine is, from which the file is written.
func TestCloudConfigFile(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Config.Spec.Node.CloudConfigFile = bootstrapv1.CloudConfigFileManaged
	m.Create(t)
	waiting := m.Await(t, "notice", world.Config("DataSecretAvailable False WaitingForMachinePlacement"), world.Tokens(0))
	const id = "11111111-2222-3333-4444-555555555555"
	placed := waiting.Windows.DeepCopy()
	placed.Status.Azure = &infrav1.AzurePlacement{
		Cloud: infrav1.AzurePublicCloud, TenantID: id, SubscriptionID: id, ResourceGroup: "nodes", Location: "westeurope",
		SubnetIDs: []string{
			"/subscriptions/" + id + "/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes",
		},
	}
	expect.OK(t, s.Client.Status().Patch(t.Context(), placed, client.MergeFrom(waiting.Windows)))
	m.Await(t, "life with it", world.Config("DataSecretAvailable True DataSecretAvailable"), world.Tokens(1))
}

// TestDiscoveryWithoutCA has a cluster whose CA is not in the management cluster, and a kubeconfig that has it.
func TestDiscoveryWithoutCA(t *testing.T) {
	s := ready(t)
	meta := metav1.ObjectMeta{Namespace: s.Name, Name: world.ClusterName + "-ca"}
	expect.OK(t, s.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: meta}))
	m := s.machine("m")
	m.Config.Spec.Discovery.KubeconfigFrom.Secret = bootstrapv1.KeyReference{Name: "discovery", Key: "kubeconfig"}
	m.Create(t)
	m.Await(t, "notice", world.Config("Ready Unknown WaitingForSources"), world.Tokens(0))
	meta.Name = "discovery"
	text := "{kind: Config, clusters: [{cluster: {server: 'https://10.0.0.10:6443', certificate-authority-data: " +
		base64.StdEncoding.EncodeToString(s.Management.Config.CAData) + "}}]}"
	expect.OK(t, s.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": []byte(text)}}))
	s.process.Later(t, world.Configs, m.Key)
	state := m.Await(t, "life with it", world.Windows("Ready True Running"), world.Tokens(1))
	rendered, err := scripts.Plan(state.Data.Data["value"])
	if err != nil || !strings.Contains(string(rendered), "/run/kubeadm/discovery.yaml") {
		t.Errorf("the node does not find its cluster by the kubeconfig (%v)", err)
	}
}
