package bootstrap

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

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
	for uid, entry := range k.secrets {
		if !now.Before(entry.expiry) {
			delete(k.secrets, uid)
		}
	}
	if k.secrets == nil {
		k.secrets = map[types.UID]found{}
	}
	k.secrets[config.UID] = found{kept, config.Generation, expiry}
}
