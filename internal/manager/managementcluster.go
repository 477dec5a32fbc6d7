package manager

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managementCluster reads the UID of the cluster in which the manager runs, which is that of its namespace kube-system. It stands
// on what the manager makes in a cloud, so that two managers that share a place there know what is whose.
// A manager that may not read it, as one of a single tenant, goes without.
func managementCluster(ctx context.Context, live client.Reader) (types.UID, error) {
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace)
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Info("The manager may not read the namespace kube-system: what VMs leave in Azure is removed only if "+
			"the status of its machine has its ID, and reported otherwise", "error", err.Error())
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the UID of the management cluster, which marks what the manager makes: %w", err)
	}
	return namespace.UID, nil
}
