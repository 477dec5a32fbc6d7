package caches

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var large = strings.Repeat("x", MostBytes)

func named() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "m", UID: "uid", ResourceVersion: "7", Generation: 3,
		CreationTimestamp: metav1.NewTime(time.Unix(1, 0)), DeletionTimestamp: new(metav1.NewTime(time.Unix(2, 0))),
		Labels:      map[string]string{clusterv1.ClusterNameLabel: "prod"},
		Annotations: map[string]string{clusterv1.PausedAnnotation: "", infrav1.ServerAnnotation: "vcenter"},
		Finalizers:  []string{infrav1.MachineFinalizer},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "owner"},
		},
	}
}

func kept(t *testing.T, o client.Object) client.Object {
	t.Helper()
	return expect.Got(Keep(o))(t).(client.Object)
}

func bytesOf(t *testing.T, o client.Object) int {
	t.Helper()
	return len(expect.Got(json.Marshal(o))(t))
}

// TestKeep: an object of the usual size stays as it is, without what no controller reads.
func TestKeep(t *testing.T) {
	o := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: named()}
	o.Spec.Kubelet.Configuration.Raw = []byte(`{"field":"` + large[:60<<10] + `"}`)
	want := o.DeepCopy()
	o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	for key, bytes := range map[string]int{
		corev1.LastAppliedConfigAnnotation: 10, "example.com/notes": 1025, "notcluster.x-k8s.io/notes": 1025, "notes": 1025,
	} {
		o.Annotations[key] = large[:bytes]
	}
	for key, bytes := range map[string]int{
		"example.com/short": 1024, "topology.cluster.x-k8s.io/a": 2000, "cluster.x-k8s.io/b": 2000, infrav1.LinuxPolicyAnnotation: 2000,
	} {
		o.Annotations[key], want.Annotations[key] = large[:bytes], large[:bytes]
	}
	expect.Same(t, "kept", client.Object(want), kept(t, o))
	expect.Same(t, "no object", any("tombstone"), expect.Got(Keep("tombstone"))(t))
}

// TestStubs: whatever makes an object large, little of it stays in memory, and that is enough to delete it and to see a pause.
func TestStubs(t *testing.T) {
	config := func(change func(*bootstrapv1.WindowsBootstrapConfig)) client.Object {
		o := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: named()}
		change(o)
		return o
	}
	many := func(form string) (names []string) {
		for i := range 4000 {
			names = append(names, fmt.Sprintf(form, i))
		}
		return names
	}
	for name, o := range map[string]client.Object{
		"a configuration": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Spec.Kubelet.Configuration = runtime.RawExtension{Raw: []byte(large)}
		}),
		"many empty structs": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Spec.Custom.Files = make([]bootstrapv1.CustomFile, 4000)
		}),
		"a condition": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Status.Conditions = []metav1.Condition{{Message: large}}
		}),
		"annotations of Cluster API": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Annotations["topology.cluster.x-k8s.io/a"] = large
		}),
		"labels": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			for _, key := range many("zzz.cluster.x-k8s.io/label-%d") {
				o.Labels[key] = large[:63]
			}
		}),
		"finalizers": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Finalizers = append(o.Finalizers, many("cluster.x-k8s.io/finalizer-of-somebody-with-a-long-name-%d")...)
		}),
		"owners": config(func(o *bootstrapv1.WindowsBootstrapConfig) {
			for _, owner := range many("owner-%d") {
				o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1", Name: owner})
			}
		}),
		"a map of maps": &corev1.ConfigMap{ObjectMeta: named(), BinaryData: map[string][]byte{"a": []byte(large)}},
	} {
		stub := kept(t, o)
		if !IsStub(stub) || !IsLarge(stub) || bytesOf(t, stub) > 10<<10 {
			t.Errorf("%s: %d bytes stay", name, bytesOf(t, stub))
		}
		want := named()
		got := metav1.ObjectMeta{
			Namespace: stub.GetNamespace(), Name: stub.GetName(), UID: stub.GetUID(), ResourceVersion: stub.GetResourceVersion(),
			Generation: stub.GetGeneration(), CreationTimestamp: stub.GetCreationTimestamp(),
			DeletionTimestamp: stub.GetDeletionTimestamp(), Labels: map[string]string{
				clusterv1.ClusterNameLabel: stub.GetLabels()[clusterv1.ClusterNameLabel],
			},
			Annotations: want.Annotations, Finalizers: stub.GetFinalizers()[:1], OwnerReferences: stub.GetOwnerReferences()[:1],
		}
		expect.Same(t, name, want, got)
		if _, paused := stub.GetAnnotations()[clusterv1.PausedAnnotation]; !paused {
			t.Errorf("%s: the pause is lost", name)
		}
		expect.Same(t, name+", once more", stub, kept(t, stub))
	}
}

// TestStubsOfOthers: what other objects depend on stays, too.
func TestStubsOfOthers(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: named(), Spec: clusterv1.ClusterSpec{Paused: new(true)}}
	cluster.Annotations["cluster.x-k8s.io/a"] = large
	if stub := kept(t, cluster).(*clusterv1.Cluster); !IsStub(stub) || stub.Spec.Paused == nil || !*stub.Spec.Paused {
		t.Errorf("of the Cluster stays %+v", stub)
	}
	machine := &infrav1.WindowsMachine{ObjectMeta: named()}
	machine.Annotations["cluster.x-k8s.io/a"] = large
	machine.Spec = infrav1.WindowsMachineSpec{
		ProviderID: "vsphere://a", IdentityRef: infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: "vcenter"},
		VSphere: &infrav1.VSphereVM{Datacenter: "dc"},
	}
	machine.Status.VSphere.Reference, machine.Status.LastBoot = "vm-1", &infrav1.BootResult{Message: "m"}
	machine.Status.Azure = &infrav1.AzurePlacement{AzureRecord: infrav1.AzureRecord{VMID: "id"}}
	machine.Status.NetworkInterfaces = []infrav1.MachineNetworkInterface{{MACAddress: "00:50:56:00:00:05"}}
	want := machine.DeepCopy()
	stub := kept(t, machine).(*infrav1.WindowsMachine)
	expect.Same(t, "spec", want.Spec, stub.Spec)
	want.Status.LastBoot = nil
	expect.Same(t, "status", want.Status, stub.Status)

	want.Spec.VSphere.Folder = large
	stub = kept(t, want.DeepCopy()).(*infrav1.WindowsMachine)
	want.Spec.VSphere = nil
	expect.Same(t, "spec", want.Spec, stub.Spec)
}

// TestLarge names one of several objects, of which some are missing.
func TestLarge(t *testing.T) {
	small, stub := &clusterv1.Cluster{ObjectMeta: named()}, &clusterv1.Machine{ObjectMeta: named()}
	stub.Annotations["cluster.x-k8s.io/a"] = large
	stub, _ = kept(t, stub).(*clusterv1.Machine)
	expect.Same(t, "large", "Machine m", Large(small, (*clusterv1.Cluster)(nil), nil, stub))
	expect.Same(t, "none", "", Large(small, (*clusterv1.Cluster)(nil)))
}
