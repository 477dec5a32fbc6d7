package lab_test

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// elsewhere are the permissions that no request of this story takes, with what takes them.
var elsewhere = map[string]string{
	"bootstrap: get configmaps":                  "TestMissingSources in test/controllers",
	"bootstrap: patch secrets":                   "TestOwnedAgain in test/controllers",
	"bootstrap: patch events.events.k8s.io":      toldTwice,
	"infrastructure: patch events.events.k8s.io": toldTwice,

	"bootstrap: update windowsbootstrapconfigs/finalizers.bootstrap.cluster.x-k8s.io":   ownersGuarded + "no Secret is made",
	"infrastructure: update windowsmachines/finalizers.infrastructure.cluster.x-k8s.io": ownersGuarded + "no address is claimed",
}

const ownersGuarded = "admission, which the lab's API server runs: without it "

const toldTwice = "client-go counts an event in the one before that was equal and about the same version of the object"

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
	needed := slices.Collect(maps.Keys(elsewhere))
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
