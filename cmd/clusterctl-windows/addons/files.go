package addons

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
)

// Gather takes pools and their Cluster from files, and what these do not say from flags. If a machine is named, it is its pool
// alone.
func Gather(o *objects.Set, machine string, flags Claims) (pools []Pool, cluster Cluster, err error) {
	machines, err := preview.Pools(o, machine)
	if err != nil {
		return nil, cluster, err
	}
	for _, m := range machines {
		pool, err := flags.Complete(poolOf(m))
		if err != nil {
			return nil, cluster, err
		}
		pools = append(pools, pool)
		c := clusterOf(m)
		if cluster.Name != "" && (c.Namespace != cluster.Namespace || c.Name != cluster.Name) {
			return nil, cluster, fmt.Errorf("%s: its Cluster is %s/%s, but that of %s is %s/%s; choose a pool with "+
				"--machine", pool.Name, c.Namespace, c.Name, pools[0].Name, cluster.Namespace, cluster.Name)
		}
		cluster = c
	}
	cluster, err = flags.CompleteCluster(cluster)
	return pools, cluster, err
}

func poolOf(m *preview.Machine) Pool {
	config := m.Config()
	return Pool{
		Name: m.Source, Version: m.Owner.Spec.Version, Network: config.Network, Taints: config.Node.Taints,
		HyperV:   config.Containerd.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled,
		CSIProxy: config.Windows.CSIProxy.Path != "", MaxPods: bootstrap.MaxPods(config),
		PauseImage: config.Containerd.PauseImage, Prepulled: config.Containerd.PrepullImages,
		Conflicts: m.Conflicts,
	}
}

func clusterOf(m *preview.Machine) Cluster {
	c, endpoint := m.Cluster(), m.Endpoint()
	return Cluster{
		Namespace: c.Namespace, Name: c.Name, Labelled: c.Labels[clusterv1.ClusterNameLabel] == c.Name,
		Host: endpoint.Host, Port: endpoint.Port,
		Pods: c.Spec.ClusterNetwork.Pods.CIDRBlocks, Services: c.Spec.ClusterNetwork.Services.CIDRBlocks,
	}
}
