package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// phaseStage is an API server with one machine, in which calls fail by name: "get Secret", "patch WindowsMachine".
type phaseStage struct {
	*Reconciler
	fails   map[string]error
	patched []string
}

var (
	errPhase    = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	errGone     = apierrors.NewNotFound(schema.GroupResource{Resource: "windowsmachines"}, "m")
	errNoKind   = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "WindowsBootstrapConfig"}}
	errOutdated = apierrors.NewConflict(schema.GroupResource{Resource: "windowsmachines"}, "m", errors.New("modified"))
)

func newPhaseStage(t *testing.T, objects ...client.Object) *phaseStage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme, ipamv1.AddToScheme,
	} {
		expect.OK(t, add(scheme))
	}
	s := &phaseStage{fails: map[string]error{}}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&infrav1.WindowsMachine{}).
		WithIndex(&infrav1.WindowsMachine{}, metav1.ObjectNameField, byName).
		WithIndex(&clusterv1.Cluster{}, metav1.ObjectNameField, byName).
		WithIndex(&clusterv1.Machine{}, metav1.ObjectNameField, byName).
		WithIndex(&infrav1.WindowsMachine{}, byIdentity, func(o client.Object) []string { return s.identitiesOf(o) }).
		WithIndex(&ipamv1.IPAddress{}, "spec.address", func(o client.Object) []string {
			address, _ := o.(*ipamv1.IPAddress)
			return []string{address.Spec.Address}
		}).
		WithInterceptorFuncs(calls.Ask(func(c calls.Call) error {
			switch {
			case c.Part != "":
				s.patched = append(s.patched, c.Part)
			case c.Patch != nil:
				body, _ := c.Patch.Data(c.Object.(client.Object))
				s.patched = append(s.patched, string(body))
			}
			kind := fmt.Sprintf("%T", c.Object)
			return s.fails[strings.TrimSpace(c.Verb+" "+kind[strings.LastIndex(kind, ".")+1:]+" "+c.Part)]
		})).Build()
	s.Reconciler = &Reconciler{
		Client: api, Live: api, Now: func() time.Time { return begin }, Pools: &addresses.Pools{Client: api, Live: api},
		Events: events.NewFakeRecorder(100),
	}
	return s
}

// stored is a machine as the API server has it, with changes.
func stored(changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := world().windows.DeepCopy()
	for _, change := range changes {
		change(m)
	}
	return m
}

// read are the facts of a machine that the stage has.
func (s *phaseStage) read(t *testing.T) *facts {
	t.Helper()
	f := world()
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m"}, f.windows))
	f.original = f.windows.DeepCopy()
	return f
}

// linuxNodes are the control plane of a workload cluster.
type linuxNodes []corev1.Node

func (n linuxNodes) ControlPlane(context.Context, client.ObjectKey) ([]corev1.Node, error) {
	return n, nil
}

func (n linuxNodes) Linux(context.Context, client.ObjectKey) (workload.Nodes, error) {
	return workload.Nodes{Found: n}, nil
}

func (linuxNodes) Kubeadm(context.Context, client.ObjectKey, bool) (workload.ConfigMaps, error) {
	return workload.ConfigMaps{}, nil
}

func (linuxNodes) DNS(context.Context, client.ObjectKey) (workload.DNS, error) {
	return workload.DNS{}, nil
}

func (linuxNodes) HostProcesses(context.Context, client.ObjectKey) (workload.DaemonSets, error) {
	return workload.DaemonSets{}, nil
}
