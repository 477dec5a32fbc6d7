package frontdoor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cloudprovider"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

const azureConfigFile = "/etc/kubernetes/azure.json"

// cloudProvider is what containers of Azure's cloud provider do on Linux VMs. The controller manager is the real program, if REAL
// has it; what stands for the node manager initialises the Node that it runs on. What that does on Windows is the lab's.
func (w *world) cloudProvider(ctx context.Context, vm *linuxvm.VM, p *pods.Process) (is bool, err error) {
	workload, api := w.demo().Workload()
	if api == nil {
		return false, nil
	}
	switch image := p.Container.Image; {
	case strings.Contains(image, "/azure-cloud-controller-manager:"):
		w.tell("the cloud controller manager %s is %s", p.Pod.Name, who(w.azure.controller, "azure-ccm"))
		return true, w.azure.control(ctx, vm, p, cloudprovider.Manager{
			Program: w.azure.controller, Name: p.Pod.Name, Account: p.Pod.Spec.ServiceAccountName, Cloud: w.azure.Cloud,
			Workload: workload, API: api,
		})
	case strings.Contains(image, "/azure-cloud-node-manager:"):
		repeat(ctx, p, func() error { return w.azure.initialize(ctx, api, p.Pod.Spec.NodeName) })
		return true, nil
	}
	return false, nil
}

// who names the real program, or what plays it.
func who(program, name string) string {
	if program == "" {
		return "our stand-in for " + name
	}
	return "the real " + name
}

// control runs the controller manager in a container. The simulated Azure has no routes, so none are made there.
func (a *azure) control(ctx context.Context, vm *linuxvm.VM, p *pods.Process, m cloudprovider.Manager) (err error) {
	if m.Config, err = a.configure(ctx, vm, p); err == nil {
		m.Arguments = append(slices.Clone(p.Container.Args), "--configure-cloud-routes=false")
		m.Started, m.Log = p.Started, p.Stderr
		err = m.Run(ctx)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "E0101 %v\n", err)
		return pods.ExitError(1)
	}
	return nil
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

// configure is how the controller manager starts (pkg/provider/azure.go, NewCloudFromConfigFile): it ends if it has no file that
// it can read, or if its identity may not ask Azure, which it does before all else. It returns the file.
func (a *azure) configure(ctx context.Context, vm *linuxvm.VM, p *pods.Process) ([]byte, error) {
	file := cloudprovider.Argument(p.Container.Args, "--cloud-config")
	text, err := vm.Mounted(p, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q err=%q configFilePath=%q", "Couldn't open cloud provider configuration",
			"open "+file+": no such file or directory", file)
	}
	if err != nil {
		return nil, err
	}
	config, err := cloudprovider.ReadConfig(text)
	if err != nil {
		return nil, err
	}
	if err := a.logIn(ctx, vm, config); err != nil {
		return nil, fmt.Errorf("\"Failed to sync regional zones map for the first time\" err=\"%w\"", err)
	}
	return text, a.knows(config)
}

// logIn is what the VM's endpoint for tokens answers: by a managed identity of the VM, named by the id of its client or by its
// own (pkg/azclient/auth_func.go). A secret in the file is not played: no flavor may bring one to a disk.
func (a *azure) logIn(ctx context.Context, vm *linuxvm.VM, config cloudprovider.Config) error {
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
func (a *azure) knows(config cloudprovider.Config) (err error) {
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
	a.mu.Lock()
	id, address := a.linux[name], a.addresses[name]
	a.mu.Unlock()
	if address == "" {
		return nil
	}
	return cloudprovider.Initialize(ctx, api, name, cloudprovider.FactsOf(a.Cloud, id, address))
}

// cloudControllerRuns waits for the pod of Azure's controller manager. Where its container ends, kubectl logs says why.
func (w *world) cloudControllerRuns() {
	w.Helper()
	demo, api := w.demo().Workload()
	ctx, cancel := wait.Within(w.Context(), patience)
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
