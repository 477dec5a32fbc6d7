package security

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// leaveItsRole tries what the role of the account does not have. RBAC refuses that before any policy is asked.
func (s *thief) leaveItsRole(t *testing.T) {
	home := fmt.Sprintf("capwin-%s-system", s.component)
	theirs := metav1.ObjectMeta{Namespace: s.namespace, Name: "theirs"}
	policy := metav1.ObjectMeta{Name: s.policy("own-events")}
	for tries, try := range map[string]func() error{
		"lists all Secrets":   func() error { return s.List(t.Context(), &corev1.SecretList{}) },
		"removes a Secret":    func() error { return s.Delete(t.Context(), &corev1.Secret{ObjectMeta: theirs}) },
		"removes a Machine":   func() error { return s.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: theirs}) },
		"runs a Pod":          func() error { return s.Create(t.Context(), &corev1.Pod{ObjectMeta: theirs}) },
		"writes a Node":       func() error { return s.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "evil"}}) },
		"widens its own role": func() error { return s.Update(t.Context(), &rbacv1.ClusterRole{ObjectMeta: ofRole(home)}) },
		"binds itself to a role": func() error {
			return s.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "evil"}})
		},
		"removes a policy about itself": func() error {
			return s.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: policy})
		},
		"removes the binding of a policy": func() error {
			return s.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy})
		},
		"acts as an admin":            s.impersonates(t),
		"gets another token of it":    s.getsToken(t, home, "capwin-"+s.component+"-manager"),
		"gets a token of kube-system": s.getsToken(t, metav1.NamespaceSystem, "clusterrole-aggregation-controller"),
	} {
		attempt(t, attack{by: s.component + " account", tries: tries, try: func(t *testing.T) string {
			if err := try(); !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				t.Errorf("want it refused by RBAC, got: %v", err)
			}
			return "refused by its role"
		}})
	}
}

func ofRole(home string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: home + "-manager"} }

func (s *thief) impersonates(t *testing.T) func() error {
	t.Helper()
	config := rest.CopyConfig(s.login)
	config.Impersonate = rest.ImpersonationConfig{UserName: "admin", Groups: []string{"system:masters"}}
	admin := logIn(t, config)
	return func() error { return admin.List(t.Context(), &corev1.SecretList{}) }
}

func (s *thief) getsToken(t *testing.T, namespace, name string) func() error {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return func() error {
		return s.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{})
	}
}
