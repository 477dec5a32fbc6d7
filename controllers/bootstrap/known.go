package bootstrap

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// known has the bootstrap Secrets that were just found good, without their user data. They are immutable, so that a config that
// is looked at many times, as when its machine comes up, need not read its Secret as often. Only their loss is noticed later.
type known struct {
	mu      sync.Mutex
	secrets map[types.UID]found
}

// found is a Secret, and the generation of the config that it was made for.
type found struct {
	secret     *corev1.Secret
	generation int64
	until      time.Time
}

// of returns the Secret of a config that has not changed since.
func (k *known) of(config *bootstrapv1.WindowsBootstrapConfig, name string, now time.Time) *corev1.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, ok := k.secrets[config.UID]
	if !ok || !now.Before(last.until) || last.generation != config.Generation || last.secret.Name != name {
		return nil
	}
	return last.secret.DeepCopy()
}

// note keeps a Secret until a time, and forgets others whose time is over.
func (k *known) note(config *bootstrapv1.WindowsBootstrapConfig, secret *corev1.Secret, now, until time.Time) {
	kept := secret.DeepCopy()
	delete(kept.Data, keyValue)
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, last := range k.secrets {
		if !now.Before(last.until) {
			delete(k.secrets, uid)
		}
	}
	if k.secrets == nil {
		k.secrets = map[types.UID]found{}
	}
	k.secrets[config.UID] = found{kept, config.Generation, until}
}
