package credentials

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// TestBroughtFinalizer: a machine may bring our finalizer without a VM. It holds the login of its own namespace that it names,
// nothing else, and no longer than it is there itself.
func TestBroughtFinalizer(t *testing.T) {
	for what, c := range map[string]struct {
		data   map[string][]byte
		kind   corev1.SecretType
		secret types.NamespacedName
		held   int
	}{
		"a login":             {map[string][]byte{"clientSecret": []byte("x")}, corev1.SecretTypeOpaque, vcenter("a"), 1},
		"a login of others":   {map[string][]byte{"clientSecret": []byte("x")}, corev1.SecretTypeOpaque, vcenter("b"), 0},
		"another type":        {map[string][]byte{"certificate": []byte("x")}, "example.com/keys", vcenter("a"), 0},
		"something else":      {map[string][]byte{"value": []byte("x")}, corev1.SecretTypeOpaque, vcenter("a"), 0},
		"what has half of it": {map[string][]byte{"username": []byte("x")}, corev1.SecretTypeOpaque, vcenter("a"), 0},
	} {
		k := newKeeping(t)
		expect.OK(t, k.api.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.secret.Namespace, Name: c.secret.Name}, Data: c.data, Type: c.kind,
		}))
		m := machine("m", vcenter("a"), holding)
		k.saw(m)
		k.pass(t, time.Minute)
		expect.Same(t, what+": finalizers", c.held, len(k.finalizers(t, c.secret)))
		k.lost(m)
		k.pass(t, time.Minute)
		expect.Same(t, what+": finalizers without the machine", 0, len(k.finalizers(t, c.secret)))
	}
}
