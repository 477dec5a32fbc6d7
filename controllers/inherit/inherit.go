// Package inherit finds out where a machine's VM goes, if its spec leaves that to its Cluster. A caller may rely on this:
//
//   - Place gives an answer once the Cluster's infrastructure is provisioned. Then its object is read by name, in the version of
//     Cluster API's contract, and only if it is of the kind that the cloud understands. A complete spec needs no object.
//   - The answer is that of the first look. The caller writes it down, and later changes of the object do not move the machine.
//   - What is not there yet is a wait, never a guess.
//   - Rights are asked for when a machine is deleted that has lost what was written down.
package inherit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Place writes into the status where the VM of a machine goes. The reader asks the API server itself: each machine needs an
// answer once.
func Place(
	ctx context.Context, reader client.Reader, p cloud.Placer, m *infrav1.WindowsMachine, cluster *clusterv1.Cluster,
) error {
	if !Understood(p, cluster) && p.Resolve(m, nil) == nil {
		return nil
	}
	if !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return phase.Wait(phase.Cluster, infrav1.WaitingForClusterInfrastructureReason,
			"the infrastructure of Cluster %s is not provisioned yet", cluster.Name)
	}
	ref := cluster.Spec.InfrastructureRef
	object, err := read(ctx, reader, p, cluster, phase.Wait(phase.Cluster, infrav1.WaitingForClusterInfrastructureReason,
		"%s %s of Cluster %s does not exist; create it, or set all its fields in spec.%s of a new WindowsMachineTemplate",
		ref.Kind, ref.Name, cluster.Name, p.Name()))
	if err != nil {
		return err
	}
	return phase.Cloud(p.Resolve(m, object))
}

// Rights returns a machine whose place is not known, because its status was lost, with the rights of the Cluster's
// infrastructure. Where that is of another kind, or there is no Cluster any more, it has none.
func Rights(
	ctx context.Context, reader client.Reader, p cloud.Placer, m *infrav1.WindowsMachine, cluster *clusterv1.Cluster,
) (*infrav1.WindowsMachine, error) {
	m = m.DeepCopy()
	if cluster == nil {
		return m, phase.Cloud(p.Resolve(m, nil))
	}
	ref := cluster.Spec.InfrastructureRef
	object, err := read(ctx, reader, p, cluster, phase.Wait(phase.Credentials, infrav1.CredentialsMissingReason,
		"%s %s of Cluster %s, which names the identity that made the VM, does not exist; create it again, or set identityRef",
		ref.Kind, ref.Name, cluster.Name))
	if err != nil {
		return nil, err
	}
	return m, phase.Cloud(p.Resolve(m, object))
}

// read returns nil if the Cluster's infrastructure is of another kind, and the error absent if it does not exist.
func read(
	ctx context.Context, reader client.Reader, p cloud.Placer, cluster *clusterv1.Cluster, absent error,
) (*unstructured.Unstructured, error) {
	if !Understood(p, cluster) {
		return nil, nil
	}
	ref := cluster.Spec.InfrastructureRef
	object, err := external.GetObjectFromContractVersionedRef(ctx, reader, ref, cluster.Namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil, absent
	case err != nil:
		return nil, fmt.Errorf("get %s of cluster: %w", ref.Kind, err)
	}
	return object, nil
}

// Understood reports whether the Cluster's infrastructure is of the kind that the cloud takes from what a spec leaves out.
func Understood(p cloud.Placer, cluster *clusterv1.Cluster) bool {
	ref, kind := cluster.Spec.InfrastructureRef, p.Inherits()
	return ref.APIGroup == kind.Group && ref.Kind == kind.Kind
}
