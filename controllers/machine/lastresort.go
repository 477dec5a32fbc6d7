package machine

import (
	"context"
	"errors"
	"fmt"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/inherit"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// recall looks up the rights by which a machine was managed that has lost its status, as in a move, and is deleted before its
// next reconcile. They come from its Cluster; a machine that names an identity needs no Cluster for that.
func (r *Reconciler) recall(ctx context.Context, f *facts) error {
	placer, ok := r.provider(f.windows).(cloud.Placer)
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
