package orphans

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
)

// objects are those that the cache has, which must not be changed.
type objects struct {
	clusters map[cloud.Key]*clusterv1.Cluster
	machines map[cloud.Key]*infrav1.WindowsMachine // by name
	made     map[identity]*infrav1.WindowsMachine  // by provider ID
	former   map[former]bool
}

// identity is the provider ID of a machine in a namespace.
type identity struct{ namespace, providerID string }

// former is a UID that a Cluster had before it was moved or restored; or has now.
type former struct {
	cluster cloud.Key
	uid     types.UID
}

func read(ctx context.Context, cache client.Reader, watchFilter string) (*objects, error) {
	o := &objects{
		clusters: map[cloud.Key]*clusterv1.Cluster{},
		machines: map[cloud.Key]*infrav1.WindowsMachine{},
		made:     map[identity]*infrav1.WindowsMachine{},
		former:   map[former]bool{},
	}
	var clusters clusterv1.ClusterList
	if err := cache.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	for i := range clusters.Items {
		if c := &clusters.Items[i]; watchFilter == "" || labels.HasWatchLabel(c, watchFilter) {
			o.clusters[client.ObjectKeyFromObject(c)] = c
		}
	}
	var machines infrav1.WindowsMachineList
	if err := cache.List(ctx, &machines, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list windowsmachines: %w", err)
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		o.machines[client.ObjectKeyFromObject(m)] = m
		o.made[identity{m.Namespace, m.Spec.ProviderID}] = m // each VM has an ID
	}
	return o, nil
}

// learn notes the UID on the VM of a machine that is here. What a VM left teaches nothing: a VM has its provider ID itself, but
// anybody may write that of a VM on another resource.
func (o *objects) learn(m accounts.Marked) {
	if m.Kind != "" {
		return
	}
	machine := o.made[identity{m.Key.Namespace, m.ProviderID}]
	if machine != nil && machine.Name == m.Key.Name && machine.Labels[clusterv1.ClusterNameLabel] == m.Cluster.Name {
		o.former[former{clusterOf(m), m.Cluster.UID}] = true
	}
}

// orphaned reports whether it is one of a Cluster that is here, but of no machine. A name that no machine can have is none that
// we wrote.
func (o *objects) orphaned(m accounts.Marked) bool {
	cluster := o.clusters[clusterOf(m)]
	switch {
	case cluster == nil:
		return false
	case m.Cluster.UID != cluster.UID && !o.former[former{clusterOf(m), m.Cluster.UID}]:
		return false
	}
	return !o.hasMachine(m) && len(validation.IsDNS1123Subdomain(m.Key.Name)) == 0
}

// hasMachine reports whether the machine is here, or may be. A machine without a provider ID may be about to get the one in the
// mark. A VM is that of the machine with its provider ID, whatever its mark has otherwise.
func (o *objects) hasMachine(m accounts.Marked) bool {
	named := o.machines[m.Key]
	if named != nil && (named.Spec.ProviderID == "" || named.Spec.ProviderID == m.ProviderID) {
		return true
	}
	return m.Kind == "" && o.made[identity{m.Key.Namespace, m.ProviderID}] != nil
}

func (o *objects) paused(cluster cloud.Key) bool {
	c := o.clusters[cluster]
	return c != nil && owner.Paused(c, c)
}

func clusterOf(m accounts.Marked) cloud.Key {
	return cloud.Key{Namespace: m.Key.Namespace, Name: m.Cluster.Name}
}
