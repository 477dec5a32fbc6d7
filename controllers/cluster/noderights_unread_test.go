package cluster

import (
	"context"
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHalfARole: a binding whose role somebody has removed is revoked, too.
func TestHalfARole(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.after(t, 0)
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	expect.OK(t, s.workload.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: kubeProxy}}))
	s.during(t, revokeAfter+recheck)
	expect.Same(t, "in the end", nothing, s.there(t))
}

// TestUnreadConfigs: what is not read of the configs, or is on a later page, may need the role.
func TestUnreadConfigs(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.after(t, 0)
	pages := &paged{Reader: s.management}
	s.restart()
	s.Keeps = func() []Keep { return []Keep{&NodeRights{Live: pages}} }
	s.Client = newStage(t).management // the cache does not know of it
	s.during(t, 3*revokeAfter)
	expect.Same(t, "with a config on the second page", kubeProxies, s.there(t))
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	pages.err = errors.New("no answer")
	s.during(t, 3*revokeAfter)
	expect.Same(t, "while configs are not read", kubeProxies, s.there(t))
	pages.err = nil
	s.during(t, 3*revokeAfter)
	expect.Same(t, "in the end", nothing, s.there(t))
}

// paged has nothing on the first page of a list.
type paged struct {
	client.Reader
	err error
}

// List implements client.Reader.
func (p *paged) List(ctx context.Context, o client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if p.err != nil || asked.Continue == "" {
		o.SetContinue("2")
		return p.err
	}
	asked.Continue = ""
	return p.Reader.List(ctx, o, &asked)
}

// TestUnreadableManagement: without the Cluster or the configs nothing is done.
func TestUnreadableManagement(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.Client = lacking{s.management}
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: prod})
	expect.Says(t, "look", err, "list objects of the cluster: ")
	expect.Same(t, "calls", 0, len(s.calls))
}

// lacking lists nothing.
type lacking struct{ client.Client }

// List implements client.Reader.
func (lacking) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewServiceUnavailable("x")
}
