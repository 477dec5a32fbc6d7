package controllers

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// ofCAPZ is an object of Cluster API Provider Azure.
func ofCAPZ(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// inherited is a stage on whose Cluster's AzureCluster machines rely.
type inherited struct {
	*stage
	azure   *armsim.Cloud
	cluster *unstructured.Unstructured
	offers  string // the namespace of the identity
}

// newInherited has an AzureCluster that says nothing of its network, and whose identity does not exist.
func newInherited(t *testing.T) *inherited {
	t.Helper()
	return newInheritedFrom(t, false)
}

// newInheritedFrom has the identity in a namespace of its own, or in that of the machines.
func newInheritedFrom(t *testing.T, own bool) *inherited {
	t.Helper()
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	expect.OK(t, servers.InstallCAPZ(t.Context(), shared.Management))
	i := &inherited{azure: armsim.Hurry(t, 30)}
	i.cluster = ofCAPZ("AzureCluster", world.ClusterName, map[string]any{
		"subscriptionID": armsim.Subscription, "resourceGroup": armsim.Group, "location": armsim.Location,
		"identityRef": map[string]any{"kind": "AzureClusterIdentity", "name": "blue", "namespace": "later"},
	})
	i.cluster.Object["status"] = map[string]any{"ready": true}
	i.stage = newStage(t, world.Start{Infrastructure: i.cluster})
	if i.offers = i.Name; !own {
		i.offers += "-offers"
		expect.OK(t, i.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.offers}}))
	}
	i.with(t, i.cluster, i.offers, "identityRef", "namespace")
	return i
}

// provider is that of a manager whose own cloud is the simulator.
func (i *inherited) provider(t *testing.T) azure.Provider {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clouds.json")
	expect.OK(t, i.azure.WriteFile(file, "Simulated"))
	return azure.Provider{
		Book: expect.Got(clouds.Load(file))(t), Cloud: "Simulated", Now: i.azure.Now, Ticks: armsim.Ticks,
	}
}

// with changes the spec of an object.
func (i *inherited) with(t *testing.T, o *unstructured.Unstructured, value any, fields ...string) {
	t.Helper()
	world.Change(t, i.Client, o, func(o *unstructured.Unstructured) {
		expect.OK(t, unstructured.SetNestedField(o.Object, value, append([]string{"spec"}, fields...)...))
	})
}

func (i *inherited) pauseCluster(t *testing.T, paused bool) {
	t.Helper()
	world.Change(t, i.Client, i.cluster, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
		if !paused {
			o.SetAnnotations(nil)
		}
	})
}

// network is what the AzureCluster says of it in the end.
func network() map[string]any {
	return map[string]any{
		"vnet":    map[string]any{"name": armsim.VNet, "resourceGroup": armsim.NetworkGroup},
		"subnets": []any{map[string]any{"name": armsim.SubnetName, "role": "node"}},
	}
}

// refused waits until the machine says why it has no VM.
func refused(t *testing.T, m *world.Machine, reason, text string) {
	t.Helper()
	m.Await(t, text, world.Windows("Ready False "+reason), message(infrav1.ReadyCondition, text))
}

// TestInherited has a machine wait for its place and for its rights, one after the other, and tell each. Then its VM is made with
// one PUT, stays where it is whatever the AzureCluster says later, also if its guest fails, and goes although the AzureCluster is
// gone.
func TestInherited(t *testing.T) {
	i := newInherited(t)
	i.pauseCluster(t, true)
	options := i.options()
	options.Azure, options.GuestReports = i.provider(t), true
	i.process = i.Run(t, options)
	m := i.NewMachine("m")
	m.Windows.Spec = infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
		VMSize: "Standard_D4s_v5", Image: infrav1.AzureImage{ID: armsim.ManagedImage},
	}}
	m.Create(t)
	i.waitForPlace(t, m)
	identity := i.waitForRights(t, m)
	placed := m.Await(t, "running VM", world.Windows("Ready True Running")).Windows.Status
	want := infrav1.AzureIdentity{Namespace: i.offers, Name: "blue"}
	expect.Same(t, "identity", want, placed.Azure.Identity)
	expect.Same(t, "location", armsim.Location, placed.Azure.Location)

	i.loseStatus(t, m, placed.Azure)
	i.with(t, i.cluster, map[string]any{"vnet": map[string]any{"name": "other", "resourceGroup": "other"}}, "networkSpec")
	i.look(t, m)
	expect.Same(t, "place after a change of the AzureCluster", placed.Azure, m.Load(t).Windows.Status.Azure)
	i.with(t, identity, map[string]any{"list": []any{"another"}}, "allowedNamespaces")
	m.Await(t, "loss of rights", world.Windows("CloudReachable False CredentialsMissing"), world.Windows("Ready True Running"))
	i.with(t, identity, map[string]any{"list": []any{i.Name}}, "allowedNamespaces")
	m.Await(t, "rights", world.Windows("CloudReachable True CloudReachable"))

	i.fail(t, m)
	expect.OK(t, i.Client.Delete(t.Context(), i.cluster))
	m.End(t)
	i.sent(t, placed.ComputerName)
}

