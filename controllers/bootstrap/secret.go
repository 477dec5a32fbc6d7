package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// The keys of the bootstrap Secret. "value" and "format" are Cluster API's contract; the WindowsMachine makes no VM of an image
// that does not understand the format. The token is beside it because the same one is put back
// if it expires before a slow VM has joined. The warnings are beside it because we may die before we report them, and nothing is
// rendered twice.
const (
	keyValue    = "value"
	keyFormat   = "format"
	keyToken    = "token"
	keyWarnings = "warnings"
)

// format of the user data: cloudbase-init runs it.
const format = "cloudbase-init"

// findSecret looks for a Secret that was written earlier. It is never written again while a VM may boot with it.
func (r *Reconciler) findSecret(ctx context.Context, f *facts) error {
	knowsReport := !hasFinalizer(f, bootstrapv1.GuestReportFinalizer) || f.config.Status.GuestReport != "" // a move loses our status
	if joined(f) && !hasFinalizer(f, bootstrapv1.ConfigFinalizer) && knowsReport {
		return nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.config.Namespace, Name: ptr.Deref(f.machine.Spec.Bootstrap.DataSecretName, f.config.Name)}
	if f.secret = r.secrets.get(f.config, key.Name, r.Now()); f.secret != nil {
		return nil
	}
	err := r.Live.Get(ctx, key, &secret)
	switch {
	case err == nil:
		return r.recognize(ctx, f, &secret)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("get bootstrap secret: %w", err)
	case used(f) && !joined(f):
		return phase.Stall(bootstrapv1.DataSecretLostReason,
			"Secret %s was deleted before the node joined, and the VM may already boot from it; delete the Machine to get a new one",
			key.Name)
	}
	return nil
}

// recognize checks whether a Secret is the one that was written for this config. The Machine may name any Secret, and one that is
// adopted is deleted with the config: so it must have all that we give ours.
func (r *Reconciler) recognize(ctx context.Context, f *facts, secret *corev1.Secret) error {
	owned, foreign := metav1.IsControlledBy(secret, f.config), foreign(f, secret)
	switch {
	case owned && !used(f) && secret.Annotations[bootstrapv1.RenderedGenerationAnnotation] != generation(f):
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"spec changed after Secret %s had been made from it; delete the Machine to get a new one", secret.Name)
	case foreign == "" && owned:
		r.take(f, secret)
	case foreign == "":
		return r.adopt(ctx, f, secret)
	case joined(f):
	case used(f):
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"Machine %s uses Secret %s, which was not made from this config: %s; delete the Machine to get a new one, or remove its "+
				"spec.bootstrap.configRef if it should use that Secret", f.machine.Name, secret.Name, foreign)
	default:
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"Secret %s has the name that the user data needs, but was not made from this config: %s; delete it or rename the config",
			secret.Name, foreign)
	}
	return nil
}

// tokens is the form of a bootstrap token.
var tokens = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// foreign is why a Secret is not the one that we made for this config; empty if it is ours. A restore and a move keep all that it
// compares.
func foreign(f *facts, secret *corev1.Secret) string {
	owned, controller := metav1.IsControlledBy(secret, f.config), metav1.GetControllerOf(secret)
	switch {
	case !owned && controller != nil:
		return fmt.Sprintf("it belongs to %s %s", controller.Kind, controller.Name)
	case !owned && !used(f):
		return "nothing owns it"
	case secret.Name != f.config.Name:
		return "its name is not " + f.config.Name
	case secret.Type != clusterv1.ClusterSecretType:
		return "its type is not " + string(clusterv1.ClusterSecretType)
	case secret.Labels[clusterv1.ClusterNameLabel] != f.cluster.Name:
		return fmt.Sprintf("it lacks the label %s: %s", clusterv1.ClusterNameLabel, f.cluster.Name)
	case secret.Annotations[bootstrapv1.RenderedGenerationAnnotation] == "":
		return "it lacks the annotation " + bootstrapv1.RenderedGenerationAnnotation
	case !ptr.Deref(secret.Immutable, false):
		return "it is not immutable"
	case string(secret.Data[keyFormat]) != format || len(secret.Data[keyValue]) == 0:
		return "it has no user data for " + format
	case !tokens.Match(secret.Data[keyToken]):
		return "it has no bootstrap token"
	}
	return ""
}

