package cloudprovider_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cloudprovider"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// The resource groups besides the cluster's.
const (
	ownGroup  = "windows-nodes"
	loneGroup = "other-nodes"
)

// stage is a cluster with Nodes that are not ready, whose VMs are in the simulated Azure.
type stage struct {
	*testing.T
	cloud    *armsim.Cloud
	workload *servers.Workload
	api      kubernetes.Interface
}

// row is a Node and its VM.
type row struct {
	name string
	// group has the VM; empty is a Node without one in Azure.
	group string
	// says that the spec of its machine names the group.
	says bool
	// missing has no VM, although the provider ID says where it is.
	missing bool
	ready   bool
}

// kept are the Nodes that the manager must not delete, whoever it is.
var kept = []row{
	{name: "inherits", group: armsim.Group},
	{name: "says-the-cluster", group: armsim.Group, says: true},
	{name: "says-its-own", group: ownGroup, says: true},
	{name: "ready-unlabelled", group: ownGroup, ready: true},
	// No Node has the label of this group, so the manager lists none of its VMs, and keeps what it knows nothing of. With the VM
	// type vmss that is so for a VM that is gone, too.
	{name: "lone-unlabelled", group: loneGroup},
	{name: "missing", group: armsim.Group, missing: true},
	{name: "elsewhere"},
}

// TestNodesThatAreNotReady: Azure's cloud controller manager keeps the Nodes that our machines join, in the cluster's resource
// group and in one of their own, by the label that they join with. Without the label it deletes a Node as soon as it is not
// ready.
func TestNodesThatAreNotReady(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	s := newStage(t)
	for _, one := range kept {
		s.add(one)
	}
	// These have no label beside one of their group that has it.
	marks := []row{
		{name: "unlabelled-1", group: ownGroup}, {name: "unlabelled-2", group: ownGroup}, {name: "unlabelled-3", group: ownGroup},
	}
	for _, one := range marks {
		s.makeVM(one)
	}
	s.run(peers.Program(t, peers.AzureCCM))
	// A Node that comes after another was deleted is seen by the next look at all Nodes, and so all others are seen by the third.
	for _, one := range marks {
		s.makeNode(one)
		wait.Until(t, "Node "+one.name+" to be deleted", func() (any, bool) {
			_, err := s.api.CoreV1().Nodes().Get(t.Context(), one.name, metav1.GetOptions{})
			return err, apierrors.IsNotFound(err)
		})
	}
	var there []string
	list := expect.Got(s.api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "test=yes"}))(t)
	for _, one := range list.Items {
		there = append(there, one.Name)
	}
	var wanted []string
	for _, one := range kept {
		wanted = append(wanted, one.name)
	}
	slices.Sort(wanted)
	expect.Same(t, "Nodes that are left", wanted, there)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	binaries := expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	w := expect.Got(servers.StartWorkload(t.Context(), servers.WorkloadOptions{Binaries: binaries, Dir: t.TempDir()}))(t)
	t.Cleanup(func() { expect.Fine(t, w.Stop()) })
	s := &stage{
		T: t, workload: w, api: expect.Got(kubernetes.NewForConfig(w.Config))(t), cloud: armsim.Start("127.0.0.1:0", time.Now()),
	}
	t.Cleanup(s.cloud.Close)
	for _, group := range []string{ownGroup, loneGroup} {
		s.cloud.AddGroup(armsim.Subscription, group)
	}
	// The one of the control plane has no kubelet, and is for others to keep.
	expect.OK(t, s.api.CoreV1().Nodes().Delete(t.Context(), servers.ControlPlaneNode, metav1.DeleteOptions{}))
	return s
}

