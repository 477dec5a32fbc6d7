package noderights

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// oddServer is an API server that answers anything.
type oddServer struct{ *odd.Source }

// RoundTrip implements http.RoundTripper.
func (s oddServer) RoundTrip(*http.Request) (*http.Response, error) {
	role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: s.Text(), UID: "uid", Labels: odd.One(s.Source, map[string]string{markLabel: mark}, s.Labels()),
	}}
	binding := rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{Name: s.Text()}}
	refusal := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Message: s.Text(),
		Reason: metav1.StatusReason(odd.One(s.Source, "Forbidden", "Invalid", "NotFound", s.Text())),
	}
	code := odd.One(s.Source, 200, 200, 403, 404, 422)
	object := odd.One[any](s.Source, role, binding, corev1.NodeList{Items: []corev1.Node{{}}})
	if code != http.StatusOK {
		object = refusal
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(s.JSON(object))),
	}, nil
}

// FuzzRoles: whatever an API server answers, a role is written, there or removed, or people are told in a printable sentence.
func FuzzRoles(f *testing.F) {
	odd.Fuzz(f, checkRoles)
}

func checkRoles(t *testing.T, source *odd.Source) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{rbacv1.SchemeGroupVersion})
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		mapper.Add(rbacv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	web := &http.Client{Transport: oddServer{source}}
	config := &rest.Config{Host: "https://workload.test", QPS: -1}
	api := expect.Got(client.New(config, client.Options{HTTPClient: web, Mapper: mapper}))(t)
	for _, role := range []Role{KubeProxy, Flannel} {
		_, lookErr := isThere(t.Context(), api, role)
		for _, err := range []error{write(t.Context(), api, role), lookErr, kept(role, remove(t.Context(), api, role))} {
			refusal, told := errors.AsType[*RefusedError](err)
			if !told {
				continue
			}
			for _, r := range refusal.Error() {
				if r < ' ' || r > '~' {
					t.Fatalf("%q", refusal.Error())
				}
			}
		}
	}
}
