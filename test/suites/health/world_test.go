package health

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/machine"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/wake"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	fakecloud "github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

const (
	namespace = "pools"
	version   = "v1.36.3"
	tokenTTL  = 30 * time.Minute
)

var clusterKey = client.ObjectKey{Namespace: namespace, Name: "prod"}

// world is a management cluster, its one workload cluster and a cloud, with Cluster API's controllers and ours.
type world struct {
	management, workload client.Client
	stores               [2]*store // of the two clusters
	cloud                *fakecloud.World
	ours                 *unstarted // manager of our controllers
	loop                 *loop
}

// newWorld makes what must exist before the bubble.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{cloud: &fakecloud.World{}, loop: newLoop()}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme,
		ipamv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		expect.OK(t, add(scheme))
	}
	w.stores[0], w.management = newAPI(scheme)
	w.stores[1], w.workload = newAPI(scheme)
	for kind, r := range clusterAPI(t, w.management, w.workload) {
		w.loop.add(kind, r, time.Second) // how often Cluster API looks at an object at most (util/controller/builder.go)
	}
	return w
}

func newAPI(scheme *runtime.Scheme) (*store, client.Client) {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	behind := newStore(scheme)
	behind.changed = func(client.Object, client.Object) {}
	api := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjectTracker(behind).WithReturnManagedFields().
		WithStatusSubresource(&clusterv1.Cluster{}, &clusterv1.Machine{}, &clusterv1.MachineSet{}, &clusterv1.MachineDeployment{},
			&clusterv1.MachineHealthCheck{}, &infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string {
			node, _ := o.(*corev1.Node)
			return []string{node.Spec.ProviderID}
		}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
			pod, _ := o.(*corev1.Pod)
			return []string{pod.Spec.NodeName}
		}).
		WithIndex(&infrav1.WindowsMachine{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		Build()
	return behind, api
}

// begin starts the rest of the world in the bubble.
func (w *world) begin(t *testing.T) {
	t.Helper()
	w.loop.woken = make(chan struct{}, 1)
	w.stores[0].changed, w.stores[1].changed = w.noteManagement, w.loop.note
	for kind, r := range w.ourReconcilers(t) {
		w.loop.add(kind, r, 0)
	}
	for _, runnable := range w.ours.beside {
		go func() { expect.Fine(t, runnable.Start(t.Context())) }()
	}
	synctest.Wait()
	w.fill(t)
}

// noteManagement takes in a change in the management cluster.
func (w *world) noteManagement(before, now client.Object) {
	w.loop.note(before, now)
	of := now
	if of == nil {
		of = before
	}
	if _, is := of.(*infrav1.WindowsMachine); !is {
		return
	}
	informer, err := w.ours.informers.FakeInformerFor(context.Background(), of)
	switch {
	case err != nil:
		panic(err)
	case now == nil:
		informer.Delete(before)
	case before == nil:
		informer.Add(now)
	default:
		informer.Update(before, now)
	}
}

func inAzure(p cloud.Provider) cloud.Registry { return cloud.Registry{azure.Registration(p)} }

// ourReconcilers are set up as wiring.go does it.
func (w *world) ourReconcilers(t *testing.T) map[string]reconcile.Reconciler {
	t.Helper()
	w.ours = newUnstarted(t, w.management)
	api, recorder := w.management, &events.FakeRecorder{}
	changed := &wake.Pacer{}
	register := &accounts.Register{Changed: changed.Wake}
	keeper := &identities.Keeper{Live: api}
	ears := &guests.Ears{Heard: changed.Wake}
	windows := &machine.Reconciler{
		Client: api, Live: api, Workload: w, Clouds: inAzure(fakecloud.Provider{World: w.cloud}),
		Pools:       &addresses.Pools{Client: api, Live: api, Now: time.Now},
		Credentials: &credentials.Keeper{Client: api, Live: api, Events: recorder},
		Identities:  keeper,
		Held: &credentials.Keeper{
			Kind: identities.Kind, Read: keeper.Read, Client: api, Live: api, Events: recorder,
		},
		Accounts: register, Changed: changed, Ears: ears, Events: recorder, Now: time.Now,
	}
	rights := &cluster.Reconciler{
		Name: "clusterrights", Client: api, Workload: w,
		Keeps:  func() []cluster.Keep { return []cluster.Keep{&cluster.NodeRights{Live: api}} },
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{}, Events: recorder, Now: time.Now,
	}
	configs := &bootstrap.Reconciler{
		Client: api, Live: api, Workload: w, Linux: w, Rights: rights, TokenTTL: tokenTTL, Clouds: inAzure(azure.Provider{}),
		TrustSecret: time.Minute, Events: recorder, Now: time.Now,
	}
	expect.OK(t, rights.Asked().Start(t.Context(), queue{of: w.loop, kind: clusterKind}))
	expect.OK(t, rights.Answers().Start(t.Context(), queue{of: w.loop, kind: configKind}))
	expect.OK(t, windows.SetupWithManager(t.Context(), w.ours, controller.Options{}))
	expect.OK(t, configs.SetupWithManager(t.Context(), w.ours, controller.Options{}))
	expect.OK(t, w.ours.Add(register))
	expect.OK(t, w.ours.Add(keeper))
	expect.OK(t, w.ours.Add(ears))
	for _, feed := range []func(context.Context, workqueue.TypedRateLimitingInterface[ctrl.Request]) error{
		changed.Feed, windows.Credentials.Feed, windows.Held.Feed, keeper.Feed,
	} {
		expect.OK(t, feed(t.Context(), queue{of: w.loop, kind: windowsKind}))
	}
	return map[string]reconcile.Reconciler{windowsKind: windows, configKind: configs, clusterKind: rights}
}

// fill makes what a Cluster with an initialized control plane has.
func (w *world) fill(t *testing.T) {
	t.Helper()
	files := append(expect.Got(filepath.Glob("../../../config/crd/bases/*.yaml"))(t), "../../kit/servers/externalcontrolplane.yaml")
	for _, name := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		expect.OK(t, yaml.Unmarshal(expect.Got(os.ReadFile(name))(t), crd))
		crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{} // Cluster API reads labels alone
		expect.OK(t, w.management.Create(t.Context(), crd))
	}
	ca := map[string][]byte{corev1.TLSCertKey: expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t)}
	for _, object := range []client.Object{
		secret(clusterKey.Name+"-ca", ca), secret("cloud", map[string][]byte{"clientSecret": []byte("secret")}), controlPlane(),
	} {
		expect.OK(t, w.management.Create(t.Context(), object))
	}
	w.createCluster(t)
	linux := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "linux", Labels: map[string]string{corev1.LabelOSStable: "linux", workload.ControlPlaneLabel: ""},
	}}
	linux.Status.NodeInfo.KubeletVersion = version
	linux.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	expect.OK(t, w.workload.Create(t.Context(), linux))
}

