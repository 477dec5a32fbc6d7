package daemons

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
			return c.Apply(ctx, o, with...)
		},
	}).Build()
	return w
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
	w.refuse = nil
	ensure("a moment later", retry-1, 0, refusal)
	ensure("once it is tried again", 1, 2, "")
	ensure("soon after", keep-1, 0, "")
	ensure("ten minutes later", 1, 2, "")
	_, refused := errors.AsType[*RefusedError](r.Ensure(t.Context(), prod, w, Flannel))
	expect.Same(t, "refused", false, refused)
	now = now.Add(keep)
	other := client.ObjectKey{Namespace: "team-b", Name: "prod"}
	expect.OK(t, r.Ensure(t.Context(), other, newWriter(), Flannel))
	expect.Same(t, "clusters that are remembered", 1, len(r.known))
}

// TestStrangers: objects with our names, other content and without our label are told, not written over.
func TestStrangers(t *testing.T) {
	meta := metav1.ObjectMeta{Name: string(KubeProxy), UID: "theirs"}
	for kind, object := range map[string]client.Object{
		"ClusterRole": &rbacv1.ClusterRole{ObjectMeta: meta}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{ObjectMeta: meta},
	} {
		err := give(t.Context(), newWriter(object), KubeProxy)
		expect.Says(t, kind, err, kind+" capwin-kube-proxy is there, has other content and no label app.kubernetes.io/managed-by=")
		_, refused := errors.AsType[*RefusedError](err)
		expect.Same(t, kind+" is a refusal", true, refused)
	}
}

// TestUnreadableRights: rights that cannot be read are given to nobody.
func TestUnreadableRights(t *testing.T) {
	good := manifest
	defer func() { manifest = good }()
	manifest += "\n---\n{"
	expect.Says(t, "give", give(t.Context(), newWriter(), KubeProxy), "read daemons.yaml")
	manifest = good + "\n---\nmetadata: {name: capwin-flannel}\nrulez: []\n"
	expect.Says(t, "unknown field", give(t.Context(), newWriter(), Flannel), "read daemons.yaml")
}
