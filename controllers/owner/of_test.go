package owner_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOf has what an ownerReference and the Machine that it names can say of each other.
func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		uid     types.UID
		names   string
		owns    bool
		refused bool
	}{
		"owner":      {"both say so", "uid", "m", true, false},
		"other UID":  {"it was restored, or our cache is behind: Cluster API corrects it", "another", "m", false, false},
		"not named":  {"the Machine uses another object", "uid", "other", false, true},
		"only a lie": {"neither fits", "another", "other", false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core", UID: "uid"}}
			machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: c.names,
			}
			windows := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
			windows.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "core", UID: c.uid},
			}
			scheme := runtime.NewScheme()
			expect.OK(t, clusterv1.AddToScheme(scheme))
			expect.OK(t, infrav1.AddToScheme(scheme))
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine).Build()
			found := expect.Got(owner.Of(t.Context(), api, windows))(t)
			if owns, refused := found.Machine != nil, found.Refused != ""; owns != c.owns || refused != c.refused {
				t.Errorf("owns %t, refused %q; want %t, %t: %s", owns, found.Refused, c.owns, c.refused, c.reason)
			}
		})
	}
}