// planeKind is that of test/kit/servers.
var planeKind = schema.GroupVersionKind{
	Group: "controlplane.cluster.x-k8s.io", Version: "v1alpha1", Kind: "ExternalControlPlane",
}

func controlPlane() *unstructured.Unstructured {
	plane := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"version": version},
		"status": map[string]any{
			"externalManagedControlPlane": true, "initialization": map[string]any{"controlPlaneInitialized": true},
			"version": version, "versions": []any{map[string]any{"version": version}},
		},
	}}
	plane.SetGroupVersionKind(planeKind)
	plane.SetNamespace(clusterKey.Namespace)
	plane.SetName(clusterKey.Name)
	return plane
}

func (w *world) createCluster(t *testing.T) {
	t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterKey.Namespace, Name: clusterKey.Name}}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: planeKind.Group, Kind: planeKind.Kind, Name: clusterKey.Name,
	}
	expect.OK(t, w.management.Create(t.Context(), cluster))
	before := cluster.DeepCopy()
	cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{
		InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true),
	}
	for _, kind := range []string{clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneInitializedCondition} {
		cluster.Status.Conditions = append(cluster.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.Now()})
	}
	expect.OK(t, w.management.Status().Patch(t.Context(), cluster, client.MergeFrom(before)))
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// GetClient implements bootstrap.Workload.
func (w *world) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return w.workload, nil
}

// ControlPlane implements linux.Workload.
func (w *world) ControlPlane(ctx context.Context, key client.ObjectKey) ([]corev1.Node, error) {
	nodes, err := w.Linux(ctx, key)
	return nodes.Found, err
}

// Linux implements linux.Workload.
func (w *world) Linux(ctx context.Context, _ client.ObjectKey) (workload.Nodes, error) {
	var nodes corev1.NodeList
	if err := w.workload.List(ctx, &nodes, client.MatchingLabels{corev1.LabelOSStable: "linux"}); err != nil {
		return workload.Nodes{}, fmt.Errorf("list nodes: %w", err)
	}
	return workload.Nodes{Found: nodes.Items}, nil
}

// Kubeadm implements linux.Workload.
func (*world) Kubeadm(context.Context, client.ObjectKey, bool) (workload.ConfigMaps, error) {
	return workload.ConfigMaps{}, nil
}

// DNS implements linux.Workload.
func (*world) DNS(context.Context, client.ObjectKey) (workload.DNS, error) {
	return workload.DNS{}, nil
}

// HostProcesses implements linux.Workload.
func (*world) HostProcesses(context.Context, client.ObjectKey) (workload.DaemonSets, error) {
	return workload.DaemonSets{More: true}, nil
}

// Now implements bootstrap.Workload.
func (*world) Now(client.ObjectKey) time.Time { return time.Now() }
