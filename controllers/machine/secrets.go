package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// secretOf names the Secret of its namespace by which a machine is managed; the zero value if there is none.
func (r *Reconciler) secretOf(windows *infrav1.WindowsMachine) client.ObjectKey {
	if ref := windows.Spec.IdentityRef; ref.Kind == infrav1.IdentitySecret && r.Clouds.Find(windows).Provider != nil {
		return client.ObjectKey{Namespace: windows.Namespace, Name: ref.Name}
	}
	return r.secretOfIdentity(windows)
}

// secretOfIdentity names that of an AzureClusterIdentity, which is known once the identity was read.
func (r *Reconciler) secretOfIdentity(windows *infrav1.WindowsMachine) (secret client.ObjectKey) {
	if identity := r.ownIdentityOf(windows); identity.Name != "" {
		secret, _ = r.Identities.Proof(identities.Use{
			Machine: client.ObjectKeyFromObject(windows), Identity: identity,
			Holds: controllerutil.ContainsFinalizer(windows, infrav1.MachineFinalizer),
		})
	}
	return secret
}

// connect gets the account of the machine's identity. The identity may change at any time, also while the machine is deleted.
func (r *Reconciler) connect(_ context.Context, f *facts) error {
	key, provider := r.secretOf(f.windows), r.Clouds.Find(f.windows).Provider
	if ref := f.windows.Spec.IdentityRef; ref.Kind != infrav1.IdentitySecret {
		return r.connectAs(f, provider, ref)
	}
	secret, err := r.Credentials.Of(key, client.ObjectKeyFromObject(f.windows))
	if err != nil {
		return err
	}
	holder := key
	if place := r.placeOf(f); place != nil {
		provider, holder = inItsCloud(*place, provider, key)
	}
	if !secret.Exists {
		r.Accounts.Gone(provider, holder)
	}
	if !secret.Serves(mayHaveVM(f)) {
		return noCredentials(f, key, secret)
	}
	f.going, f.account = secret.Going, accountName(key.Name, secret.Data["server"])
	return r.open(f, provider, holder, secret.Data)
}

// open gets the account of these credentials. A machine without a VM may have to wait until its namespace has fewer.
func (r *Reconciler) open(f *facts, provider cloud.Provider, holder cloud.Key, credentials map[string][]byte) (err error) {
	if f.cloud, err = r.Accounts.Get(provider, holder, credentials, mayHaveVM(f)); err == nil {
		return nil
	}
	if err = f.ofCloud(err); phase.Of(err).Reason == infrav1.TooManyAccountsReason {
		r.Accounts.Await(client.ObjectKeyFromObject(f.windows))
	}
	return err
}

// placeOf is the place in the status, or what was found out in its stead.
func (r *Reconciler) placeOf(f *facts) *cloud.Place {
	return r.Clouds.Part(cmp.Or(f.recalled, f.windows)).Place
}

// inItsCloud is the provider in the cloud of the machine's place, if the place names one, and the key of who uses the account:
// machines in several clouds may name one Secret that does not name the cloud of its principal.
func inItsCloud(place cloud.Place, p cloud.Provider, secret client.ObjectKey) (cloud.Provider, cloud.Key) {
	placer, ok := p.(cloud.Placer)
	if ok && place.SecretCloud != "" {
		return placer.As(cloud.Grant{Cloud: place.SecretCloud}), cloud.Key{
			Namespace: secret.Namespace, Name: secret.Name + " in " + place.SecretCloud,
		}
	}
	return p, secret
}

// connectAs gets the account of an identity that is no Secret: the one that the spec names, the AzureCluster's, or the manager's
// own.
func (r *Reconciler) connectAs(f *facts, provider cloud.Provider, ref infrav1.IdentityReference) error {
	placer, ok := provider.(cloud.Placer)
	if !ok || ref.Kind != "" && string(ref.Kind) != identities.Kind {
		return phase.Stall(infrav1.SpecInvalidReason,
			"identityRef has the kind %q, which this release of the manager does not support; set identityRef to a Secret", ref.Kind)
	}
	use := identities.Use{
		Machine: client.ObjectKeyFromObject(f.windows), Holds: mayHaveVM(f),
		Deleting: deleting(f) && (f.derived || isProved(f.windows)),
	}
	place := r.placeOf(f)
	if place != nil {
		use.Cloud = place.Cloud
	}
	switch {
	case ref.Name != "":
		use.Identity = client.ObjectKey{Namespace: f.windows.Namespace, Name: ref.Name}
	case place != nil:
		use.Identity = place.Identity
	}
	rights, err := r.Identities.Of(placer, use)
	if err != nil {
		if !errors.Is(err, phase.ErrAwaited) {
			r.Accounts.Gone(placer, use.Holder())
		}
		return err
	}
	if r.ownIdentityOf(f.windows).Name != "" {
		r.Credentials.Follow(f.windows) // the identity, which names the Secret, is known now
	}
	f.account, f.going = use.String(), rights.Going
	return r.open(f, rights.Provider, use.Holder(), rights.Data)
}

