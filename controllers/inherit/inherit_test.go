package inherit

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const group = "infrastructure.cluster.x-k8s.io"

// located is a cloud that wants a location, from the spec or from the infrastructure object.
type located struct{ cloud.Placer }

func (located) Name() string { return infrav1.CloudAzure }

func (located) Inherits() schema.GroupKind {
	return schema.GroupKind{Group: group, Kind: "AzureCluster"}
}

func (located) Resolve(m *infrav1.WindowsMachine, object *unstructured.Unstructured) error {
	at := m.Spec.Azure.Location
	if object != nil && at == "" {
		at, _, _ = unstructured.NestedString(object.Object, "spec", "location")
	}
	if at == "" {
		return cloud.Errorf(cloud.Transient, infrav1.WaitingForClusterInfrastructureReason, "no location yet")
	}
	m.Status.Azure = &infrav1.AzurePlacement{Location: at}
	return nil
}

// counting notes what was asked for.
type counting struct {
	client.Reader
	asked []string
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	c.asked = append(c.asked, o.GetObjectKind().GroupVersionKind().Version+" "+key.Name)
	return c.Reader.Get(ctx, key, o, options...)
}

// theirKind is the CRD of AzureClusters, with a version for each contract.
func theirKind() client.Object {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("azureclusters." + group)
	crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1alpha9_v1beta1"})
	return crd
}

func theirCluster(location string) client.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if location != "" {
		o.Object["spec"] = map[string]any{"location": location}
	}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1beta1", Kind: "AzureCluster"})
	o.SetNamespace("ns")
	o.SetName("blue")
	return o
}

func TestPlace(t *testing.T) {
	azure := clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "AzureCluster", Name: "blue"}
	vsphere := clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "VSphereCluster", Name: "blue"}
	elsewhere := clusterv1.ContractVersionedObjectReference{APIGroup: "other.example.com", Kind: "AzureCluster", Name: "blue"}
	looks := []string{"v1 azureclusters." + group, "v1beta1 blue"}
	for _, test := range []struct {
		name     string
		spec     string
		ref      clusterv1.ContractVersionedObjectReference
		ready    bool
		objects  []client.Object
		want     string
		wantWhy  string
		wantAsks []string
	}{
		{name: "the spec says all", spec: "here", want: "here"},
		{name: "the spec says all, in a cluster elsewhere", spec: "here", ref: vsphere, want: "here"},
		{
			name: "the cluster says it", ref: azure, ready: true, objects: []client.Object{theirKind(), theirCluster("there")},
			want: "there", wantAsks: looks,
		},
		{
			name: "the spec comes first", spec: "here", ref: azure, ready: true,
			objects: []client.Object{theirKind(), theirCluster("there")}, want: "here", wantAsks: looks,
		},
		{
			name: "not provisioned", ref: azure, objects: []client.Object{theirKind(), theirCluster("there")},
			wantWhy: "the infrastructure of Cluster c is not provisioned yet",
		},
		{
			name: "half filled", ref: azure, ready: true, objects: []client.Object{theirKind(), theirCluster("")},
			wantWhy: "no location yet", wantAsks: looks,
		},
		{
			name: "gone", ref: azure, ready: true, objects: []client.Object{theirKind()},
			wantWhy: "AzureCluster blue of Cluster c does not exist; create it, or set all its fields in spec.azure of a new " +
				"WindowsMachineTemplate",
			wantAsks: looks,
		},
		{name: "a cluster of that kind in another group", ref: elsewhere, ready: true, wantWhy: "no location yet"},
		{name: "no infrastructure", ready: true, wantWhy: "no location yet"},
		{name: "another cloud's cluster", ref: vsphere, ready: true, wantWhy: "no location yet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := &counting{Reader: fake.NewClientBuilder().WithObjects(test.objects...).Build()}
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
			cluster.Spec.InfrastructureRef = test.ref
			cluster.Status.Initialization.InfrastructureProvisioned = new(test.ready)
			m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{Location: test.spec}}}
			err := Place(t.Context(), reader, located{}, m, cluster)
			if stop := phase.Of(err); err != nil && (!strings.Contains(stop.Message, test.wantWhy) || test.wantWhy == "" ||
				stop.Reason != infrav1.WaitingForClusterInfrastructureReason) {
				t.Errorf("it stops with %s: %q, wanted %q", stop.Reason, stop.Message, test.wantWhy)
			}
			if at := m.Status.Azure; err == nil && at.Location != test.want || err != nil && at != nil {
				t.Errorf("the VM goes to %+v, wanted %q", at, test.want)
			}
			if diff := cmp.Diff(test.wantAsks, reader.asked); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}

// A kind without Cluster API's label cannot be read, and the error says so.
func TestPlaceWithoutContract(t *testing.T) {
	crd := theirKind()
	crd.SetLabels(nil)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "AzureCluster", Name: "blue"}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	reader := fake.NewClientBuilder().WithObjects(crd, theirCluster("there")).Build()
	m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	if err := Place(t.Context(), reader, located{}, m, cluster); err == nil || !strings.Contains(err.Error(), "AzureCluster") {
		t.Errorf("the error is %v", err)
	}
}

// A Cluster that does not say yet whether its infrastructure is provisioned is waited for.
func TestPlaceBeforeTheClusterSays(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "AzureCluster", Name: "blue"}
	reader := fake.NewClientBuilder().WithObjects(theirKind(), theirCluster("there")).Build()
	m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	err := Place(t.Context(), reader, located{}, m, cluster)
	if stop := phase.Of(err); err == nil || !strings.Contains(stop.Message, "is not provisioned yet") {
		t.Errorf("the answer is %v", err)
	}
}