// run runs the manager until the test ends, and says which one.
func (s *stage) run(program string) {
	s.Helper()
	who := "the stand-in"
	if program != "" {
		who = "the real azure-ccm"
		expect.OK(s, s.workload.InstallAzureController(s.Context()))
	}
	s.Logf("the cloud controller manager is %s", who)
	ctx, cancel := context.WithCancel(s.Context())
	over, started := make(chan error, 1), make(chan struct{})
	m := cloudprovider.Manager{
		Program: program, Name: servers.AzureAccount, Account: servers.AzureAccount, Cloud: s.cloud, Workload: s.workload, API: s.api,
		Config: azureJSON(s.T), Log: s.Output(),
		Arguments: append(slices.Clone(cloudprovider.ChartArguments), "--node-monitor-period=1s"), Started: func() { close(started) },
	}
	go func() { over <- m.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		expect.Fine(s, <-over)
		if text, err := s.workload.AzureControllerPrinted(servers.AzureAccount); err == nil && s.Failed() {
			s.Log(text)
		}
	})
	select {
	case <-started:
	case err := <-over:
		over <- err
		s.Fatalf("the manager has ended: %v", err)
	}
}

// azureJSON is as Cluster API Provider Azure writes it.
func azureJSON(t *testing.T) []byte {
	t.Helper()
	return expect.Got(json.Marshal(map[string]any{
		"cloud": "AzurePublicCloud", "tenantId": armsim.Tenant, "subscriptionId": armsim.Subscription, "resourceGroup": armsim.Group,
		"location": armsim.Location, "vmType": "vmss", "vnetName": armsim.VNet, "vnetResourceGroup": armsim.NetworkGroup,
		"subnetName": armsim.SubnetName, "securityGroupName": "nodes", "securityGroupResourceGroup": armsim.NetworkGroup,
		"routeTableName": "nodes", "loadBalancerSku": "Standard", "maximumLoadBalancerRuleCount": 250, "enableVmssFlexNodes": true,
		"useManagedIdentityExtension": true, "useInstanceMetadata": true, "userAssignedIdentityID": armsim.IdentityID,
	}))(t)
}

func (s *stage) add(one row) {
	s.Helper()
	if one.group != "" && !one.missing {
		s.makeVM(one)
	}
	s.makeNode(one)
}

func (r row) id() doc.ID {
	return doc.Resource(armsim.Subscription, r.group, compute.Provider, "virtualMachines", r.name)
}

func (s *stage) makeVM(one row) {
	s.Helper()
	adapter := doc.Object{"name": one.name, "properties": doc.Object{"primary": true, "ipConfigurations": []any{doc.Object{
		"name": "primary", "properties": doc.Object{"primary": true, "subnet": doc.Object{"id": armsim.SubnetID}},
	}}}}
	body := doc.Object{"location": armsim.Location, "properties": doc.Object{
		"hardwareProfile": doc.Object{"vmSize": "Standard_D2s_v5"},
		"storageProfile": doc.Object{
			"imageReference": doc.Object{"id": armsim.ManagedImage},
			"osDisk":         doc.Object{"createOption": "FromImage", "deleteOption": "Delete"},
		},
		"osProfile":      doc.Object{"computerName": one.name, "adminUsername": "capwin", "adminPassword": "A long s3cret word!"},
		"networkProfile": doc.Object{"networkApiVersion": "2020-11-01", "networkInterfaceConfigurations": []any{adapter}},
	}}
	s.cloud.Change(func(in *armsim.Inside) {
		if _, refused := in.Compute.Put(compute.Request{ID: one.id(), Body: body, Version: "2024-11-01"}); refused != nil {
			s.Errorf("the VM %s is refused: %+v", one.name, refused)
		}
	})
	s.cloud.Advance(5 * time.Minute)
}

// makeNode joins a Node as the kubelet of a machine does, with the labels that our bootstrap gives it.
func (s *stage) makeNode(one row) {
	s.Helper()
	m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	m.Spec.ProviderID = "azure://" + strings.Replace(one.id().String(), one.group, strings.ToLower(one.group), 1)
	if one.says {
		m.Spec.Azure.ResourceGroup = one.group
	}
	if one.group == "" {
		m.Spec = infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}, ProviderID: "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11"}
	}
	labels, _, err := bootstrap.Registered(bootstrapv1.WindowsBootstrapConfigSpec{}, m)
	expect.OK(s, err)
	labels["test"] = "yes"
	kubelet := nodes.Kubelet{Name: one.name, Labels: labels, ProviderID: m.Spec.ProviderID, Now: time.Now()}
	kubelet.Info.OperatingSystem = "windows"
	if !one.ready {
		kubelet.NotReady = nodes.NoNetwork
	}
	expect.OK(s, kubelet.Register(s.Context(), s.api))
}
