package bootstrap

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

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