// noteTenant writes down in which tenant the VM will be: user data may need it, and the VM needs those. It connects to the cloud,
// and so waits for Linux first.
func (r *Reconciler) noteTenant(ctx context.Context, f *facts) error {
	if err := phase.Run(ctx, f, phase.Unless(hadVM, r.linuxFirst), r.connect); err != nil {
		return err
	}
	if tenanted, ok := f.cloud.(cloud.Tenanted); ok {
		tenanted.ShowTenant(&f.windows.Status)
	}
	return nil
}

// knowsTenant is true as well in a cloud that has no tenants.
func knowsTenant(f *facts) bool {
	part := f.clouds.Part(f.windows)
	return part.Place == nil || part.Lacks == ""
}

func mayHaveVM(f *facts) bool {
	return hadVM(f) || controllerutil.ContainsFinalizer(f.windows, infrav1.MachineFinalizer)
}

// noCredentials stops because the Secret does not serve this machine.
func noCredentials(f *facts, key client.ObjectKey, secret credentials.Secret) error {
	switch {
	case !secret.Exists && deleting(f):
		return phase.Wait(phase.Credentials, infrav1.CredentialsMissingReason,
			"Secret %s with the cloud's credentials does not exist, but the VM cannot be deleted without it; "+
				"create it again, or set identityRef to another Secret for the same server", key.Name)
	case !secret.Exists:
		return phase.Wait(phase.Credentials, infrav1.CredentialsMissingReason,
			"Secret %s with the cloud's credentials does not exist; create it in namespace %s, or set identityRef to another Secret",
			key.Name, key.Namespace)
	case secret.Unheld:
		return phase.Wait(phase.Credentials, infrav1.CredentialsRejectedReason,
			"Secret %s with the cloud's credentials is not of the type Opaque, or in a namespace of Kubernetes itself, so that it "+
				"could be deleted before the VM: create it again as Opaque, in a namespace of yours", key.Name)
	}
	return phase.Wait(phase.Credentials, infrav1.CredentialsBeingDeletedReason,
		"Secret %s with the cloud's credentials is being deleted, and stays only for the machines that may have a VM; no new VM is "+
			"made with it: set identityRef to another Secret, or delete these machines and then create the Secret again", key.Name)
}

// accountName names the account in a message. Anyone may write anything into a Secret, so a server is shown only if it looks like
// one.
func accountName(secret string, server []byte) string {
	if name := strings.TrimSpace(string(server)); servers.MatchString(name) {
		return fmt.Sprintf("Secret %s (%s)", secret, name)
	}
	return "Secret " + secret
}

// servers are hosts, with or without a port.
var servers = regexp.MustCompile(`^[][0-9A-Za-z.:-]{1,253}$`)

// aboutAccount are the reasons of an account, not of a VM: the message must say which account.
var aboutAccount = map[string]bool{
	infrav1.CredentialsMissingReason: true, infrav1.CredentialsRejectedReason: true, infrav1.CloudUnreachableReason: true,
	infrav1.TooManyAccountsReason: true, infrav1.TooManyPlacesReason: true, infrav1.CloudThrottledReason: true,
}

// ofCloud turns the error of a cloud into a stop, which names the account if it is about that.
func (f *facts) ofCloud(err error) error {
	err = phase.Cloud(err)
	if stop, ok := errors.AsType[*phase.Stop](err); ok && aboutAccount[stop.Reason] {
		stop.Message = f.account + ": " + stop.Message
	}
	return err
}

// logged has what a cloud logs say which account it is.
func (f *facts) logged(ctx context.Context) context.Context {
	return ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("account", f.account))
}

// sameServer notes the server of the account, which hold writes down, and stops if it is another one than that of the VM: a VM
// that is not found there is not gone.
func (r *Reconciler) sameServer(ctx context.Context, f *facts) error {
	server, err := f.cloud.Server(ctx, client.ObjectKeyFromObject(f.windows))
	if err != nil {
		return f.ofCloud(err)
	}
	vmServer := cmp.Or(serverOf(f.windows), server)
	metav1.SetMetaDataAnnotation(&f.windows.ObjectMeta, infrav1.ServerAnnotation, vmServer)
	if vmServer == server {
		return nil
	}
	return f.otherServer(server, vmServer)
}

func (f *facts) otherServer(server, vmServer string) error {
	wayOut := ""
	if deleting(f) {
		wayOut = "; if the VM is gone for certain, remove the finalizer " + infrav1.MachineFinalizer + " from the WindowsMachine"
	}
	return phase.Stall(infrav1.IdentityMismatchReason,
		"%s is for server %s, but the VM is on server %s, where it stays; set identityRef to a Secret for that server%s",
		f.account, server, vmServer, wayOut)
}

