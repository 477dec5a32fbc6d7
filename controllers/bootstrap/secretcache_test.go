package bootstrap

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A Secret that was found good is not read again for a while, unless something else is asked for.
func TestKnown(t *testing.T) {
	config := &bootstrapv1.WindowsBootstrapConfig{}
	config.UID, config.Generation = "1", 1
	secret := &corev1.Secret{Data: map[string][]byte{keyToken: []byte("t"), keyValue: []byte("large")}}
	secret.Name = "m"
	now := time.Unix(1000, 0)
	var k secretCache
	k.put(config, secret, now, now.Add(time.Minute))
	other, changed := config.DeepCopy(), config.DeepCopy()
	other.UID, changed.Generation = "2", 2
	for what, c := range map[string]struct {
		config *bootstrapv1.WindowsBootstrapConfig
		name   string
		after  time.Duration
		want   bool
	}{
		"at once":          {config, "m", 0, true},
		"before the end":   {config, "m", time.Minute - 1, true},
		"at the end":       {config, "m", time.Minute, false},
		"another name":     {config, "other", 0, false},
		"another config":   {other, "m", 0, false},
		"a changed config": {changed, "m", 0, false},
	} {
		got := k.get(c.config, c.name, now.Add(c.after))
		if (got != nil) != c.want {
			t.Errorf("%s: %v", what, got)
		}
		if got != nil && (len(got.Data[keyValue]) > 0 || len(got.Data[keyToken]) == 0) {
			t.Errorf("%s: it must keep the token, and not the user data", what)
		}
	}
	expect.Same(t, "user data of the caller", "large", string(secret.Data[keyValue]))
	k.put(other, secret, now.Add(time.Hour), now.Add(time.Hour))
	expect.Same(t, "Secrets that are kept", 1, len(k.secrets))
}
