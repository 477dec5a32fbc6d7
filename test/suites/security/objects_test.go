package security

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// theirID is Azure's own ID of another tenant's VM, which is in every Node.
const theirID = "8b5de7fd-1111-4222-8333-444444444444"

// TestWhatObjectsBring: a user may write an object, but not its status. The managers rely on fields that the API server does not
// take from such a user.
func TestWhatObjectsBring(t *testing.T) {
	t.Parallel()
	n := shared.Namespace(t, world.Start{})
	n.Pause(t, true)
	machine := func(name string) *infrav1.WindowsMachine {
		m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: name}}
		m.Spec = world.InAzure(world.Credentials)
		m.Status.Azure = &infrav1.AzurePlacement{AzureRecord: infrav1.AzureRecord{Server: "s", VMID: theirID}}
		m.Status.VSphere = infrav1.VSphereRecord{Server: "s", Reference: "vm-1"}
		return m
	}
	unproved := func(t *testing.T, name string) string {
		t.Helper()
		got := &infrav1.WindowsMachine{}
		expect.OK(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.Name, Name: name}, got))
		expect.Same(t, "the ID of a VM in the status", "", got.Status.Record().VM()+got.Status.VSphere.Reference)
		return "the status is left out"
	}
	attempt(t,
		attack{"tenant", "brings a status with another's VM in a new object", func(t *testing.T) string {
			expect.OK(t, n.Client.Create(t.Context(), machine("new")))
			return unproved(t, "new")
		}},
		attack{"tenant", "writes a status with another's VM into an object of theirs", func(t *testing.T) string {
			m := machine("updated")
			expect.OK(t, n.Client.Create(t.Context(), m.DeepCopy()))
			expect.OK(t, n.Client.Patch(t.Context(), m.DeepCopy(), client.RawPatch(types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"labels":{"a":"b"}},"status":{"azure":{"server":"s","vmID":%q}}}`, theirID))))
			return unproved(t, "updated")
		}},
		attack{"tenant", "applies a status with another's VM from a server's side", func(t *testing.T) string {
			m := machine("applied")
			m.SetGroupVersionKind(infrav1.GroupVersion.WithKind("WindowsMachine"))
			made := &unstructured.Unstructured{Object: expect.Got(runtime.DefaultUnstructuredConverter.ToUnstructured(m))(t)}
			expect.OK(t, n.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(made), client.FieldOwner("evil"),
				client.ForceOwnership))
			return unproved(t, "applied")
		}},
		attack{"tenant", "marks an object as one that the cache has read already, so that it is kept whole", func(t *testing.T) string {
			c := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{
				Namespace: n.Name, Name: "marked", Annotations: map[string]string{"too large for the cache": "read directly"},
			}}
			err := n.Client.Create(t.Context(), c, client.DryRunAll)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.annotations") {
				t.Errorf("the API server says %v", err)
			}
			return "the API server takes no such key"
		}},
	)
}
