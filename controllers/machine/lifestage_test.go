package machine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// lifeStage has all that a machine of the fake cloud needs, in the time of a synctest.
type lifeStage struct {
	*phaseStage
	cloud   *fake.World
	told    *events.FakeRecorder
	manager *lifeManager
}

// lifeManager is a manager with one informer, whose events the stage makes.
type lifeManager struct {
	ctrl.Manager

	follows toolscache.ResourceEventHandler
	runs    manager.Runnable
}

func (m *lifeManager) GetCache() cache.Cache { return lifeCache{of: m} }

func (m *lifeManager) Add(runs manager.Runnable) error {
	m.runs = runs
	return nil
}

type lifeCache struct {
	cache.Cache

	of *lifeManager
}

func (c lifeCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return lifeInformer{of: c.of}, nil
}

type lifeInformer struct {
	cache.Informer

	of *lifeManager
}

func (i lifeInformer) AddEventHandler(by toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.of.follows = by
	return lifeRegistration{}, nil
}

type lifeRegistration struct {
	toolscache.ResourceEventHandlerRegistration
}

func (lifeRegistration) HasSynced() bool { return true }

// newLife has a machine whose Machine, Cluster and Secrets are ready for its VM; change edits them before they are there.
func newLife(t *testing.T, change ...func(*infrav1.WindowsMachine, *clusterv1.Machine, *clusterv1.Cluster)) *lifeStage {
	t.Helper()
	owned := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "core", UID: "uid"}
	windows := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "m", UID: "uid-m", OwnerReferences: []metav1.OwnerReference{owned},
		CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
	}}
	windows.Spec.IdentityRef = infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: "cloud"}
	windows.Spec.Azure = &infrav1.AzureVM{Image: infrav1.AzureImage{ID: fake.Image}}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core", UID: "uid"}}
	machine.Spec.ClusterName, machine.Spec.Bootstrap.DataSecretName = "blue", new("data")
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m",
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "blue"}}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	for _, one := range change {
		one(windows, machine, cluster)
	}
	data := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}, Type: corev1.SecretTypeOpaque}
	data.Data = map[string][]byte{"value": []byte("x")}
	password := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloud"}}
	password.Data = map[string][]byte{"clientSecret": []byte("secret"), "server": []byte("first")}
	node := corev1.Node{}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	s := &lifeStage{phaseStage: newPhaseStage(t, windows, machine, cluster, data, password), cloud: &fake.World{}}
	s.told = events.NewFakeRecorder(100)
	s.Now, s.Events, s.Workload, s.Clouds = time.Now, s.told, linuxNodes{node}, inClouds(fake.Provider{World: s.cloud})
	s.Accounts = &accounts.Register{Changed: func(...cloud.Key) {}, Now: time.Now}
	s.Identities = &identities.Keeper{Live: s.Live}
	s.Credentials = &credentials.Keeper{Live: s.Live, Client: s.Client, Events: s.told}
	s.manager = &lifeManager{}
	expect.OK(t, s.Credentials.Setup(t.Context(), s.manager, s.secretOf))
	go func() { expect.Fine(t, s.manager.runs.Start(t.Context())) }()
	go func() { expect.Fine(t, s.Accounts.Start(t.Context())) }()
	synctest.Wait()
	return s
}

var lifeKey = client.ObjectKey{Namespace: "ns", Name: "m"}

// look looks at the machine until it waits for nothing in this process.
func (s *lifeStage) look(t *testing.T) (ctrl.Result, *infrav1.WindowsMachine) {
	t.Helper()
	m := &infrav1.WindowsMachine{}
	if s.Client.Get(t.Context(), lifeKey, m) == nil {
		s.manager.follows.OnUpdate(nil, m)
	}
	synctest.Wait()
	<-time.After(time.Second)
	result := expect.Got(s.Reconcile(t.Context(), ctrl.Request{NamespacedName: lifeKey}))(t)
	synctest.Wait()
	m = &infrav1.WindowsMachine{}
	expect.OK(t, client.IgnoreNotFound(s.Client.Get(t.Context(), lifeKey, m)))
	return result, m
}

// edit changes an object of the API server, its status too.
func (s *lifeStage) edit(t *testing.T, o client.Object, change func()) {
	t.Helper()
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	change()
	expect.OK(t, s.Client.Update(t.Context(), o))
}
