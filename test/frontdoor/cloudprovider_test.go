package frontdoor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/frontdoor/linuxvm"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/pods"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

const azureConfigFile = "/etc/kubernetes/azure.json"

// cloudProvider is what containers of Azure's cloud provider do on Linux VMs (kubernetes-sigs/cloud-provider-azure 073c782): the
// node manager initialises the node that it runs on, the controller manager gives nodes their ranges of addresses for pods. What
// the node manager does on Windows is the lab's.
func (w *world) cloudProvider(ctx context.Context, vm *linuxvm.VM, p *pods.Process) (is bool, err error) {
	_, api := w.demo().Workload()
	if api == nil {
		return false, nil
	}
	switch image := p.Container.Image; {
	case strings.Contains(image, "/azure-cloud-controller-manager:"):
		if err := w.azure.configure(ctx, vm, p); err != nil {
			fmt.Fprintf(p.Stderr, "E0101 %v\n", err)
			return true, pods.ExitError(1)
		}
		repeat(ctx, p, func() error { return giveRanges(ctx, api, p.Container.Args) })
		return true, nil
	case strings.Contains(image, "/azure-cloud-node-manager:"):
		repeat(ctx, p, func() error { return w.azure.initialize(ctx, api, p.Pod.Spec.NodeName) })
		return true, nil
	}
	return false, nil
}

// repeat is a container that does something again and again, and writes in its log why that fails.
func repeat(ctx context.Context, p *pods.Process, do func() error) {
	p.Started()
	for tick := time.NewTicker(time.Second / 2); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if err := do(); err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.Stderr, "E0101 %v\n", err)
		}
	}
}

// cloudConfig is what the controller manager reads in azure.json.
type cloudConfig struct {
	SubscriptionID, Location, ResourceGroup                 string
	VNetName, VNetResourceGroup, SubnetName, RouteTableName string
	SecurityGroupName, SecurityGroupResourceGroup           string
	UseManagedIdentityExtension                             bool
	UserAssignedIdentityID                                  string
}

// configure is how the controller manager starts (pkg/provider/azure.go, NewCloudFromConfigFile): it ends if it has no file that
// it can read, or if its identity may not ask Azure, which it does before all else.
func (a *azure) configure(ctx context.Context, vm *linuxvm.VM, p *pods.Process) error {
	file := argument(p.Container.Args, "--cloud-config")
	text, err := vm.Mounted(p, file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q err=%q configFilePath=%q", "Couldn't open cloud provider configuration",
			"open "+file+": no such file or directory", file)
	}
	if err != nil {
		return err
	}
	var config cloudConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("\"Failed to parse Azure cloud provider config\" err=\"%w\"", err)
	}
	if err := a.logIn(ctx, vm, config); err != nil {
		return fmt.Errorf("\"Failed to sync regional zones map for the first time\" err=\"%w\"", err)
	}
	return a.knows(config)
}

// logIn is by a managed identity of the VM, named by the id of its client or by its own (pkg/azclient/auth_func.go). A secret in
// the file is not played: no flavor may bring one to a disk.
func (a *azure) logIn(ctx context.Context, vm *linuxvm.VM, config cloudConfig) error {
	if !config.UseManagedIdentityExtension {
		return errors.New("no valid authentication method found: azure.json asks for no managed identity")
	}
	for _, id := range vm.Identities {
		client, err := a.ClientID(ctx, id)
		if err != nil {
			return err
		}
		if strings.EqualFold(id, config.UserAssignedIdentityID) || client == config.UserAssignedIdentityID {
			return nil
		}
	}
	return fmt.Errorf("ManagedIdentityCredential: Identity not found: VM %s has %q, azure.json names %q",
		vm.Name, vm.Identities, config.UserAssignedIdentityID)
}

