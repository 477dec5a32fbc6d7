package machine

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// connect gets the account of the machine's identity. The identity may change at any time, also while the machine is deleted.
func (r *Reconciler) connect(ctx context.Context, f *facts) error {
	provider := r.provider(f.windows)
	ref := provider.IdentityOf(f.windows)
	if ref.Kind != infrav1.IdentitySecret {
		return phase.Stall(infrav1.SpecInvalidReason,
			"identityRef has the kind %q, which this release of the manager does not know; set identityRef to a Secret", ref.Kind)
	}
	key := client.ObjectKey{Namespace: f.windows.Namespace, Name: ref.Name}
	var secret corev1.Secret
	err := r.Live.Get(ctx, key, &secret)
	if apierrors.IsNotFound(err) {
		r.Accounts.Gone(provider, key)
	}
	if apierrors.IsNotFound(err) && deleting(f) {
		return phase.AwaitSecret(infrav1.CredentialsMissingReason,
			"Secret %s with the cloud's credentials does not exist, but the VM cannot be deleted without it; "+
				"create it again, set identityRef to another Secret for the same server, or delete the VM by hand and then remove the "+
				"finalizer %s", key.Name, infrav1.MachineFinalizer)
	}
	if apierrors.IsNotFound(err) {
		return phase.AwaitSecret(infrav1.CredentialsMissingReason,
			"Secret %s with the cloud's credentials does not exist; create it in namespace %s, or set identityRef to another Secret",
			key.Name, key.Namespace)
	}
	if err != nil {
		return fmt.Errorf("get credentials: %w", err)
	}
	f.cloud, err = r.Accounts.Get(provider, key, secret.Data)
	return phase.Cloud(err)
}

// sameServer notes the server of the account, which hold writes down, and stops if it is another one than that of the VM: a VM
// that is not found there is not gone.
func (r *Reconciler) sameServer(ctx context.Context, f *facts) error {
	server, err := f.cloud.Server(ctx)
	if err != nil {
		return phase.Cloud(err)
	}
	has := cmp.Or(f.windows.Annotations[infrav1.ServerAnnotation], server)
	metav1.SetMetaDataAnnotation(&f.windows.ObjectMeta, infrav1.ServerAnnotation, has)
	if has == server {
		return nil
	}
	return phase.Stall(infrav1.IdentityMismatchReason,
		"Secret %s is for server %s, but the VM is on server %s, where it stays; set identityRef to a Secret for that server",
		r.provider(f.windows).IdentityOf(f.windows).Name, server, has)
}

// formats are those of bootstrap data that a program in the image can run.
var formats = map[infrav1.ImageSetup]string{infrav1.ImageSetupCloudbaseInit: "cloudbase-init"}

// userData reads the bootstrap Secret. A Secret of the user's own may leave its format out.
func (r *Reconciler) userData(ctx context.Context, f *facts) ([]byte, error) {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.windows.Namespace, Name: *f.machine.Spec.Bootstrap.DataSecretName}
	err := r.Live.Get(ctx, key, &secret)
	if apierrors.IsNotFound(err) {
		return nil, phase.AwaitSecret(infrav1.WaitingForBootstrapDataReason,
			"Secret %s with the bootstrap data does not exist; see the bootstrap config of Machine %s", key.Name, f.machine.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("get bootstrap data: %w", err)
	}
	if len(secret.Data["value"]) == 0 {
		return nil, phase.AwaitSecret(infrav1.WaitingForBootstrapDataReason,
			"Secret %s has no bootstrap data under the key \"value\"; see the bootstrap config of Machine %s", key.Name, f.machine.Name)
	}
	return secret.Data["value"], understood(&secret, setupOf(f.windows.Spec))
}

// understood stops if the image cannot run the data: its VM would start and never do anything.
func understood(data *corev1.Secret, setup infrav1.ImageSetup) error {
	runs := formats[setup]
	format := cmp.Or(string(data.Data["format"]), "cloudbase-init")
	if format == runs {
		return nil
	}
	if runs == "" {
		return phase.Stall(infrav1.SpecInvalidReason,
			"image.setup %q is not known to this release of the manager; upgrade the manager, or use another WindowsMachineTemplate",
			setup)
	}
	return phase.Stall(infrav1.BootstrapFormatMismatchReason,
		"Secret %s has bootstrap data of the format %q, but the image runs %q (image.setup is %s); "+
			"use a WindowsBootstrapConfig as the bootstrap config of the Machine", data.Name, format, runs, setup)
}

func setupOf(spec infrav1.WindowsMachineSpec) infrav1.ImageSetup {
	var setup infrav1.ImageSetup
	switch {
	case spec.VSphere != nil:
		setup = spec.VSphere.Image.Setup
	case spec.Azure != nil:
		setup = spec.Azure.Image.Setup
	}
	return cmp.Or(setup, infrav1.ImageSetupCloudbaseInit)
}
