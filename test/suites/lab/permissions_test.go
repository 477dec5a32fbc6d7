package lab_test

import (
	"context"
	"crypto/tls"
	"flag"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/permissions"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

var update = flag.Bool("update", false, "write the table of permissions in docs/contributing/permissions.md anew")

// assertNothingRefused checks that our managers, each as its own account, may do all that they tried.
func (s *story) assertNothingRefused() {
	audit, err := s.lab.Management.Audit()
	if err != nil {
		s.Error(err)
	}
	for _, refused := range audit.Refused {
		s.Errorf("refused to the manager: %s", refused)
	}
}

// assertPermissions checks that our managers need all they were given.
func (s *story) assertPermissions() {
	s.Helper()
	audit, err := s.lab.Management.Audit()
	s.must(err)
	needed := slices.Collect(maps.Keys(permissions.Elsewhere))
	for _, used := range audit.Used {
		needed = append(needed, used.String())
		if used.Verb == "watch" { // an API server that cannot begin a watch with a list is asked for one
			used.Verb = "list"
			needed = append(needed, used.String())
		}
	}
	var granted []string
	for _, permission := range audit.Granted {
		granted = append(granted, permission.String())
	}
	slices.Sort(needed)
	slices.Sort(granted)
	if diff := cmp.Diff(needed, granted); diff != "" {
		s.Errorf("permissions of our managers (-needed +granted):\n%s", diff)
	}
	table, err := permissions.Table(audit)
	s.must(err)
	if *update {
		s.must(permissions.Write(table))
	}
	const renew = "permissions in docs/contributing/permissions.md; write: go test ./test/suites/lab -run TestLifeOfAPool -update"
	expect.Same(s, renew, table, expect.Got(permissions.Read())(s))
}

// assertOwnersGuarded checks that the API server refuses what our managers make to who may do all of that but own it: its
// admission plugin OwnerReferencesPermissionEnforcement asks for the right to update an owner's finalizers.
func (s *story) assertOwnersGuarded(ctx context.Context) {
	s.Helper()
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "other"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: other.Name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{ipamv1.GroupVersion.Group}, Resources: []string{"ipaddressclaims"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: other.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: other.Namespace, Name: other.Name}},
	}
	for _, object := range []client.Object{other, role, binding} {
		s.must(s.lab.Client.Create(ctx, object))
	}
	login, err := s.lab.Management.LogIn(ctx, other)
	s.must(err)
	for component, owned := range ownedObjects() {
		ours, err := servers.ManagerConfig(ctx, s.lab.Management, component)
		s.must(err)
		if err := s.create(ctx, ours, owned); err != nil {
			s.Errorf("the %s manager must be able to own a %T: %v", component, owned, err)
		}
		expect.Says(s, "another account, which may not update finalizers", s.create(ctx, login, owned), "cannot set blockOwnerDeletion")
	}
}

// ownedObjects are as our managers make them.
func ownedObjects() map[string]client.Object {
	meta := metav1.ObjectMeta{Name: "owned", Namespace: lab.Namespace, UID: "11111111-2222-3333-4444-555555555555"}
	owned := func(name string, owner metav1.Object, gvk schema.GroupVersionKind) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: lab.Namespace, Labels: map[string]string{clusterv1.ClusterNameLabel: lab.ClusterName},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)},
		}
	}
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: meta}
	secret := &corev1.Secret{
		ObjectMeta: owned(meta.Name, config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")),
		Type:       clusterv1.ClusterSecretType, Immutable: new(true), Data: map[string][]byte{"value": []byte("v")},
	}
	secret.Annotations = map[string]string{bootstrapv1.RenderedGenerationAnnotation: "1"}
	machine := &infrav1.WindowsMachine{ObjectMeta: meta}
	claim := &ipamv1.IPAddressClaim{
		ObjectMeta: owned(meta.Name+"-0-0", machine, infrav1.GroupVersion.WithKind("WindowsMachine")),
		Spec:       ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{APIGroup: "example.com", Kind: "Pool", Name: "nodes"}},
	}
	return map[string]client.Object{servers.Bootstrap: secret, servers.Infrastructure: claim}
}

// create asks the API server whether an account may create an object.
func (s *story) create(ctx context.Context, login *rest.Config, object client.Object) error {
	api, err := client.New(login, client.Options{Scheme: s.lab.Client.Scheme(), Mapper: s.lab.Client.RESTMapper()})
	s.must(err)
	made, _ := object.DeepCopyObject().(client.Object)
	return api.Create(ctx, made, client.DryRunAll)
}

// assertMetrics checks that only an account with the right to read metrics can read them.
func (s *story) assertMetrics(ctx context.Context) {
	s.Helper()
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "metrics"}, Rules: []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "prometheus"}},
	}
	s.must(s.lab.Client.Create(ctx, role))
	s.must(s.lab.Client.Create(ctx, binding))
	for name, want := range map[string]int{"prometheus": http.StatusOK, "stranger": http.StatusForbidden} {
		s.must(s.lab.Client.Create(ctx, account(name)))
		login, err := s.lab.Management.LogIn(ctx, account(name))
		s.must(err)
		for _, manager := range s.lab.Managers {
			if got := read(ctx, s.T, manager.Metrics, login.BearerToken); got != want {
				s.Errorf("%s reads the metrics of the %s manager: %d, want %d", name, manager.Component, got, want)
			}
		}
	}
}

func read(ctx context.Context, t *testing.T, url, token string) int {
	t.Helper()
	request := expect.Got(http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody))(t)
	request.Header.Set("Authorization", "Bearer "+token)
	anyCertificate := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because a manager signs its own
	}
	defer anyCertificate.CloseIdleConnections()
	response, err := anyCertificate.RoundTrip(request)
	expect.OK(t, err)
	expect.OK(t, response.Body.Close())
	return response.StatusCode
}
