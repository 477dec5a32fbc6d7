package noderights

import (
	"context"
	"errors"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// writer is a workload cluster that counts reads and may refuse writes.
type writer struct {
	client.Client
	reads  int
	refuse error
}

func newWriter(objects ...client.Object) *writer {
	w := &writer{}
	w.Client = fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
			w.reads++
			return c.Get(ctx, key, o, with...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, with ...client.ApplyOption) error {
			if w.refuse != nil {
				return w.refuse
			}
			if err := roleRefStays(ctx, c, o); err != nil {
				return err
			}
			return c.Apply(ctx, o, with...)
		},
	}).Build()
	return w
}

// roleRefStays refuses what an API server refuses: ValidateClusterRoleBindingUpdate in pkg/apis/rbac/validation of kubernetes
// v1.36.3.
func roleRefStays(ctx context.Context, c client.Client, o runtime.ApplyConfiguration) error {
	object, _ := o.(interface{ UnstructuredContent() map[string]any })
	var wanted, there rbacv1.ClusterRoleBinding
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.UnstructuredContent(), &wanted); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(&wanted), &there); wanted.Kind != "ClusterRoleBinding" || err != nil {
		return client.IgnoreNotFound(err)
	}
	if there.RoleRef != wanted.RoleRef {
		return apierrors.NewInvalid(schema.GroupKind{Group: rbacv1.GroupName, Kind: wanted.Kind}, wanted.Name, field.ErrorList{
			field.Invalid(field.NewPath("roleRef"), wanted.RoleRef, "cannot change roleRef"),
		})
	}
	return nil
}

// TestEnsure: what was given is believed for ten minutes, a refusal for a moment, and what may end by itself not at all.
func TestEnsure(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := &Rights{Now: func() time.Time { return now }}
	w := newWriter()
	ensure := func(what string, after time.Duration, reads int, says string) {
		t.Helper()
		now, w.reads = now.Add(after), 0
		err := r.Ensure(t.Context(), prod, w, Flannel)
		if says == "" {
			expect.OK(t, err)
		} else {
			expect.Says(t, what, err, says)
		}
		expect.Same(t, "reads "+what, reads, w.reads)
	}
	const refusal = "nodes cannot get the ClusterRole capwin-flannel in the workload cluster: the Cluster's kubeconfig may not do " +
		"that (write ClusterRole: clusterroles \"capwin-flannel\" is forbidden: attempting to grant"
	w.refuse = errors.New("no answer")
	ensure("without an answer", 0, 1, "give nodes the ClusterRole capwin-flannel: write ClusterRole: no answer")
	w.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "capwin-flannel",
		errors.New("attempting to grant RBAC permissions not currently held"))
	ensure("when refused", 0, 1, refusal)
	const invalid = "nodes cannot get the ClusterRole capwin-flannel in the workload cluster: a rule of the workload cluster " +
		"does not allow what is written there (write ClusterRole:"
	w.refuse = apierrors.NewInvalid(schema.GroupKind{Kind: "ClusterRole"}, "capwin-flannel", nil)
	ensure("when it is invalid", retryRefused, 1, invalid)
	w.refuse = nil
	ensure("a moment later", retryRefused-1, 0, invalid)
	ensure("once it is tried again", 1, 2, "")
	ensure("soon after", recheck-1, 0, "")
	ensure("ten minutes later", 1, 2, "")
	_, refused := errors.AsType[*RefusedError](r.Ensure(t.Context(), prod, w, Flannel))
	expect.Same(t, "refused", false, refused)
	now = now.Add(recheck)
	other := client.ObjectKey{Namespace: "team-b", Name: "prod"}
	expect.OK(t, r.Ensure(t.Context(), other, newWriter(), Flannel))
	expect.Same(t, "clusters that are remembered", 1, len(r.checks))
}

// TestStrangers: objects with our names, other content and without our label are told, not written over.
func TestStrangers(t *testing.T) {
	meta := metav1.ObjectMeta{Name: string(KubeProxy), UID: "theirs"}
	for kind, object := range map[string]client.Object{
		"ClusterRole": &rbacv1.ClusterRole{ObjectMeta: meta}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{ObjectMeta: meta},
	} {
		err := write(t.Context(), newWriter(object), KubeProxy)
		expect.Says(t, kind, err, kind+" capwin-kube-proxy is there, has other content and no label app.kubernetes.io/managed-by=")
		_, refused := errors.AsType[*RefusedError](err)
		expect.Same(t, kind+" is a refusal", true, refused)
	}
}

// TestOtherRoleRef: a binding of ours that binds another role is made anew, and one of somebody else's stays.
func TestOtherRoleRef(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		says   string
		binds  string
	}{
		"ours":   {map[string]string{markLabel: mark}, "", "capwin-kube-proxy"},
		"theirs": {nil, "ClusterRoleBinding capwin-kube-proxy is there, has other content and no label", "view"},
	} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: string(KubeProxy), UID: "before", Labels: c.labels},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		}
		w := newWriter(binding)
		err := write(t.Context(), w, KubeProxy)
		if c.says == "" {
			expect.OK(t, err)
		} else {
			expect.Says(t, name, err, c.says)
		}
		found := &rbacv1.ClusterRoleBinding{}
		expect.OK(t, w.Get(t.Context(), client.ObjectKeyFromObject(binding), found))
		expect.Same(t, name+": the role that is bound", c.binds, found.RoleRef.Name)
	}
}

// TestOtherRoleRefAlone: a binding of ours with our subjects binds another role, which whoever wrote it chose. It is made anew.
func TestOtherRoleRefAlone(t *testing.T) {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: string(KubeProxy), UID: "before", Labels: map[string]string{markLabel: mark}},
		Subjects:   expect.Got(wanted())(t)[KubeProxy].binding.Subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	w := newWriter(binding)
	expect.OK(t, write(t.Context(), w, KubeProxy))
	found := &rbacv1.ClusterRoleBinding{}
	expect.OK(t, w.Get(t.Context(), client.ObjectKeyFromObject(binding), found))
	expect.Same(t, "the role that is bound", string(KubeProxy), found.RoleRef.Name)
}

// TestUnreadBinding: a binding that cannot be read may be somebody else's, so it is not written over.
func TestUnreadBinding(t *testing.T) {
	stranger := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: string(KubeProxy), UID: "theirs"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	w := newWriter(stranger)
	unread := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
			if _, is := o.(*rbacv1.ClusterRoleBinding); is {
				return errors.New("no answer")
			}
			return c.Get(ctx, key, o, with...)
		},
	})
	expect.Says(t, "write", write(t.Context(), unread, KubeProxy), "give nodes the ClusterRole capwin-kube-proxy: no answer")
	found := &rbacv1.ClusterRoleBinding{}
	expect.OK(t, w.Get(t.Context(), client.ObjectKeyFromObject(stranger), found))
	expect.Same(t, "the role that is bound", "view", found.RoleRef.Name)
}

// TestUnreadableRights: rights that cannot be read as they are meant are given to nobody.
func TestUnreadableRights(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":          manifest + "\n---\n{",
		"an unknown field": manifest + "\n---\nmetadata: {name: capwin-flannel}\nrulez: []\n",
		"an unknown role":  manifest + "\n---\nmetadata: {name: capwin-antrea}\n",
	} {
		_, err := read(text)
		expect.Says(t, name, err, "read roles.yaml")
	}
}
