package servers

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// rightsKeeper keeps the rights in the workload cluster of the Cluster prod. A test has it look.
type rightsKeeper struct {
	*cluster.Reconciler
	prod client.ObjectKey
}

func newRightsKeeper(t *testing.T, api client.Client, now func() time.Time, configs ...client.Object) *rightsKeeper {
	t.Helper()
	management, recorder := managementWith(t, configs...), events.NewFakeRecorder(10)
	return &rightsKeeper{&cluster.Reconciler{
		Client: management, Workload: prodOnly{api}, Events: recorder, Now: now,
		Keeps: func() []cluster.Keep {
			return []cluster.Keep{&cluster.NodeRights{Live: management}, &cluster.GuestRights{}}
		},
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{},
	}, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "prod"}}
}

func (k *rightsKeeper) look(t *testing.T) {
	t.Helper()
	expect.Got(k.Reconcile(t.Context(), ctrl.Request{NamespacedName: k.prod}))(t)
}

// ask is what a config is answered that has asked.
func (k *rightsKeeper) ask(t *testing.T, name string) error {
	t.Helper()
	asker := client.ObjectKey{Namespace: k.prod.Namespace, Name: "asker"}
	if known, answer := k.Ask(k.prod, asker, name); known {
		return answer
	}
	k.look(t)
	known, answer := k.Ask(k.prod, asker, name)
	expect.Same(t, "there is an answer", true, known)
	return answer
}

// prodOnly reaches one cluster.
type prodOnly struct{ api client.Client }

// GetClient implements cluster.Workload.
func (p prodOnly) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return p.api, nil
}

// managementWith is a management cluster in memory with the Cluster prod, whose control plane is up, and more.
func managementWith(t *testing.T, more ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme)))
	cluster := &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name, cluster.UID = metav1.NamespaceDefault, "prod", "uid-of-prod"
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(more, cluster)...).Build()
}
