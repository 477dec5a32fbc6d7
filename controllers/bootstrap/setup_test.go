package bootstrap

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A manager ends at once if its API server does not know our kinds, or if a controller has the name of ours.
func TestSetupFails(t *testing.T) {
	knows := meta.NewDefaultRESTMapper([]schema.GroupVersion{bootstrapv1.GroupVersion, infrav1.GroupVersion, clusterv1.GroupVersion})
	for _, kind := range []string{"WindowsBootstrapConfig", "WindowsBootstrapConfigList"} {
		knows.Add(bootstrapv1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	knows.Add(infrav1.GroupVersion.WithKind("WindowsMachine"), meta.RESTScopeNamespace)
	knows.Add(clusterv1.GroupVersion.WithKind("Machine"), meta.RESTScopeNamespace)
	knows.Add(clusterv1.GroupVersion.WithKind("Cluster"), meta.RESTScopeNamespace)
	setup := func(mapper meta.RESTMapper) error {
		mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, ctrl.Options{
			Scheme: newRoom(t).management.Scheme(), Metrics: server.Options{BindAddress: "0"},
			MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		})
		expect.OK(t, err)
		return (&Reconciler{Client: mgr.GetClient()}).SetupWithManager(t.Context(), mgr, controller.Options{})
	}
	expect.Says(t, "kinds that are not known", setup(meta.NewDefaultRESTMapper(nil)), "map clusters to windowsbootstrapconfigs: ")
	expect.Says(t, "the first", setup(knows), "")
	expect.Says(t, "the second", setup(knows), "windowsbootstrapconfig already exists")
}
