package keep_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// stage is a workload cluster in memory, to which a process of ours writes one object.
type stage struct {
	*keep.Cluster
	contested []string
	want      *unstructured.Unstructured
	// written are the writes, removed is what the removals name, and read are the other calls. fail has the answers to some.
	written, removed, read []string
	fail                   map[string]error
	// before is called before a write, stores changes what the server stores, and shows what it answers to a get or a list.
	before        func(call string)
	stores, shows func(*unstructured.Unstructured)
}

const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: capwin-test
  labels:
    app.kubernetes.io/managed-by: capwin
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
`

const binding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: capwin-test
  labels:
    app.kubernetes.io/managed-by: capwin
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: capwin-test
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: system:nodes
`

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newStage(text string) *stage {
	s := &stage{want: keep.Must(text)[0], fail: map[string]error{}}
	noted := func(call string) error {
		if s.before != nil {
			before := s.before
			s.before = nil
			before(call)
		}
		s.written = append(s.written, call)
		return s.fail[call]
	}
	stored := func(o client.Object) client.Object {
		if there, is := o.(*unstructured.Unstructured); is && s.stores != nil {
			s.stores(there)
		}
		return o
	}
	api := fake.NewClientBuilder().WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
			s.read = append(s.read, "get "+key.Name)
			err := cmp.Or(s.fail["get"], c.Get(ctx, key, o, with...))
			if there, is := o.(*unstructured.Unstructured); is && s.shows != nil {
				s.shows(there)
			}
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, with ...client.ListOption) error {
			s.read = append(s.read, "list "+o.GetObjectKind().GroupVersionKind().Kind)
			err := cmp.Or(s.fail["list"], c.List(ctx, o, with...))
			if list, is := o.(*unstructured.UnstructuredList); is && s.shows != nil {
				for i := range list.Items {
					s.shows(&list.Items[i])
				}
			}
			return err
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.CreateOption) error {
			if err := noted("create"); err != nil {
				return err
			}
			return c.Create(ctx, stored(o), with...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.UpdateOption) error {
			if err := noted("update"); err != nil {
				return err
			}
			return c.Update(ctx, stored(o), with...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.DeleteOption) error {
			if err := noted("delete"); err != nil {
				return err
			}
			s.removed = append(s.removed, o.GetObjectKind().GroupVersionKind().Kind+" "+client.ObjectKeyFromObject(o).String())
			return c.Delete(ctx, o, with...)
		},
	}).Build()
	contested := func(sentence string) { s.contested = append(s.contested, sentence) }
	s.Cluster = &keep.Cluster{API: api, Now: start, Past: keep.Past{}, Contested: contested}
	return s
}

// news are the sentences about contested objects since the last call.
func (s *stage) news() []string {
	news := s.contested
	s.contested = nil
	return news
}

// write writes the object, and returns the calls that write.
func (s *stage) write(t *testing.T) ([]string, error) {
	t.Helper()
	s.written = nil
	err := s.Write(t.Context(), s.want)
	return s.written, err
}

// stays wants no call and no error.
func (s *stage) stays(t *testing.T, what string) {
	t.Helper()
	calls, err := s.write(t)
	expect.OK(t, err)
	expect.Same(t, what, 0, len(calls))
}

// rights wants one call and no error.
func (s *stage) rights(t *testing.T, what string, want ...string) {
	t.Helper()
	calls, err := s.write(t)
	expect.OK(t, err)
	expect.Same(t, what, want, calls)
}

// quietly does something that is not noted.
func (s *stage) quietly(do func(client.Client) error) error {
	fail, before, stores, shows, read := s.fail, s.before, s.stores, s.shows, s.read
	s.fail, s.before, s.stores, s.shows = map[string]error{}, nil, nil, nil
	defer func() { s.fail, s.before, s.stores, s.shows, s.read = fail, before, stores, shows, read }()
	return do(s.API)
}

// puts makes an object as somebody.
func (s *stage) puts(t *testing.T, who string, o client.Object) {
	t.Helper()
	expect.OK(t, s.quietly(func(c client.Client) error { return c.Create(t.Context(), o, client.FieldOwner(who)) }))
}

// edits changes the object as somebody.
func (s *stage) edits(t *testing.T, who string, change func(map[string]any)) {
	t.Helper()
	there := s.there(t)
	change(there.Object)
	expect.OK(t, s.quietly(func(c client.Client) error { return c.Update(t.Context(), there, client.FieldOwner(who)) }))
}

func (s *stage) removes(t *testing.T) {
	t.Helper()
	there := s.there(t)
	expect.OK(t, s.quietly(func(c client.Client) error { return c.Delete(t.Context(), there) }))
}

func (s *stage) there(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(s.want.GroupVersionKind())
	expect.OK(t, s.quietly(func(c client.Client) error {
		return c.Get(t.Context(), client.ObjectKeyFromObject(s.want), there)
	}))
	return there
}

func roleOf(labels map[string]string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	if rules == nil {
		rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}}
	}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "capwin-test", Labels: labels}, Rules: rules}
}

var (
	ours, theirs = map[string]string{keep.Label: keep.Mark}, map[string]string{keep.Label: "platform-team"}
	secrets      = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
)
