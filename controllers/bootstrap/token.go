package bootstrap

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	nodeGroup = "system:bootstrappers:kubeadm:default-node-token"

	// maxTokenIDs is how many ids we try if the first ones are taken: an id has 30 bits.
	maxTokenIDs = 5
)

var tokenAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// tokenID depends only on the config, so that no second token is made, wherever the process dies.
func tokenID(config *bootstrapv1.WindowsBootstrapConfig, try int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", config.UID, try))
	return tokenAlphabet.EncodeToString(sum[:])[:6]
}

func newTokenSecret() string {
	random := make([]byte, 10)
	// Read never fails: since Go 1.24 the program ends on a system without randomness.
	_, _ = rand.Read(random)
	return tokenAlphabet.EncodeToString(random)
}

// mark is the token's description, which names its config.
func mark(config *bootstrapv1.WindowsBootstrapConfig) string {
	return fmt.Sprintf("capwin bootstrap token of %s/%s %s", config.Namespace, config.Name, config.UID)
}

// issueToken makes the token, or finds the one that it made before.
func (r *Reconciler) issueToken(ctx context.Context, f *facts) error {
	for try := range maxTokenIDs {
		id := tokenID(f.config, try)
		token, err := r.putToken(ctx, f, id+"."+newTokenSecret())
		if err != nil {
			return err
		}
		if string(token.Data[bootstrapapi.BootstrapTokenDescriptionKey]) == mark(f.config) {
			f.token = id + "." + string(token.Data[bootstrapapi.BootstrapTokenSecretKey])
			return nil
		}
	}
	return fmt.Errorf("all %d possible ids of the bootstrap token are in use by other tokens", maxTokenIDs)
}

// putToken returns the token with this id; it makes one if there is none.
func (r *Reconciler) putToken(ctx context.Context, f *facts, token string) (*corev1.Secret, error) {
	id, secretPart, _ := strings.Cut(token, ".")
	secret := &corev1.Secret{}
	err := f.workload.Get(ctx, tokenKey(id), secret)
	if !apierrors.IsNotFound(err) {
		return secret, wrap("get bootstrap token", err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: tokenKey(id).Namespace, Name: tokenKey(id).Name},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(id),
			bootstrapapi.BootstrapTokenSecretKey:           []byte(secretPart),
			bootstrapapi.BootstrapTokenExpirationKey:       r.expiration(f),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(r.groups(f)),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte(mark(f.config)),
		},
	}
	if f.config.Spec.Discovery.KubeconfigFrom.Secret.Name == "" { // or the node has a kubeconfig, and needs no signed cluster-info
		secret.Data[bootstrapapi.BootstrapTokenUsageSigningKey] = []byte("true")
	}
	return secret, wrap("make bootstrap token", f.workload.Create(ctx, secret))
}

// groups are those of the guest until it joins. bootstrap.GuestGroup alone lets it do nothing.
func (r *Reconciler) groups(f *facts) string {
	if r.reportsInCluster(f) {
		return nodeGroup + "," + bootstrap.GuestGroup
	}
	return nodeGroup
}

func tokenKey(id string) client.ObjectKey {
	return client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + id}
}

func wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

func (r *Reconciler) expiration(f *facts) []byte {
	return []byte(r.inCluster(f).UTC().Add(r.TokenTTL).Format(time.RFC3339))
}

// inCluster is the time by the workload cluster's clock: that one ends tokens, and ours may be hours behind it. The token was
// read before this is asked for, so an answer of the cluster had its time, unless a proxy in between removed it.
func (r *Reconciler) inCluster(f *facts) time.Time {
	if now := r.Workload.Now(client.ObjectKeyFromObject(f.cluster)); !now.IsZero() {
		return now
	}
	return r.Now()
}

// keepToken keeps the token alive until the node has joined or must not join any more. Then it removes the token and the
// finalizer. While a machine is stalled its token may expire; keepToken puts it back when the machine goes on. A finalizer that
// somebody has taken while the guest needs its token is put back.
func (r *Reconciler) keepToken(ctx context.Context, f *facts) error {
	switch held := hasFinalizer(f, bootstrapv1.ConfigFinalizer); {
	case !held && !needsToken(f):
		return nil
	case !held:
		// One that has joined has none, although its Machine may not say so yet, as after a move.
		if token, err := r.findToken(ctx, f); token == nil {
			return err
		}
		if err := r.hold(ctx, f); err != nil {
			return err
		}
	case !awaitsNode(f):
		if err := r.removeToken(ctx, f); err != nil {
			return err
		}
		original := f.config.DeepCopy()
		controllerutil.RemoveFinalizer(f.config, bootstrapv1.ConfigFinalizer)
		return r.patchFinalizers(ctx, f, original)
	}
	if f.windows != nil && conditions.IsTrue(f.windows, infrav1.StalledCondition) {
		return nil
	}
	f.lookAgain = r.TokenTTL / 3
	// If the token has expired, the VM needs the same one again.
	issued := string(f.secret.Data[keyToken])
	_, secretPart, _ := strings.Cut(issued, ".")
	token, err := r.putToken(ctx, f, issued)
	switch {
	case err != nil:
		return err
	case string(token.Data[bootstrapapi.BootstrapTokenSecretKey]) != secretPart:
		return phase.Stall(bootstrapv1.BootstrapTokenReplacedReason,
			"Secret %s/%s in the workload cluster no longer has the node's token, so the node cannot join; "+
				"delete that Secret, or delete the Machine to get a new one",
			token.Namespace, token.Name)
	}
	return r.extendToken(ctx, f, token)
}

