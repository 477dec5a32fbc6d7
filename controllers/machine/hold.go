package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// ownIdentityOf names the AzureClusterIdentity of its own namespace by which a machine is managed, the spec's or the
// AzureCluster's; the zero value if there is none.
func (r *Reconciler) ownIdentityOf(windows *infrav1.WindowsMachine) client.ObjectKey {
	if _, ok := r.provider(windows).(cloud.Placer); !ok {
		return client.ObjectKey{}
	}
	ref, place := windows.Spec.IdentityRef, r.Clouds.Part(windows).Place
	switch {
	case string(ref.Kind) == identities.Kind:
		return client.ObjectKey{Namespace: windows.Namespace, Name: ref.Name}
	case ref.Name == "" && place != nil && place.Identity.Namespace == windows.Namespace:
		return place.Identity
	}
	return client.ObjectKey{}
}

// freeSecret lets the credentials go, if this was the last machine that needed them: a Secret, and an identity after its Secret,
// whose name it has.
func (r *Reconciler) freeSecret(_ context.Context, f *facts) error {
	windows := f.windows
	if f.recalled != nil {
		windows = f.windows.DeepCopy()
		windows.Status = f.recalled.Status
	}
	identity := r.ownIdentityOf(windows)
	if identity.Name != "" {
		use := identities.Use{Machine: client.ObjectKeyFromObject(windows), Identity: identity, Holds: true}
		if _, err := r.Identities.Proof(use); err != nil {
			return err
		}
	}
	if err := r.Credentials.Free(windows); err != nil || identity.Name == "" {
		return err
	}
	return r.Held.Free(windows)
}
