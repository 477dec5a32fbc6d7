package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// ownIdentityOf names the AzureClusterIdentity of its own namespace by which a machine is managed, the spec's or the
// AzureCluster's; the zero value if there is none.
func (r *Reconciler) ownIdentityOf(windows *infrav1.WindowsMachine) client.ObjectKey {
	if _, ok := r.provider(windows).(cloud.Placer); !ok {
		return client.ObjectKey{}
	}
	ref, placement := windows.Spec.IdentityRef, windows.Status.Azure
	switch {
	case ref.Kind == infrav1.IdentityAzureCluster:
		return client.ObjectKey{Namespace: windows.Namespace, Name: ref.Name}
	case ref.Name == "" && placement != nil && placement.Identity.Namespace == windows.Namespace:
		return client.ObjectKey{Namespace: windows.Namespace, Name: placement.Identity.Name}
	}
	return client.ObjectKey{}
}

// freeSecret lets the credentials go, if this was the last machine that needed them: a Secret, and an identity after its Secret,
// whose name it has.
func (r *Reconciler) freeSecret(_ context.Context, f *facts) error {
	windows := f.windows
	if f.recalled != nil {
		windows = f.windows.DeepCopy()
		windows.Status.Azure = f.recalled
	}
	identity := r.ownIdentityOf(windows)
	if identity.Name != "" {
		if _, err := r.Identities.Proof(identity, client.ObjectKeyFromObject(windows)); err != nil {
			return err
		}
	}
	if err := r.Credentials.Free(windows); err != nil || identity.Name == "" {
		return err
	}
	return r.Held.Free(windows)
}