// loseStatus takes the status of the machine, as a move does: it is built anew.
func (i *inherited) loseStatus(t *testing.T, m *world.Machine, was *infrav1.AzurePlacement) {
	t.Helper()
	world.ChangeStatus(t, i.Client, m.Load(t).Windows, func(o *infrav1.WindowsMachine) { o.Status = infrav1.WindowsMachineStatus{} })
	m.Await(t, "the status after a move", world.Windows("Ready True Running"), func(s world.State) string {
		return cmp.Diff(was, s.Windows.Status.Azure)
	})
}

// fail has the guest fail when it has told Azure long since that it is ready.
func (i *inherited) fail(t *testing.T, m *world.Machine) {
	t.Helper()
	state := m.Load(t)
	wait.Eventually(t, "the guest's word to Azure", func(context.Context) error {
		var told string
		i.azure.Change(func(in *armsim.Inside) {
			told = doc.Text(in.World.Find(armsim.VMID(state.Windows.Status.ComputerName)).Body, "properties", "provisioningState")
		})
		if told != "Succeeded" {
			return errors.New("the VM is " + told)
		}
		return nil
	})
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: bootstrap.GuestNamespace, Name: state.Config.Status.GuestReport,
	}}
	world.Change(t, i.Client, object, func(o *corev1.ConfigMap) {
		const report = `{"version":1,"state":"Failed","reason":"TokenRejected","message":"no answer"}`
		o.Data = map[string]string{bootstrap.GuestReportKey: report}
	})
	m.Await(t, "the guest's failure", world.Windows("BootstrapSucceeded False TokenRejected"),
		world.Windows("Ready False TokenRejected"), world.Windows("VMRunning True Running"))
}

// waitForPlace corrects the AzureCluster step by step.
func (i *inherited) waitForPlace(t *testing.T, m *world.Machine) {
	t.Helper()
	const waiting = infrav1.WaitingForClusterInfrastructureReason
	refused(t, m, waiting, "/linux-first is paused")
	i.pauseCluster(t, false)
	refused(t, m, waiting, "networkSpec.vnet.name")
	half := network()
	delete(half, "subnets")
	i.with(t, i.cluster, half, "networkSpec")
	refused(t, m, waiting, "networkSpec.subnets with the role node or cluster")
	i.with(t, i.cluster, network(), "networkSpec")
}

// waitForRights corrects the identity step by step.
func (i *inherited) waitForRights(t *testing.T, m *world.Machine) *unstructured.Unstructured {
	t.Helper()
	const waiting = infrav1.CredentialsMissingReason
	name := "AzureClusterIdentity " + i.offers + "/blue"
	refused(t, m, waiting, name+" does not exist")
	identity := ofCAPZ("AzureClusterIdentity", "blue", map[string]any{
		"type": "ServicePrincipal", "tenantID": armsim.Tenant, "clientID": armsim.ClientID,
		"clientSecret": map[string]any{"name": "proof", "namespace": i.offers},
	})
	identity.SetNamespace(i.offers)
	expect.OK(t, i.Client.Create(t.Context(), identity))
	refused(t, m, waiting, "does not allow namespace "+i.Name)
	i.with(t, identity, map[string]any{"list": []any{i.offers}}, "allowedNamespaces")
	refused(t, m, waiting, "does not allow namespace "+i.Name)
	selector := map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: i.Name}}
	i.with(t, identity, map[string]any{"selector": selector}, "allowedNamespaces")
	refused(t, m, waiting, "Secret proof of "+name+" does not exist")
	proof := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.offers, Name: "proof"}, StringData: map[string]string{"clientSecret": "wrong"},
	}
	expect.OK(t, i.Client.Create(t.Context(), proof))
	refused(t, m, infrav1.CredentialsRejectedReason, name)
	expect.Same(t, "VMs asked for without rights", 0, i.puts())
	world.Change(t, i.Client, proof, func(o *corev1.Secret) { o.Data = map[string][]byte{"clientSecret": []byte(armsim.Secret)} })
	return identity
}

// puts counts the VMs that Azure was asked to make.
func (i *inherited) puts() (n int) {
	for _, call := range i.azure.Calls() {
		if call.Class == "vm" && call.Method == http.MethodPut {
			n++
		}
	}
	return n
}

// sent checks what Azure was asked to do with the VM, and that nothing of it is left.
func (i *inherited) sent(t *testing.T, name string) {
	t.Helper()
	asked := map[string]int{}
	for _, call := range i.azure.Calls() {
		if call.Class == "vm" && call.Method != http.MethodGet {
			asked[call.Method]++
		}
	}
	expect.Same(t, "calls for VM "+name, map[string]int{http.MethodPut: 1, http.MethodDelete: 1}, asked)
	for _, kind := range []string{
		"Microsoft.Compute/virtualMachines", "Microsoft.Network/networkInterfaces", "Microsoft.Compute/disks",
	} {
		expect.Same(t, kind+" that are left", 0, len(i.azure.Names(armsim.Group, kind)))
	}
}
