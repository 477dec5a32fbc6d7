package workload

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubeadmServes is how long one look at kubeadm's ConfigMaps serves all machines of a Cluster: kubeadm init makes them before it
// ends, and nobody takes them away.
const kubeadmServes = time.Minute

// The ConfigMaps that kubeadm join reads (kubernetes v1.36.3, cmd/kubeadm/app): the first two with the rights of the new node,
// and the last one without any, unless a file brings what it has.
var (
	kubeadmConfig = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"}
	kubeletConfig = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kubelet-config"}
	clusterInfo   = client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cluster-info"}
)

// ConfigMaps are some of a cluster's, by namespace and name.
type ConfigMaps struct {
	// Missing are those that do not exist, and Refused those that the cluster does not show.
	Missing, Refused []string
}

// Kubeadm returns which ConfigMaps of those that kubeadm join reads a cluster lacks, as it was in the last minute. Not all joins
// read cluster-info.
func (c *Clusters) Kubeadm(ctx context.Context, key client.ObjectKey, withClusterInfo bool) (ConfigMaps, error) {
	api, err := c.GetClient(ctx, key)
	if err != nil {
		return ConfigMaps{}, err
	}
	k := c.cluster(key)
	found, err := k.kubeadm.get(ctx, kubeadmServes, func(ctx context.Context) (ConfigMaps, error) {
		return lookFor(ctx, api, kubeadmConfig, kubeletConfig)
	})
	if err != nil || !withClusterInfo {
		return found, err
	}
	public, err := k.clusterInfo.get(ctx, kubeadmServes, func(ctx context.Context) (ConfigMaps, error) {
		return lookFor(ctx, api, clusterInfo)
	})
	return ConfigMaps{
		Missing: slices.Concat(found.Missing, public.Missing), Refused: slices.Concat(found.Refused, public.Refused),
	}, err
}

func lookFor(ctx context.Context, api client.Client, keys ...client.ObjectKey) (found ConfigMaps, err error) {
	for _, key := range keys {
		err := api.Get(ctx, key, &corev1.ConfigMap{})
		switch {
		case apierrors.IsNotFound(err):
			found.Missing = append(found.Missing, key.String())
		case apierrors.IsForbidden(err):
			found.Refused = append(found.Refused, "ConfigMap "+key.String())
		case err != nil:
			return ConfigMaps{}, err
		}
	}
	return found, nil
}
