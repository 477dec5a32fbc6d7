package credentials

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHoldable: what the policy would refuse is not tried. The policy is tried in test/suites/security.
func TestHoldable(t *testing.T) {
	t.Parallel()
	login := map[string][]byte{"server": {}, "username": {}, "password": {}}
	now := metav1.NewTime(time.Now())
	for name, c := range map[string]struct {
		secret corev1.Secret
		want   bool
	}{
		"a vCenter's login":              {corev1.Secret{Data: login}, true},
		"of the type Opaque":             {corev1.Secret{Data: login, Type: corev1.SecretTypeOpaque}, true},
		"a client secret":                {corev1.Secret{Data: map[string][]byte{"clientSecret": {}}}, true},
		"a certificate":                  {corev1.Secret{Data: map[string][]byte{"certificate": {}}}, true},
		"half a login":                   {corev1.Secret{Data: map[string][]byte{"username": {}, "password": {}}}, false},
		"another type":                   {corev1.Secret{Data: login, Type: corev1.SecretTypeBasicAuth}, false},
		"a namespace of the cluster":     {corev1.Secret{Data: login, ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system"}}, false},
		"being deleted, with finalizers": {corev1.Secret{Data: login, ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, false},
	} {
		expect.Same(t, name, c.want, holdable(&c.secret))
	}
}
