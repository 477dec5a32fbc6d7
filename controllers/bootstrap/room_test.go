package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// room is a Reconciler at two API servers in memory. Every call can fail.
type room struct {
	*Reconciler
	management, workload client.WithWatch
	clock                time.Time
	// ahead is by how much the workload cluster's clock is ahead of ours; dumb says that it tells no time.
	ahead  time.Duration
	dumb   bool
	events *events.FakeRecorder
	// nodes are those of the control plane; unreachable is why the workload cluster does not answer.
	nodes       []corev1.Node
	kubeadm     workload.ConfigMaps
	dns         workload.DNS
	sets        workload.DaemonSets
	unreachable error
	// calls are those made, and fail is asked before each.
	calls []string
	fail  func(call string) error

	cluster *clusterv1.Cluster
	machine *clusterv1.Machine
	windows *infrav1.WindowsMachine
	config  *bootstrapv1.WindowsBootstrapConfig
	ca      *corev1.Secret
}

var (
	roomKey   = client.ObjectKey{Namespace: "ns", Name: "m"}
	errRoom   = errors.New("boom")
	roomStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

const roomTTL = 30 * time.Minute

// newRoom has a machine that lacks nothing for its user data, but for what the changes take away.
func newRoom(t *testing.T, changes ...func(*room)) *room {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "uid", Labels: map[string]string{clusterv1.ClusterNameLabel: "prod"}}
	owned := meta
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&clusterv1.Machine{ObjectMeta: meta},
		clusterv1.GroupVersion.WithKind("Machine"))}
	owned.CreationTimestamp = metav1.NewTime(roomStart.Add(-time.Hour))
	r := &room{clock: roomStart, events: events.NewFakeRecorder(10), nodes: []corev1.Node{roomNode("v1.36.3")}}
	r.sets.More = true // one of which may bring a CNI
	r.cluster = &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod"}}
	r.cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}
	r.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{
		InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true),
	}
	r.machine = &clusterv1.Machine{ObjectMeta: meta}
	r.machine.Spec = clusterv1.MachineSpec{ClusterName: "prod", Version: "v1.36.3", InfrastructureRef: roomRef("WindowsMachine")}
	r.machine.Spec.Bootstrap.ConfigRef = roomRef("WindowsBootstrapConfig")
	r.windows = &infrav1.WindowsMachine{ObjectMeta: *owned.DeepCopy()}
	r.windows.Spec.ProviderID = "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11"
	r.windows.Spec.VSphere = &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384}
	r.windows.Status.ComputerName = "m"
	r.config = &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: *owned.DeepCopy()}
	r.ca = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod-ca"}}
	r.ca.Data = map[string][]byte{"tls.crt": expect.Got(os.ReadFile("../../bootstrap/testdata/ca.crt"))(t)}
	for _, change := range changes {
		change(r)
	}
	r.open(t)
	return r
}

func roomRef(kind string) clusterv1.ContractVersionedObjectReference {
	group := infrav1.GroupVersion.Group
	if kind == "WindowsBootstrapConfig" {
		group = bootstrapv1.GroupVersion.Group
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: "m"}
}

func roomNode(version string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "linux"}}
	n.Status.NodeInfo.KubeletVersion = version
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// open starts the API servers with the objects that there are.
func (r *room) open(t *testing.T) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, admissionv1.AddToScheme,
		clusterv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		expect.OK(t, add(scheme))
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&bootstrapv1.WindowsBootstrapConfig{}).
		WithInterceptorFuncs(r.noted("management"))
	for _, kind := range []client.Object{
		&clusterv1.Cluster{}, &clusterv1.Machine{}, &infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{},
	} {
		builder.WithIndex(kind, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} })
	}
	if r.cluster != nil {
		builder.WithObjects(r.cluster)
	}
	if r.machine != nil {
		builder.WithObjects(r.machine)
	}
	if r.windows != nil {
		builder.WithObjects(r.windows)
	}
	if r.ca != nil {
		builder.WithObjects(r.ca)
	}
	r.management = builder.WithObjects(r.config).Build()
	r.workload = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(r.noted("workload")).Build()
	r.Reconciler = &Reconciler{
		Client: r.management, Live: r.management, Workload: r, Linux: r, TokenTTL: roomTTL, Events: r.events,
		Now: func() time.Time { return r.clock }, GuestReports: true,
		Clouds: cloud.Registry{vsphere.Registration(vsphere.Provider{}), azure.Registration(azure.Provider{})},
	}
	r.Rights = newRoomRights(r)
}

// roomRights are what looks after the workload cluster, in another controller of the same process.
type roomRights struct {
	*cluster.Reconciler
	// awaited says that a config has asked and has no answer yet.
	awaited bool
}

func newRoomRights(r *room) *roomRights {
	return &roomRights{Reconciler: &cluster.Reconciler{
		Client: r.management, Workload: r, Now: r.Reconciler.Now, Events: r.events,
		Keeps: func() []cluster.Keep {
			return []cluster.Keep{&cluster.NodeRights{Live: r.management}, &cluster.GuestRights{}}
		},
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{},
	}}
}

