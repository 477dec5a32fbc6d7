package keep_test

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// oddServer is an API server that answers anything. It notes what it is asked to write.
type oddServer struct {
	*odd.Source
	t *testing.T
}

// RoundTrip implements http.RoundTripper.
func (s oddServer) RoundTrip(r *http.Request) (*http.Response, error) {
	isList := r.Method == http.MethodGet && strings.HasPrefix(path.Base(r.URL.Path), "clusterrole")
	if !strings.HasSuffix(r.URL.Path, "/capwin-test") && r.Method != http.MethodPost && !isList {
		s.t.Errorf("it is asked to %s %s", r.Method, r.URL.Path)
	}
	role := rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: odd.One(s.Source, "ClusterRole", s.Text())},
		ObjectMeta: metav1.ObjectMeta{
			Name: odd.One(s.Source, "capwin-test", s.Text()), UID: "uid", Labels: odd.One(s.Source, ours, s.Labels()),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: odd.One(s.Source, "capwin", s.Text())}},
		},
	}
	binding := rbacv1.ClusterRoleBinding{TypeMeta: role.TypeMeta, ObjectMeta: role.ObjectMeta}
	binding.RoleRef.Name = s.Text()
	refusal := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Message: s.Text(),
		Reason: metav1.StatusReason(odd.One(s.Source, "Forbidden", "Invalid", "NotFound", s.Text())),
	}
	code := odd.One(s.Source, 200, 200, 403, 404, 422)
	object := odd.One[any](s.Source, role, binding)
	if isList {
		object = map[string]any{"kind": "List", "apiVersion": "v1", "items": []any{object, odd.One[any](s.Source, binding, nil, "x")}}
	}
	if code != http.StatusOK {
		object = refusal
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(s.JSON(object))),
	}, nil
}

// FuzzWrites: whatever an API server answers, no other object is named in a call, each error has a class, and what people read is
// printable.
func FuzzWrites(f *testing.F) { odd.Fuzz(f, checkWrites) }

func checkWrites(t *testing.T, source *odd.Source) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{rbacv1.SchemeGroupVersion})
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		mapper.Add(rbacv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	web := &http.Client{Transport: oddServer{source, t}}
	config := &rest.Config{Host: "https://workload.test", QPS: -1}
	api := expect.Got(client.New(config, client.Options{HTTPClient: web, Mapper: mapper}))(t)
	var sentences []string
	c := &keep.Cluster{API: api, Now: start, Past: keep.Past{}, Contested: func(s string) { sentences = append(sentences, s) }}
	all := append(keep.Must(role), keep.Must(binding)...)
	for range 6 {
		c.Now = c.Now.Add(time.Duration(source.N(100)) * time.Second)
		if source.Once(2) {
			c.Fetch(t.Context(), all)
		}
		for _, object := range all {
			before := object.DeepCopy()
			errs := []error{c.Write(t.Context(), object), c.Revoke(t.Context(), object), expect.ErrorOf(c.IsThere(t.Context(), object))}
			for _, err := range errs {
				keep.ClassOf(err)
			}
			expect.Same(t, "what is wanted", before, object)
		}
	}
	for _, news := range sentences {
		for _, r := range news {
			if r < ' ' || r > '~' {
				t.Fatalf("%q", news)
			}
		}
	}
}