// cloudbaseInit is the format of bootstrap data that the program in the image can run.
const cloudbaseInit = "cloudbase-init"

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
	if err := refuse(f, &secret); err != nil {
		return nil, err
	}
	if len(secret.Data["value"]) == 0 {
		return nil, phase.AwaitSecret(infrav1.WaitingForBootstrapDataReason,
			"Secret %s has no bootstrap data under the key \"value\"; see the bootstrap config of Machine %s", key.Name, f.machine.Name)
	}
	return secret.Data["value"], understood(f, &secret)
}

// refuse stops if a Secret is not the Machine's bootstrap data: a Machine may name any Secret, and its VM would show what is in
// it. With a config it is what the config made. Without one the user wrote the Secret, which is Opaque then: those of Cluster
// API, such as other machines' bootstrap data, have a type of their own.
func refuse(f *facts, data *corev1.Secret) error {
	machine := f.machine.Name
	switch {
	case f.machine.Spec.Bootstrap.ConfigRef.IsDefined():
		return refuseOthers(f, data)
	case strings.HasSuffix(data.Name, "-kubeconfig"):
		return phase.Stall(infrav1.BootstrapDataRefusedReason,
			"Secret %s has the name of a kubeconfig, not of bootstrap data; set spec.bootstrap of Machine %s to a "+
				"WindowsBootstrapConfig, or to a Secret with another name", data.Name, machine)
	case data.Type != corev1.SecretTypeOpaque:
		return phase.Stall(infrav1.BootstrapDataRefusedReason,
			"Secret %s has the type %s, but bootstrap data that no config made is read from Opaque Secrets only; set spec.bootstrap "+
				"of Machine %s to a WindowsBootstrapConfig, or to a Secret of the type Opaque", data.Name, data.Type, machine)
	}
	return nil
}

// refuseOthers stops if the config of a Machine did not make its Secret.
func refuseOthers(f *facts, data *corev1.Secret) error {
	switch machine, ref := f.machine.Name, f.machine.Spec.Bootstrap.ConfigRef; {
	case ofOurs(ref) && f.config == nil: // the cache may be behind, or Cluster API about to correct the owner
		return phase.AwaitSecret(infrav1.BootstrapDataRefusedReason,
			"WindowsBootstrapConfig %s does not exist or belongs to another Machine, so Secret %s is not used; give Machine %s a config "+
				"of its own", ref.Name, data.Name, machine)
	case !madeBy(f, ref, data):
		return phase.Stall(infrav1.BootstrapDataRefusedReason,
			"Secret %s was not made by %s %s, the bootstrap config of Machine %s; delete the Machine to get a new one, or remove its "+
				"spec.bootstrap.configRef if it shall use an Opaque Secret of your own", data.Name, ref.Kind, ref.Name, machine)
	}
	return nil
}

func ofOurs(ref clusterv1.ContractVersionedObjectReference) bool {
	return ref.APIGroup == bootstrapv1.GroupVersion.Group && ref.Kind == "WindowsBootstrapConfig"
}

// madeBy reports whether the Machine's config made the Secret: it is the controller then, by Cluster API's contract. Of another
// provider's config we know the name alone.
func madeBy(f *facts, ref clusterv1.ContractVersionedObjectReference, data *corev1.Secret) bool {
	controller := metav1.GetControllerOf(data)
	switch {
	case ofOurs(ref):
		return metav1.IsControlledBy(data, f.config) || controller == nil && marked(f, data)
	case controller == nil:
		return false
	default:
		group, _ := schema.ParseGroupVersion(controller.APIVersion) // none if it has no form
		return group.Group == ref.APIGroup && controller.Kind == ref.Kind && controller.Name == ref.Name
	}
}

// marked reports whether a Secret without a controller has all else that our config gives its Secret. So it is after a restore,
// until the config has taken the Secret back, and for good where the API server refuses that.
func marked(f *facts, data *corev1.Secret) bool {
	return data.Name == f.config.Name && data.Type == clusterv1.ClusterSecretType &&
		data.Labels[clusterv1.ClusterNameLabel] == f.machine.Spec.ClusterName &&
		data.Annotations[bootstrapv1.RenderedGenerationAnnotation] != "" && ptr.Deref(data.Immutable, false)
}

// understood stops if the image cannot run the data: its VM would start and never do anything.
func understood(f *facts, data *corev1.Secret) error {
	setup := cmp.Or(f.clouds.Part(f.windows).Setup, infrav1.ImageSetupCloudbaseInit) // the API's default
	format := cmp.Or(string(data.Data["format"]), cloudbaseInit)
	if setup != infrav1.ImageSetupCloudbaseInit {
		return phase.Stall(infrav1.SpecInvalidReason,
			"image.setup %q is not supported by this release of the manager; upgrade the manager, or use another WindowsMachineTemplate",
			setup)
	}
	if format == cloudbaseInit {
		return nil
	}
	return phase.Stall(infrav1.BootstrapFormatMismatchReason,
		"Secret %s has bootstrap data of the format %q, but the image runs %q (image.setup is %s); "+
			"use a WindowsBootstrapConfig as the bootstrap config of the Machine", data.Name, format, cloudbaseInit, setup)
}
