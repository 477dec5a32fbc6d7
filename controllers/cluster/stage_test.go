package cluster

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var prod = client.ObjectKey{Namespace: "team-a", Name: "prod"}

// stage is a Cluster with its workload cluster, both in memory, and a clock.
type stage struct {
	*Reconciler
	management, workload client.WithWatch
	clock                time.Time
	unreachable          error
	// calls are those to the workload cluster, and fail is asked before each.
	calls []string
	fail  func(call string) error
	told  *events.FakeRecorder
}

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, rbacv1.AddToScheme, admissionv1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme,
		infrav1.AddToScheme,
	} {
		expect.OK(t, add(scheme))
	}
	s := &stage{clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), told: events.NewFakeRecorder(10)}
	prodCluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: prod.Namespace, Name: prod.Name}}
	prodCluster.Status.Initialization.ControlPlaneInitialized = new(true)
	s.management = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&bootstrapv1.WindowsBootstrapConfig{}).
		WithObjects(append(objects, prodCluster)...).Build()
	s.workload = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(calls.Ask(func(c calls.Call) error {
		kind := fmt.Sprintf("%T", c.Object)
		if o, ok := c.Object.(interface{ GetKind() string }); ok {
			kind = o.GetKind()
		}
		call := path.Join(c.Verb + " " + kind[strings.LastIndex(kind, ".")+1:])
		s.calls = append(s.calls, call)
		if s.fail == nil {
			return nil
		}
		return s.fail(call)
	})).Build()
	s.restart()
	return s
}

// restart has another process take over.
func (s *stage) restart() {
	filter := ""
	if s.Reconciler != nil {
		filter = s.WatchFilter
	}
	s.Reconciler = &Reconciler{
		Client: s.management, Workload: s, Keeps: func() []Keep { return []Keep{&NodeRights{Live: s.management}, &GuestRights{}} },
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{}, Events: s.told,
		Now: func() time.Time { return s.clock }, WatchFilter: filter,
	}
}

// GetClient implements Workload.
func (s *stage) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	if s.unreachable != nil {
		return nil, s.unreachable
	}
	return s.workload, nil
}

// look looks at the Cluster once, and returns when it is looked at again.
func (s *stage) look(t *testing.T) time.Duration {
	t.Helper()
	s.calls = nil
	return expect.Got(s.Reconcile(t.Context(), ctrl.Request{NamespacedName: prod}))(t).RequeueAfter
}

// after lets time pass, looks, and returns the calls to the workload cluster.
func (s *stage) after(t *testing.T, d time.Duration) []string {
	t.Helper()
	s.clock = s.clock.Add(d)
	s.look(t)
	slices.Sort(s.calls)
	return s.calls
}

// during looks each minute for a while.
func (s *stage) during(t *testing.T, d time.Duration) {
	t.Helper()
	for range d / retryDelay {
		s.after(t, retryDelay)
	}
}

// tells returns the events since the last call.
func (s *stage) tells() (events []string) {
	for {
		select {
		case event := <-s.told.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// tellsOnce wants one event since the last call, with this beginning.
func (s *stage) tellsOnce(t *testing.T, what, beginning string) {
	t.Helper()
	if events := s.tells(); len(events) != 1 || !strings.HasPrefix(events[0], beginning) {
		t.Errorf("%s: got the events %q", what, events)
	}
}

// there are the names of the objects in the workload cluster that give rights.
func (s *stage) there(t *testing.T) (names []string) {
	t.Helper()
	fail, made := s.fail, s.calls
	s.fail = nil
	defer func() { s.fail, s.calls = fail, made }()
	var roles rbacv1.ClusterRoleList
	var bindings rbacv1.ClusterRoleBindingList
	expect.OK(t, s.workload.List(t.Context(), &roles))
	expect.OK(t, s.workload.List(t.Context(), &bindings))
	for _, o := range roles.Items {
		names = append(names, "role "+o.Name)
	}
	for _, o := range bindings.Items {
		names = append(names, "binding "+o.Name)
	}
	return names
}

var (
	nothing     []string
	kubeProxies = []string{"role capwin-kube-proxy", "binding capwin-kube-proxy"}
	allRights   = []string{"role capwin-flannel", "role capwin-kube-proxy", "binding capwin-flannel", "binding capwin-kube-proxy"}
)

func config(name string, network bootstrapv1.Network) *bootstrapv1.WindowsBootstrapConfig {
	c := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: prod.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: prod.Name},
	}}
	c.Spec.Network = network
	return c
}

var (
	flannel  = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
	azureCNI = bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNIAzure}
	calico   = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
)

// node is one that has joined with a label.
func node(label string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1", Labels: map[string]string{label: bootstrap.LabelService}}}
}
