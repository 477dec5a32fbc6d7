package machine

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/inherit"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// ownIdentityOf names the AzureClusterIdentity of its own namespace by which a machine is managed, the spec's or the
// AzureCluster's; the zero value if there is none.
func (r *Reconciler) ownIdentityOf(windows *infrav1.WindowsMachine) client.ObjectKey {
	if _, ok := r.Clouds.Find(windows).Provider.(cloud.Placer); !ok {
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

// recall looks up the rights by which a machine was managed that has lost its status, as in a move, and is deleted before its
// next reconcile. They come from its Cluster; a machine that names an identity needs no Cluster for that.
func (r *Reconciler) recall(ctx context.Context, f *facts) error {
	placer, ok := r.Clouds.Find(f.windows).Provider.(cloud.Placer)
	if !ok || r.Clouds.Part(f.windows).Place != nil {
		return nil
	}
	recalled, err := inherit.Rights(ctx, r.Live, placer, f.windows, f.cluster)
	if err != nil && f.windows.Spec.IdentityRef.Name == "" {
		return err
	}
	f.recalled = recalled // nil if the Cluster's object is gone
	return nil
}

// lastResort adds the way out for a machine that cannot be deleted because nobody lets us into its cloud.
func lastResort(err error) error {
	stop, ok := errors.AsType[*phase.Stop](err)
	if !ok || !aboutRights[stop.Reason] || errors.Is(err, phase.ErrAwaited) {
		return err
	}
	final := *stop
	final.Message += fmt.Sprintf(". Without these rights the VM cannot be deleted: if there are none, delete it by hand, with its "+
		"disks and network interfaces, and then remove the finalizer %s", infrav1.MachineFinalizer)
	return &final
}

// aboutRights are the reasons why an identity does not serve.
var aboutRights = map[string]bool{
	infrav1.CredentialsMissingReason: true, infrav1.CredentialsRejectedReason: true, infrav1.CredentialsBeingDeletedReason: true,
}
