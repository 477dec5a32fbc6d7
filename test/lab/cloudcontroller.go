package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

// uninitialized is the taint that a kubelet with --cloud-provider=external puts on its node.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

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

// runAzureCloudController does for Nodes in Azure what Azure's cloud controller manager does in a real cluster: one whose VM the
// cloud knows gets its address and loses the taint.
func (l *Lab) runAzureCloudController() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if err := l.initializeNodes(ctx); err != nil && ctx.Err() == nil {
					fmt.Fprintf(l.options.Progress, "cloud controller: %v\n", err)
				}
			}
		}
	}()
	return func() { cancel(); <-over }
}

func (l *Lab) initializeNodes(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := l.WorkloadClient.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		isIt := func(t corev1.Taint) bool { return t.Key == uninitialized }
		if !strings.HasPrefix(node.Spec.ProviderID, "azure://") || !slices.ContainsFunc(node.Spec.Taints, isIt) {
			continue
		}
		address, err := l.addressOf(ctx, node.Spec.ProviderID)
		if err != nil {
			return err
		}
		if address == "" {
			continue
		}
		before := node.DeepCopy()
		node.Status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: node.Name},
		}
		if err := l.WorkloadClient.Status().Patch(ctx, &node, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("give node %s its address: %w", node.Name, err)
		}
		before = node.DeepCopy()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isIt)
		lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := l.WorkloadClient.Patch(ctx, &node, lock); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("take taint off node %s: %w", node.Name, err)
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