// Ask implements Rights.
func (r *roomRights) Ask(cluster, config client.ObjectKey, name string) (known bool, answer error) {
	known, answer = r.Reconciler.Ask(cluster, config, name)
	r.awaited = r.awaited || !known
	return known, answer
}

// answer is what the other controller does about a question, before the config that asked is woken.
func (r *roomRights) answer(t *testing.T, about *clusterv1.Cluster) error {
	t.Helper()
	r.awaited = false
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(about)})
	return err
}

// noted has the calls to one of the servers noted, and fail.
func (r *room) noted(server string) interceptor.Funcs {
	return calls.Ask(func(c calls.Call) error {
		name := strings.TrimPrefix(fmt.Sprintf("%T", c.Object), "*")
		name = path.Join(fmt.Sprintf("%s %s %s", server, c.Verb, name[strings.Index(name, ".")+1:]), c.Part)
		if object, is := c.Object.(*unstructured.Unstructured); is {
			name = fmt.Sprintf("%s %s %s", server, c.Verb, object.GetKind())
		}
		if list, is := c.Object.(*unstructured.UnstructuredList); is {
			name = fmt.Sprintf("%s %s %s of %s", server, c.Verb, list.GetKind(), list.GetAPIVersion())
		}
		r.calls = append(r.calls, name)
		if r.fail == nil {
			return nil
		}
		return r.fail(name)
	})
}

// GetClient implements Workload.
func (r *room) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return r.workload, r.unreachable
}

// ControlPlane implements linux.Workload.
func (r *room) ControlPlane(context.Context, client.ObjectKey) ([]corev1.Node, error) {
	return r.nodes, r.unreachable
}

// Linux implements linux.Workload.
func (r *room) Linux(context.Context, client.ObjectKey) (workload.Nodes, error) {
	return workload.Nodes{Found: r.nodes}, r.unreachable
}

// Kubeadm implements linux.Workload.
func (r *room) Kubeadm(context.Context, client.ObjectKey, bool) (workload.ConfigMaps, error) {
	return r.kubeadm, r.unreachable
}

// DNS implements linux.Workload.
func (r *room) DNS(context.Context, client.ObjectKey) (workload.DNS, error) {
	return r.dns, r.unreachable
}

// HostProcesses implements linux.Workload.
func (r *room) HostProcesses(context.Context, client.ObjectKey) (workload.DaemonSets, error) {
	return r.sets, r.unreachable
}

// Now implements Workload.
func (r *room) Now(client.ObjectKey) time.Time {
	if r.dumb {
		return time.Time{}
	}
	return r.clock.Add(r.ahead)
}

// look reconciles the config once, or again when it is woken by an answer.
func (r *room) look(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	r.calls = nil
	return r.lookOn(t.Context(), t)
}

func (r *room) lookOn(ctx context.Context, t *testing.T) (ctrl.Result, error) {
	t.Helper()
	request := ctrl.Request{NamespacedName: roomKey}
	result, err := r.Reconcile(ctx, request)
	if rights, is := r.Rights.(*roomRights); is && rights.awaited {
		if err := rights.answer(t, r.cluster); err != nil {
			return ctrl.Result{}, err
		}
		return r.Reconcile(ctx, request)
	}
	return result, err
}

// now is the config as the API server has it; nil if it is gone.
func (r *room) now(t *testing.T) *bootstrapv1.WindowsBootstrapConfig {
	t.Helper()
	defer r.quietly()()
	var config bootstrapv1.WindowsBootstrapConfig
	err := r.management.Get(t.Context(), roomKey, &config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	expect.OK(t, err)
	return &config
}

// quietly lets a test call the servers itself.
func (r *room) quietly() func() {
	calls, fail := r.calls, r.fail
	r.fail = nil
	return func() { r.calls, r.fail = calls, fail }
}

// change patches an object in one of the servers.
func roomChange[O client.Object](t *testing.T, r *room, server client.Client, o O, change func(O)) {
	t.Helper()
	defer r.quietly()()
	expect.OK(t, server.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	change(o)
	expect.OK(t, server.Update(t.Context(), o))
}

// tokens are those in the workload cluster.
func (r *room) tokens(t *testing.T) []corev1.Secret {
	t.Helper()
	defer r.quietly()()
	var all corev1.SecretList
	expect.OK(t, r.workload.List(t.Context(), &all))
	return all.Items
}

// data is the bootstrap Secret; nil if there is none.
func (r *room) data(t *testing.T) *corev1.Secret {
	t.Helper()
	defer r.quietly()()
	var secret corev1.Secret
	if err := r.management.Get(t.Context(), roomKey, &secret); err != nil {
		return nil
	}
	return &secret
}

// told are the events so far.
func (r *room) told() (all []string) {
	for {
		select {
		case one := <-r.events.Events:
			all = append(all, one)
		default:
			return all
		}
	}
}

func roomNotFound(name string) error { return apierrors.NewNotFound(schema.GroupResource{}, name) }

// once fails the n-th call, counted from 0, of all that come.
func (r *room) once(n int, err error) {
	r.fail = func(string) error {
		if n--; n == -1 {
			return err
		}
		return nil
	}
}