// knows asks at once for what upstream asks for with the first route and the first load balancer.
func (a *azure) knows(config cloudConfig) (err error) {
	id := func(group string, typeAndName ...string) doc.ID {
		return doc.Resource(config.SubscriptionID, group, "Microsoft.Network", typeAndName...)
	}
	a.Change(func(in *armsim.Inside) {
		if in.World.Group(config.SubscriptionID, config.ResourceGroup) == nil || config.Location != armsim.Location {
			err = fmt.Errorf("ResourceGroupNotFound: %s in %s of %s", config.ResourceGroup, config.Location, config.SubscriptionID)
			return
		}
		for _, one := range []doc.ID{
			id(config.VNetResourceGroup, "virtualNetworks", config.VNetName, "subnets", config.SubnetName),
			id(config.SecurityGroupResourceGroup, "networkSecurityGroups", config.SecurityGroupName),
			id(config.VNetResourceGroup, "routeTables", config.RouteTableName),
		} {
			if in.World.Find(one) == nil {
				err = fmt.Errorf("ResourceNotFound: %s", one)
			}
		}
	})
	return err
}

// initialize tells the Node what the cloud knows, and takes the taint off.
func (a *azure) initialize(ctx context.Context, api kubernetes.Interface, name string) error {
	isIt := func(t corev1.Taint) bool { return t.Key == "node.cloudprovider.kubernetes.io/uninitialized" }
	node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	a.mu.Lock()
	id, address := a.linux[name], a.addresses[name]
	a.mu.Unlock()
	if !slices.ContainsFunc(node.Spec.Taints, isIt) || address == "" {
		return nil
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
	}}})
	if err == nil {
		node, err = api.CoreV1().Nodes().PatchStatus(ctx, name, status)
	}
	if err != nil {
		return fmt.Errorf("give node %s its address: %w", name, err)
	}
	node.Spec.ProviderID = cmp.Or(node.Spec.ProviderID, "azure://"+id)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isIt)
	_, err = api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// giveRanges is the controller of node addresses (kubernetes v1.36.3, pkg/controller/nodeipam), which the manager runs where it
// is told to.
func giveRanges(ctx context.Context, api kubernetes.Interface, args []string) error {
	_, all, err := net.ParseCIDR(argument(args, "--cluster-cidr"))
	if argument(args, "--allocate-node-cidrs") != "true" || err != nil {
		return err
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, node := range nodes.Items {
		taken[node.Spec.PodCIDR] = true
	}
	for _, node := range nodes.Items {
		for i := byte(0); node.Spec.PodCIDR == "" && i < 255; i++ {
			one := fmt.Sprintf("%d.%d.%d.0/24", all.IP[0], all.IP[1], i)
			if taken[one] {
				continue
			}
			taken[one], node.Spec.PodCIDR = true, one
			patch := fmt.Appendf(nil, `{"spec":{"podCIDR":%q,"podCIDRs":[%q]}}`, one, one)
			if _, err := api.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("give node %s its range: %w", node.Name, err)
			}
		}
	}
	return nil
}

func argument(args []string, name string) string {
	for _, one := range args {
		if value, found := strings.CutPrefix(one, name+"="); found {
			return value
		}
	}
	return ""
}

// cloudControllerRuns waits for the pod of Azure's controller manager. Where its container ends, kubectl logs says why.
func (w *world) cloudControllerRuns() {
	w.Helper()
	demo, api := w.demo().Workload()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	err := wait.Poll(ctx, func(ctx context.Context) error {
		found, err := api.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
			LabelSelector: "component=cloud-controller-manager",
		})
		if err != nil {
			return err
		}
		for _, pod := range found.Items {
			for _, one := range pod.Status.ContainerStatuses {
				if waits := one.State.Waiting; waits != nil && waits.Reason == "CrashLoopBackOff" {
					logs, _ := w.try(&management{}, "kubectl --kubeconfig "+demo.KubeconfigFile+" -n kube-system logs "+pod.Name)
					return wait.Final(fmt.Errorf("%s\nkubectl logs: %s", waits.Message, logs))
				}
				if one.Ready {
					return nil
				}
			}
		}
		return fmt.Errorf("%d pods, and none is ready", len(found.Items))
	})
	if err != nil {
		w.Fatalf("Azure's cloud controller manager does not run: %v\n%s", err, w.show())
	}
}
