package linux_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// management is what a manager has of its management cluster in its cache. It copies no more than such a cache, so that what is
// measured beside it is the manager's.
type management struct {
	kubeconfig []byte
	objects    []client.Object
}

// newManagement has Clusters of these names in one namespace, each with a Windows machine that has joined as win-0 and reports.
func newManagement(kubeconfig []byte, names ...string) *management {
	m := &management{kubeconfig: kubeconfig}
	for _, name := range names {
		about := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
		about.Status.Initialization.ControlPlaneInitialized = new(true)
		of := metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name + "-win", Labels: map[string]string{clusterv1.ClusterNameLabel: name},
		}
		core := &clusterv1.Machine{ObjectMeta: of}
		core.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "WindowsBootstrapConfig", Name: of.Name}
		core.Spec.InfrastructureRef.Name = of.Name
		core.Status.NodeRef.Name = "win-0"
		config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: of}
		config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
		config.Status.GuestReport = of.Name
		m.objects = append(m.objects, about, core, config, &infrav1.WindowsMachine{ObjectMeta: of})
	}
	return m
}

// annotate gives a Cluster the annotation; an empty value takes it away.
func (m *management) annotate(value string) {
	for i, o := range m.objects {
		if about, is := o.(*clusterv1.Cluster); is {
			about = about.DeepCopy()
			about.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: value}
			maps.DeleteFunc(about.Annotations, func(_, value string) bool { return value == "" })
			m.objects[i] = about
		}
	}
}

// Get implements client.Reader. Each Cluster has the same kubeconfig.
func (m *management) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if secret, is := into.(*corev1.Secret); is {
		secret.Data = map[string][]byte{"value": m.kubeconfig}
		return nil
	}
	for _, o := range m.objects {
		if client.ObjectKeyFromObject(o) == key && reflect.TypeOf(o) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

// List implements client.Reader.
func (m *management) List(_ context.Context, list client.ObjectList, with ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(with)
	kind := reflect.TypeOf(list).Elem().Name()
	var found []runtime.Object
	for _, o := range m.objects {
		if reflect.TypeOf(o).Elem().Name()+"List" == kind && options.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			found = append(found, o)
		}
	}
	return meta.SetList(list, found)
}
