package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cloudprovider"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// StartCloudController runs vSphere's own cloud controller manager, which gives the Nodes of the vCenter their addresses and
// takes the taint off. It may be left out at the start of a lab, as by those who install it late.
func (l *Lab) StartCloudController(ctx context.Context) error {
	begin := time.Now()
	l.door = l.VCenter.Open()
	err := l.Workload.StartCloudController(ctx, servers.VSphere{
		Server: l.door.Listener.Addr().String(), Thumbprint: soap.ThumbprintSHA256(l.door.Certificate()),
		Username: vcenter.CloudProvider, Password: vcenter.Password, Datacenter: vcenter.Datacenter,
	})
	if err != nil {
		return err
	}
	l.step("vSphere's cloud controller manager", begin)
	return nil
}

// runAzureCloudProvider runs what a cluster in Azure has of its cloud: the cloud controller manager, and what stands for the node
// managers of its Nodes.
func (l *Lab) runAzureCloudProvider(ctx context.Context) (stop func(), err error) {
	api, err := l.busyClient()
	if err != nil {
		return nil, err
	}
	if err := l.Workload.InstallAzureController(ctx); err != nil {
		return nil, err
	}
	config, err := l.azureJSON()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(l.Dir(), "azure-cloud-controller-manager.log"))
	if err != nil {
		return nil, err
	}
	manager := cloudprovider.Manager{
		Program: l.options.AzureController, Name: servers.AzureAccount, Account: servers.AzureAccount,
		Cloud: l.Azure, Workload: l.Workload, API: api, Config: config, Arguments: cloudprovider.ChartArguments,
		Log: log,
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var both sync.WaitGroup
	both.Go(func() {
		if err := manager.Run(ctx); err != nil {
			fmt.Fprintf(l.options.Progress, "Azure's cloud controller manager ends: %v\n", err)
		}
	})
	both.Go(func() { l.runNodeManagers(ctx, api) })
	return func() { cancel(); both.Wait(); _ = log.Close() }, nil
}

// azureJSON is that of the lab's cluster, as Cluster API Provider Azure v1.27.0 writes it (controllers/helpers.go,
// newCloudProviderConfig; enableVmssFlexNodes comes with its feature MachinePool, which is on).
func (l *Lab) azureJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"cloud": "AzurePublicCloud", "tenantId": armsim.Tenant, "subscriptionId": armsim.Subscription, "resourceGroup": armsim.Group,
		"location": armsim.Location, "vmType": "vmss", "enableVmssFlexNodes": true,
		"vnetName": armsim.VNet, "vnetResourceGroup": armsim.NetworkGroup, "subnetName": armsim.SubnetName,
		"securityGroupName": "nodes", "securityGroupResourceGroup": armsim.NetworkGroup, "routeTableName": "nodes",
		"loadBalancerSku": "Standard", "loadBalancerName": "", "maximumLoadBalancerRuleCount": 250,
		"useManagedIdentityExtension": true, "useInstanceMetadata": true, "userAssignedIdentityID": armsim.NodeClientID,
	})
}

// runNodeManagers does for Nodes in Azure what the node manager on each of them does.
func (l *Lab) runNodeManagers(ctx context.Context, api kubernetes.Interface) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			if err := l.initializeNodes(ctx, api); err != nil && ctx.Err() == nil {
				fmt.Fprintf(l.options.Progress, "cloud node manager: %v\n", err)
			}
		}
	}
}

func (l *Lab) initializeNodes(ctx context.Context, api kubernetes.Interface) error {
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		id, is := strings.CutPrefix(node.Spec.ProviderID, "azure://")
		if !is || !cloudprovider.Uninitialized(node) {
			continue
		}
		address, err := l.addressOf(ctx, node.Spec.ProviderID)
		if err != nil {
			return err
		}
		if address == "" {
			continue
		}
		facts := cloudprovider.FactsOf(l.Azure, id, address)
		if err := cloudprovider.Initialize(ctx, api, node.Name, facts); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// addressOf asks for the address of a VM; "" is a VM that the cloud does not know.
func (l *Lab) addressOf(ctx context.Context, providerID string) (string, error) {
	var machines infrav1.WindowsMachineList
	if err := l.Client.List(ctx, &machines); err != nil {
		return "", fmt.Errorf("list windowsmachines: %w", err)
	}
	for _, m := range machines.Items {
		for _, a := range m.Status.Addresses {
			if m.Spec.ProviderID == providerID && a.Type == "InternalIP" {
				return a.Address, nil
			}
		}
	}
	return "", nil
}
