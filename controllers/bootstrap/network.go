package bootstrap

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// checkCluster comes before all that a config waits for: CIDRs that no Windows node can have may also keep the Linux nodes from
// coming up, and then people would see only that.
func checkCluster(_ context.Context, f *facts) error {
	if !f.machine.DeletionTimestamp.IsZero() {
		return nil
	}
	err := bootstrap.CheckCluster(f.cluster, f.config, f.windows)
	if invalid, ok := errors.AsType[*bootstrap.InvalidError](err); ok {
		return phase.Stall(bootstrapv1.ClusterNetworkInvalidReason, "%s; %s", invalid, aboutCluster(f.cluster))
	}
	return err
}

// aboutCluster names the change that helps: the API server takes another clusterNetwork at any time, but what kubeadm has made of
// it stays.
func aboutCluster(cluster *clusterv1.Cluster) string {
	if ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return fmt.Sprintf("the control plane keeps the CIDRs that it was made with: if Cluster %s has others, correct it; else "+
			"create a new Cluster", cluster.Name)
	}
	return fmt.Sprintf("change Cluster %s before its first control plane machine is made; after that its CIDRs are fixed, and "+
		"only a new Cluster helps", cluster.Name)
}

// maxMismatch is longer than any sentence about Flannel that has a command to copy.
const maxMismatch = 4096

// compareFlannel stops before a VM is bought whose pods the pods on Linux could not reach. Settings that are not there, or in
// another namespace, are nothing to compare with: Flannel may come later.
func compareFlannel(ctx context.Context, f *facts) error {
	if !bootstrap.UsesFlannel(f.config.Spec) {
		return nil
	}
	for _, namespace := range bootstrap.FlannelNamespaces() {
		var settings corev1.ConfigMap
		err := f.workload.Get(ctx, client.ObjectKey{Namespace: namespace, Name: bootstrap.FlannelConfigMap}, &settings)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("get the settings of Flannel: %w", err)
		}
		mismatch := bootstrap.FlannelMismatch(f.config.Spec, namespace, settings.Data[bootstrap.FlannelConfigKey])
		if mismatch == "" {
			return nil
		}
		return phase.Lack(bootstrapv1.FlannelMismatchReason, "%s", cloud.Clean(mismatch, maxMismatch))
	}
	return nil
}

const (
	// mostDaemonSets are read at once, and mostPages in all: more may be too large an answer, and no cluster has more.
	mostDaemonSets, mostPages = 20, 5
	maxWarning                = 1024
)

// findWrongKubeProxy warns of two on one node, and of one that would not start. Who may not look is not warned.
func findWrongKubeProxy(ctx context.Context, f *facts) error {
	if !bootstrap.HasWrongKubeProxy(f.config.Spec, f.machine.Spec.Version) {
		return nil
	}
	for next, pages := "", 0; pages == 0 || next != "" && pages < mostPages; pages++ {
		var found appsv1.DaemonSetList
		err := f.workload.List(ctx, &found, client.InNamespace(bootstrap.KubeProxyNamespace), client.Limit(mostDaemonSets),
			client.Continue(next))
		if apierrors.IsForbidden(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list DaemonSets: %w", err)
		}
		if warning := bootstrap.WrongKubeProxy(f.config.Spec, f.machine.Spec.Version, found.Items); warning != "" {
			f.warnings = append(f.warnings, cloud.Clean(warning, maxWarning))
			return nil
		}
		next = found.Continue
	}
	return nil
}

// awaitNodeRights waits until nodes have what kube-proxy and flanneld need on them, before there is one that would wait for it.
func (r *Reconciler) awaitNodeRights(_ context.Context, f *facts) error {
	if r.Rights == nil {
		return nil
	}
	waits := false
	for _, role := range nodes.NeededBy(f.config.Spec) {
		answered, err := r.askRights(f, string(role))
		if refused, ok := errors.AsType[*nodes.RefusedError](err); ok && answered {
			return phase.Lack(bootstrapv1.DaemonRightsRefusedReason, "%s", refused)
		}
		if answered && err != nil {
			return err
		}
		waits = waits || !answered
	}
	if waits {
		return awaited()
	}
	return nil
}

// poolGroups have Calico's pools. A cluster without the first has Calico's API as definitions of its own.
var poolGroups = []schema.GroupVersion{
	{Group: "crd.projectcalico.org", Version: "v1"}, {Group: "projectcalico.org", Version: "v3"},
}

// mostPools are read: more may be too large an answer, and no cluster has more.
const mostPools = 100

// findBlock reads how many addresses Calico has for the pods of a Windows node. Pools that are not there, or not shown, are not
// known: Calico may come later.
func findBlock(ctx context.Context, f *facts) error {
	if !bootstrap.UsesCalico(f.config.Spec) {
		return nil
	}
	for _, group := range poolGroups {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(group.WithKind("IPPoolList"))
		err := f.workload.List(ctx, list, client.Limit(mostPools))
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsServiceUnavailable(err):
			continue
		case err != nil:
			return fmt.Errorf("list Calico's pools: %w", err)
		}
		if f.block = bootstrap.SmallestBlock(poolsIn(list)); f.block.Size > 0 {
			return nil
		}
	}
	return nil
}

// poolsIn leaves out what is no pool.
func poolsIn(list *unstructured.UnstructuredList) (pools []bootstrap.IPPool) {
	for _, item := range list.Items {
		pool := bootstrap.IPPool{Name: item.GetName()}
		spec, _ := item.Object["spec"].(map[string]any)
		if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pool.Spec) == nil {
			pools = append(pools, pool)
		}
	}
	return pools
}