// needsToken reports whether a guest may be joining by a token.
func needsToken(f *facts) bool { return f.secret != nil && awaitsNode(f) }

// awaitsNode reports whether the machine may still get its Node.
func awaitsNode(f *facts) bool {
	return !joined(f) && !bootstrapFailed(f) && f.machine.DeletionTimestamp.IsZero()
}

func bootstrapFailed(f *facts) bool {
	return f.windows != nil && f.windows.Status.Bootstrap != nil && f.windows.Status.Bootstrap.State == string(plan.StateFailed)
}

func (r *Reconciler) extendToken(ctx context.Context, f *facts, token *corev1.Secret) error {
	expires, err := time.Parse(time.RFC3339, string(token.Data[bootstrapapi.BootstrapTokenExpirationKey]))
	if err == nil && expires.Sub(r.inCluster(f)) > r.TokenTTL/2 {
		return nil
	}
	patch := client.MergeFrom(token.DeepCopy())
	token.Data[bootstrapapi.BootstrapTokenExpirationKey] = r.expiration(f)
	if err := f.workload.Patch(ctx, token, patch); err != nil {
		return fmt.Errorf("extend bootstrap token: %w", err)
	}
	return nil
}

// removeToken removes the token of this config if there is one, and no other config's.
func (r *Reconciler) removeToken(ctx context.Context, f *facts) error {
	token, err := r.findToken(ctx, f)
	if token == nil {
		return err
	}
	if err := f.workload.Delete(ctx, token); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove bootstrap token: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Bootstrap token removed", "token", token.Name)
	return nil
}

// findToken returns the token of this config, and nil if there is none.
func (r *Reconciler) findToken(ctx context.Context, f *facts) (*corev1.Secret, error) {
	issued, err := r.issuedToken(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	if id, _, found := strings.Cut(issued, "."); found {
		ids = append(ids, id)
	}
	for try := range maxTokenIDs {
		ids = append(ids, tokenID(f.config, try))
	}
	for _, id := range ids {
		var token corev1.Secret
		err := f.workload.Get(ctx, tokenKey(id), &token)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get bootstrap token: %w", err)
		}
		marked := string(token.Data[bootstrapapi.BootstrapTokenDescriptionKey]) == mark(f.config)
		if !marked && id+"."+string(token.Data[bootstrapapi.BootstrapTokenSecretKey]) != issued {
			continue
		}
		return &token, nil
	}
	return nil, nil
}

// issuedToken is the token in the bootstrap Secret, if there is one. That finds it after a move to another management cluster,
// where the config has another UID than the one that the token id was made from.
func (r *Reconciler) issuedToken(ctx context.Context, f *facts) (string, error) {
	if f.secret != nil {
		return string(f.secret.Data[keyToken]), nil
	}
	var secret corev1.Secret
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(f.config), &secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get bootstrap secret: %w", err)
	}
	if !metav1.IsControlledBy(&secret, f.config) || !tokens.Match(secret.Data[keyToken]) {
		return "", nil
	}
	return string(secret.Data[keyToken]), nil
}

// clear removes something of a config that is being deleted from the workload cluster, if its finalizer shows that it may be
// there. That does not hold the object if the workload cluster is being deleted too and is out of reach, or for longer than a
// token lives. A cluster that answers is asked even then, because our clock may be wrong.
func (r *Reconciler) clear(finalizer string, remove phase.Func[*facts]) phase.Func[*facts] {
	return func(ctx context.Context, f *facts) (err error) {
		if f.cluster == nil || !hasFinalizer(f, finalizer) {
			return nil
		}
		if f.workload, err = r.Workload.GetClient(ctx, client.ObjectKeyFromObject(f.cluster)); err == nil {
			err = remove(ctx, f)
		}
		expired := r.Now().After(f.config.DeletionTimestamp.Add(r.TokenTTL))
		if expired || !f.cluster.DeletionTimestamp.IsZero() && workload.OutOfReach(err) {
			return nil
		}
		return err
	}
}