// generation of the config: once the user data is reported the spec is frozen, and the user data must have been made from it.
func generation(f *facts) string { return strconv.FormatInt(f.config.Generation, 10) }

// adopt takes back a Secret that lost its owner, as in a restore: the Machine still names it. With the admission plugin
// OwnerReferencesPermissionEnforcement the API server refuses that, because we may not delete Secrets; the token in the Secret is
// kept alive all the same.
func (r *Reconciler) adopt(ctx context.Context, f *facts, secret *corev1.Secret) error {
	original := secret.DeepCopy()
	secret.OwnerReferences = append(secret.OwnerReferences,
		*metav1.NewControllerRef(f.config, bootstrapv1.GroupVersion.WithKind(kind)))
	lock := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, secret, lock)
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("adopt bootstrap secret: %w", err)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Bootstrap Secret is in use but has no owner; delete it when its Machine is gone",
			"secret", original.Name, "error", err.Error())
	}
	f.secret = secret
	return nil
}

// store renders the user data and writes it to the Secret, once.
func (r *Reconciler) store(ctx context.Context, f *facts) error {
	userData, err := render(ctx, f, f.token, r.Now())
	if err != nil {
		return err
	}
	warnings := slices.Concat(userData.Warnings(), f.warnings)
	if f.mute != "" {
		warnings = append(warnings, f.mute)
	}
	secret := dataSecret(f, userData.Bytes(), warnings)
	if err := r.Client.Create(ctx, secret); err != nil {
		return fmt.Errorf("create bootstrap secret: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Bootstrap data stored", "secret", secret.Name, "bytes", len(secret.Data[keyValue]))
	if f.nameTaken {
		r.warn(f, bootstrapv1.GuestRightsNameTakenReason, f.mute)
	}
	r.take(f, secret)
	return nil
}

// take uses a Secret that is the config's own.
func (r *Reconciler) take(f *facts, secret *corev1.Secret) {
	f.secret = secret
	r.secrets.put(f.config, secret, r.Now(), r.Now().Add(r.TrustSecret))
}

func dataSecret(f *facts, userData []byte, warnings []string) *corev1.Secret {
	data := map[string][]byte{keyValue: userData, keyFormat: []byte(format), keyToken: []byte(f.token)}
	if len(warnings) > 0 {
		data[keyWarnings] = []byte(strings.Join(warnings, "\n"))
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       f.config.Namespace,
			Name:            f.config.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: f.cluster.Name},
			Annotations:     map[string]string{bootstrapv1.RenderedGenerationAnnotation: generation(f)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.config, bootstrapv1.GroupVersion.WithKind(kind))},
		},
		Type:      clusterv1.ClusterSecretType,
		Immutable: new(true),
		Data:      data,
	}
}

// secretCache has the bootstrap Secrets that were just found good, without their user data. They are immutable, so that a config
// that is reconciled many times, as when its machine comes up, need not read its Secret as often. Only their loss is noticed
// later.
type secretCache struct {
	mu      sync.Mutex
	secrets map[types.UID]found
}

// found is a Secret, and the generation of the config that it was made for.
type found struct {
	secret     *corev1.Secret
	generation int64
	expiry     time.Time
}

// get returns the Secret of a config that has not changed since.
func (k *secretCache) get(config *bootstrapv1.WindowsBootstrapConfig, name string, now time.Time) *corev1.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	entry, ok := k.secrets[config.UID]
	if !ok || !now.Before(entry.expiry) || entry.generation != config.Generation || entry.secret.Name != name {
		return nil
	}
	return entry.secret.DeepCopy()
}

// put keeps a Secret until it expires, and drops those that have expired.
func (k *secretCache) put(config *bootstrapv1.WindowsBootstrapConfig, secret *corev1.Secret, now, expiry time.Time) {
	kept := secret.DeepCopy()
	delete(kept.Data, keyValue)
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.secrets, func(_ types.UID, entry found) bool { return !now.Before(entry.expiry) })
	if k.secrets == nil {
		k.secrets = map[types.UID]found{}
	}
	k.secrets[config.UID] = found{kept, config.Generation, expiry}
}
