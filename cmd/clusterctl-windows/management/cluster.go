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
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// Machines are the Windows machines of a Cluster, with their configs.
type Machines = []placement.Join

// Cluster reads from a management cluster the way to the workload cluster of a Cluster, and its Windows machines. The kubeconfig
// is that of Cluster API's Secret, and is used as the managers use it: no file of this computer, and no program.
func Cluster(ctx context.Context, server *remote.Server, namespace, name string) (*remote.Server, Machines, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name + "-kubeconfig"}
	var kubeconfig corev1.Secret
	if err := secret(ctx, server, key, &kubeconfig); err != nil {
		return nil, nil, fmt.Errorf("the Secret %s with the kubeconfig of Cluster %s/%s cannot be read from the cluster "+
			"%s: %w", key, namespace, name, server, err)
	}
	config, err := workload.Config(kubeconfig.Data["value"], key.Name)
	if err != nil {
		return nil, nil, err
	}
	found, err := remote.New(config, "the kubeconfig in Secret "+key.String())
	if err != nil {
		return nil, nil, err
	}
	machines, err := machinesOf(ctx, server, namespace, name)
	if err != nil {
		return nil, nil, fmt.Errorf("the Windows machines of Cluster %s/%s cannot be read from the cluster %s: %w",
			namespace, name, server, server.Reason(err))
	}
	return found, machines, nil
}

// machinesOf reads them. A machine without a config has its user data from others:
// nothing is known of its Node.
func machinesOf(ctx context.Context, server *remote.Server, namespace, name string) (Machines, error) {
	var configs []bootstrapv1.WindowsBootstrapConfig
	_, err := remote.List(ctx, server, pathOf(bootstrapv1.GroupVersion.String(), namespace, "windowsbootstrapconfigs"), nil,
		func(o bootstrapv1.WindowsBootstrapConfig) error {
			configs = append(configs, o)
			return nil
		})
	if err != nil {
		return nil, err
	}
	var machines []infrav1.WindowsMachine
	served, err := remote.List(ctx, server, pathOf(infrav1.GroupVersion.String(), namespace, "windowsmachines"), nil,
		func(o infrav1.WindowsMachine) error {
			if o.Labels[clusterv1.ClusterNameLabel] == name {
				machines = append(machines, o)
			}
			return nil
		})
	if err == nil && !served {
		err = errors.New("it has no such kind; name the management cluster, in which the provider is installed")
	}
	return placement.JoinsOf(machines, configs), err
}

func pathOf(version, namespace, resource string) string {
	return "/apis/" + version + "/namespaces/" + namespace + "/" + resource
}
