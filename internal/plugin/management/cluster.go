package management

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/linux"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// Cluster reads from a management cluster the way to the workload cluster of a Cluster, and what its Windows machines will be:
// their Nodes, and how many pods each takes, which is 0 with another CNI than Calico.
// The kubeconfig is that of Cluster API's Secret, and is used as the managers use it: no file of this computer, and no program.
func Cluster(
	ctx context.Context, server *remote.Server, namespace, name string,
) (_ *remote.Server, _ linux.Machines, maxPods map[string]int, _ error) {
	key := types.NamespacedName{Namespace: namespace, Name: name + "-kubeconfig"}
	var kubeconfig corev1.Secret
	if err := secret(ctx, server, key, &kubeconfig); err != nil {
		return nil, linux.Machines{}, nil, fmt.Errorf("the Secret %s with the kubeconfig of Cluster %s/%s cannot be read from the cluster "+
			"%s: %w", key, namespace, name, server, err)
	}
	config, err := workload.Config(kubeconfig.Data["value"], key.Name)
	if err != nil {
		return nil, linux.Machines{}, nil, err
	}
	found, err := remote.New(config, "the kubeconfig in Secret "+key.String())
	if err != nil {
		return nil, linux.Machines{}, nil, err
	}
	machines, maxPods, err := machinesOf(ctx, server, namespace, name)
	if err != nil {
		return nil, linux.Machines{}, nil, fmt.Errorf("the Windows machines of Cluster %s/%s cannot be read from the cluster %s: %w",
			namespace, name, server, server.Reason(err))
	}
	return found, machines, maxPods, nil
}

// machinesOf are the Windows machines of a Cluster with their configs. A machine without a config has its user data from others:
// nothing is known of its Node.
func machinesOf(
	ctx context.Context, server *remote.Server, namespace, name string,
) (found linux.Machines, maxPods map[string]int, err error) {
	configs := map[string]*bootstrapv1.WindowsBootstrapConfig{} // by the Machine that owns them
	_, err = remote.List(ctx, server, pathOf(bootstrapv1.GroupVersion.String(), namespace, "windowsbootstrapconfigs"), nil,
		func(o bootstrapv1.WindowsBootstrapConfig) error {
			for _, owner := range o.OwnerReferences {
				if owner.Kind == "Machine" {
					configs[owner.Name] = &o
				}
			}
			return nil
		})
	if err != nil {
		return found, nil, err
	}
	found, maxPods = linux.Machines{ProxyRuns: map[string]bootstrapv1.KubeProxyRun{}}, map[string]int{}
	add := func(o infrav1.WindowsMachine) error {
		if o.Labels[clusterv1.ClusterNameLabel] != name {
			return nil
		}
		for _, owner := range o.OwnerReferences {
			if config := configs[owner.Name]; config != nil && owner.Kind == "Machine" {
				addMachine(&found, maxPods, config, &o)
			}
		}
		return nil
	}
	served, err := remote.List(ctx, server, pathOf(infrav1.GroupVersion.String(), namespace, "windowsmachines"), nil, add)
	if err == nil && !served {
		err = errors.New("it has no such kind; name the management cluster, in which the provider is installed")
	}
	return found, maxPods, err
}

func addMachine(
	found *linux.Machines, maxPods map[string]int, config *bootstrapv1.WindowsBootstrapConfig, machine *infrav1.WindowsMachine,
) {
	node, err := placement.ToBeMade(config, machine)
	if err != nil {
		return // the config is refused, so no such Node will join
	}
	found.Nodes = append(found.Nodes, node)
	found.ProxyRuns[node.Name] = bootstrap.KubeProxyRun(config.Spec.Network)
	maxPods[node.Name] = 0
	if cni := config.Spec.Network.CNI; cni == "" || cni == bootstrapv1.CNICalico {
		maxPods[node.Name] = bootstrap.MaxPods(config.Spec)
	}
}

func pathOf(version, namespace, resource string) string {
	return "/apis/" + version + "/namespaces/" + namespace + "/" + resource
}
