package machine

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// inClouds registers a provider for both clouds.
func inClouds(p cloud.Provider) cloud.Registry {
	return cloud.Registry{vsphere.Registration(p), azure.Registration(p)}
}

// worldClouds are those of world.
var worldClouds = cloud.Registry{vsphere.Registration(vsphere.Provider{}), azure.Registration(fake.Provider{})}

// placing is a cloud that takes the location from the spec, and counts how often it is asked.
type placing struct {
	fake.Provider
	asked *int
}

var _ cloud.Placer = placing{}

func (placing) Inherits() schema.GroupKind { return schema.GroupKind{Kind: "AzureCluster"} }

func (p placing) Resolve(m *infrav1.WindowsMachine, _ *unstructured.Unstructured) error {
	*p.asked++
	if m.Spec.Azure.Location == "" {
		return cloud.Missing("spec.azure.location")
	}
	m.Status.Azure = &infrav1.AzurePlacement{Location: m.Spec.Azure.Location}
	return nil
}

func (placing) Allow(cloud.Asker, *unstructured.Unstructured) (cloud.Grant, error) {
	return cloud.Grant{}, errPhase
}

func (p placing) As(cloud.Grant) cloud.Provider { return p }

func placed(location string) func(*facts) {
	return func(f *facts) {
		f.windows.Spec.Azure = &infrav1.AzureVM{Location: location}
		f.original = f.windows.DeepCopy()
	}
}

// A placement is written to status before anything else is done, and never found out again.
func TestPlaceOnce(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.OK(t, infrav1.AddToScheme(scheme))
	f := world(placed("westeurope"))
	api := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(f.windows.DeepCopy()).WithStatusSubresource(f.windows).Build()
	asked := 0
	r := &Reconciler{Client: api, Live: api, Clouds: inClouds(placing{asked: &asked})}
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(f.windows), f.windows))
	f.original = f.windows.DeepCopy()
	expect.OK(t, r.place(t.Context(), f))
	stored := &infrav1.WindowsMachine{}
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(f.windows), stored))
	expect.Same(t, "status.azure", &infrav1.AzurePlacement{Location: "westeurope"}, stored.Status.Azure)

	f.windows.Spec.Azure.Location = "elsewhere"
	expect.OK(t, r.place(t.Context(), f))
	if f.windows.Status.Azure.Location != "westeurope" || asked != 1 {
		t.Errorf("after %d questions the VM goes to %s", asked, f.windows.Status.Azure.Location)
	}
	f.machine.Spec.FailureDomain = "2"
	m := r.cloudMachine(f)
	expect.Same(t, "place", stored.Status.Azure, m.Status.Azure)
	expect.Same(t, "failure domain", "2", m.FailureDomain)
	f.machine = nil
	expect.Same(t, "failure domain without a Machine", "", r.cloudMachine(f).FailureDomain)
}

// Nothing is written before the answer is there, and nothing is asked for a cloud that does not inherit.
func TestPlaceStops(t *testing.T) {
	asked := 0
	r := &Reconciler{Clouds: cloud.Registry{vsphere.Registration(fake.Provider{}), azure.Registration(placing{asked: &asked})}}
	f := world(placed(""))
	f.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	stop := phase.Of(r.place(t.Context(), f))
	if stop.Reason != infrav1.SpecInvalidReason || !strings.Contains(stop.Message, "spec.azure.location") {
		t.Errorf("it stops with %s: %s", stop.Reason, stop.Message)
	}
	if f.windows.Status.Azure != nil {
		t.Errorf("status.azure is %v", f.windows.Status.Azure)
	}
	elsewhere := world(func(f *facts) { f.windows.Spec.VSphere = &infrav1.VSphereVM{} })
	expect.OK(t, r.place(t.Context(), elsewhere))
}

// A failure domain is for clouds that have such.
func TestFailureDomain(t *testing.T) {
	r := &Reconciler{Clouds: inClouds(fake.Provider{})}
	f := world(func(f *facts) {
		f.windows.Spec.VSphere, f.machine.Spec.FailureDomain = &infrav1.VSphereVM{}, "zone-a"
	})
	stop := phase.Of(r.complete(t.Context(), f))
	if stop.Reason != infrav1.SpecInvalidReason || !stop.Stalled ||
		!strings.Contains(stop.Message, `has failure domain "zone-a"`) {
		t.Errorf("it stops with %s: %s", stop.Reason, stop.Message)
	}
	f.windows.Spec.VSphere, f.windows.Spec.Azure = nil, &infrav1.AzureVM{Image: infrav1.AzureImage{ID: "image"}}
	f.windows.Status.Azure = &infrav1.AzurePlacement{}
	expect.OK(t, r.complete(t.Context(), f))
}
