package guests

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestObjectOfReports: it is made once and removed once, and a refusal names it.
func TestObjectOfReports(t *testing.T) {
	refusal := errors.New("the webhook says no")
	var fail error
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.CreateOption) error {
			if fail != nil {
				return fail
			}
			return c.Create(ctx, o, with...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.DeleteOption) error {
			if fail != nil {
				return fail
			}
			return c.Delete(ctx, o, with...)
		},
	}).Build()
	there := func() error {
		return api.Get(t.Context(), client.ObjectKey{Namespace: bootstrap.GuestNamespace, Name: "win-1"}, &corev1.ConfigMap{})
	}
	for range 2 {
		expect.OK(t, MakeReport(t.Context(), api, "win-1"))
		expect.OK(t, there())
	}
	fail = refusal
	const object = " the object of the guest's reports: the webhook says no"
	expect.Says(t, "MakeReport", MakeReport(t.Context(), api, "win-1"), "make"+object)
	expect.Says(t, "RemoveReport", RemoveReport(t.Context(), api, "win-1"), "remove"+object)
	fail = nil
	for range 2 {
		expect.OK(t, RemoveReport(t.Context(), api, "win-1"))
		expect.Same(t, "it is gone", true, apierrors.IsNotFound(there()))
	}
}
