package world

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// Machine is a Windows machine: a Machine, a WindowsMachine and a WindowsBootstrapConfig with one name. The objects are as
// they will be or were created; Load reads how they are.
type Machine struct {
	Core    *clusterv1.Machine
	Windows *infrav1.WindowsMachine
	Config  *bootstrapv1.WindowsBootstrapConfig

	Key       client.ObjectKey
	namespace *Namespace

	mu         sync.Mutex
	providerID string             // once seen
	created    map[types.UID]bool // and not seen by the watch so far
}

// NewMachine writes down the objects of a machine, as a MachineSet would create them.
func (n *Namespace) NewMachine(name string) *Machine {
	object := metav1.ObjectMeta{Namespace: n.Name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: n.ClusterName}}
	if n.Filter != "" {
		object.Labels[clusterv1.WatchLabel] = n.Filter
	}
	m := &Machine{Key: client.ObjectKey{Namespace: n.Name, Name: name}, namespace: n}
	m.Windows = &infrav1.WindowsMachine{ObjectMeta: *object.DeepCopy(), Spec: infrav1.WindowsMachineSpec{
		IdentityRef: SecretIdentity(Credentials),
		VSphere: &infrav1.VSphereVM{
			Image:      infrav1.VSphereImage{Template: "windows-2022-v1.36.3"},
			Datacenter: "DC0", Folder: "windows", ResourcePool: "DC0_C0/Resources",
		},
	}}
	m.Config = &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: *object.DeepCopy()}
	m.Core = &clusterv1.Machine{ObjectMeta: *object.DeepCopy(), Spec: clusterv1.MachineSpec{
		ClusterName:       n.ClusterName,
		Version:           n.Workload.Version,
		InfrastructureRef: reference(infrav1.GroupVersion.Group, "WindowsMachine", name),
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: reference(bootstrapv1.GroupVersion.Group, "WindowsBootstrapConfig", name)},
	}}
	return m
}

// SecretIdentity refers to a Secret with credentials.
func SecretIdentity(name string) infrav1.IdentityReference {
	return infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: name}
}

// OnFake is the spec of a machine in the fake cloud.
func OnFake() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{IdentityRef: SecretIdentity(Credentials), Azure: &infrav1.AzureVM{
		SubscriptionID: "00000000-0000-0000-0000-000000000000", ResourceGroup: "windows", Location: "westeurope",
		VMSize: "Standard_D4s_v5", Image: infrav1.AzureImage{ID: fake.Image},
	}}
}

// InAzure is the spec of a machine in the simulated Azure, with a Secret as its identity.
func InAzure(identity string) infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{IdentityRef: SecretIdentity(identity), Azure: &infrav1.AzureVM{
		SubscriptionID: armsim.Subscription, ResourceGroup: armsim.Group, Location: armsim.Location, VMSize: "Standard_D4s_v5",
		Image:             infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1.36.3"},
		NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node", Subnet: infrav1.AzureSubnet{ID: armsim.SubnetID}}},
	}}
}

func reference(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

// Machine makes a machine.
func (n *Namespace) Machine(t *testing.T, name string) *Machine {
	t.Helper()
	m := n.NewMachine(name)
	m.Create(t)
	return m
}

// Create makes all three objects, in the order of a MachineSet.
func (m *Machine) Create(t *testing.T) {
	t.Helper()
	m.create(t, m.Config, m.Windows, m.Core)
}

// CreateWithoutConfig makes the machine and leaves its bootstrap config for later.
func (m *Machine) CreateWithoutConfig(t *testing.T) {
	t.Helper()
	m.create(t, m.Windows, m.Core)
}

// CreateConfig makes the bootstrap config, owned by the Machine already.
func (m *Machine) CreateConfig(t *testing.T) {
	t.Helper()
	m.Config.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(m.Core, clusterv1.GroupVersion.WithKind("Machine"))}
	m.create(t, m.Config)
}

func (m *Machine) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		expect.OK(t, m.namespace.Client.Create(t.Context(), object))
		m.note(object)
	}
}

func (m *Machine) note(object client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch object.(type) {
	case *clusterv1.Machine, *infrav1.WindowsMachine, *bootstrapv1.WindowsBootstrapConfig:
		if m.created == nil {
			m.created = map[types.UID]bool{}
		}
		m.created[object.GetUID()] = true
	}
}

// Delete asks for the Machine's deletion; Cluster API does the rest.
func (m *Machine) Delete(t *testing.T) {
	t.Helper()
	expect.OK(t, client.IgnoreNotFound(m.namespace.Client.Delete(t.Context(), m.Core.DeepCopy())))
}

// End deletes the Machine and waits until nothing is left.
func (m *Machine) End(t *testing.T) {
	t.Helper()
	m.Delete(t)
	m.Await(t, "end", Gone)
}

// Touch changes an annotation of an object, so that everybody looks at it again.
func (m *Machine) Touch(t *testing.T, object client.Object, value string) {
	t.Helper()
	Change(t, m.namespace.Client, object, func(o client.Object) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["test.capwin/touched"] = value
		o.SetAnnotations(annotations)
	})
}

// Join does what the guest's kubelet does: the node registers itself, with the machine's name and provider ID.
func (m *Machine) Join(t *testing.T) *corev1.Node {
	t.Helper()
	s := m.Load(t)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.Windows.Status.ComputerName, Labels: map[string]string{corev1.LabelOSStable: "windows"}},
		Spec: corev1.NodeSpec{
			ProviderID: s.Windows.Spec.ProviderID,
			Taints:     []corev1.Taint{clusterv1.NodeUninitializedTaint},
		},
	}
	cluster := m.namespace.Workload
	m.namespace.noteNode(node.Name)
	expect.OK(t, cluster.Client.Create(t.Context(), node))
	expect.OK(t, cluster.setNodeReady(t.Context(), node, corev1.ConditionTrue))
	return node
}
