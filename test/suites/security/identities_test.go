package security

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// ofAzure is the login to a simulated Azure, as a Secret that chooses it.
func ofAzure(c *armsim.Cloud) map[string][]byte {
	return map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": []byte(c.Endpoint()), "authority": []byte(c.Endpoint()), "caBundle": c.CA(),
	}
}

// sharedCloud is one that the victim and the attacker use by the same login.
type sharedCloud struct {
	login map[string][]byte
	spec  func(*world.Machine)
	vms   func() []string
}

func sharedClouds(t *testing.T) (map[string]sharedCloud, world.Options) {
	t.Helper()
	arm, v := armsim.Hurry(t, 60), vcenter.New(t)
	return map[string]sharedCloud{
		"Azure": {
			ofAzure(arm), func(m *world.Machine) { m.Windows.Spec = world.InAzure(world.Credentials) },
			func() []string { return arm.Names(armsim.Group, compute.VM) },
		},
		"vSphere": {v.Credentials(), func(*world.Machine) {}, v.Owner(t).VMs},
	}, world.Options{VSphere: vsphere.Provider{}, Azure: azure.Provider{Now: arm.Now, Ticks: armsim.Ticks}, Now: time.Now}
}

// TestCopiedIdentity has a tenant write the providerID of another team's machine, which is in every Node, into a bare
// WindowsMachine, and delete it. The team's VM runs in a cloud that both use by the same login.
func TestCopiedIdentity(t *testing.T) {
	t.Parallel()
	clouds, options := sharedClouds(t)
	for name, in := range clouds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := shared.Namespace(t, world.Start{Credentials: in.login})
			attacker := shared.Namespace(t, world.Start{Credentials: in.login})
			with := options
			with.Beside = []string{attacker.Name}
			victim.Run(t, with)
			theirs := victim.NewMachine("theirs")
			in.spec(theirs)
			theirs.Create(t)
			state := theirs.Await(t, "the victim's VM", world.Windows("Ready True Running"))
			for tries, annotations := range map[string]map[string]string{
				"writes another team's providerID into a bare WindowsMachine and deletes it":     nil,
				"the same, with the annotation of a machine that may have asked for a VM before": {infrav1.ServerAnnotation: "any"},
			} {
				attempt(t, attack{by: "tenant", tries: tries + ", in " + name, try: func(t *testing.T) string {
					before := in.vms()
					bare := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
						Namespace: attacker.Name, Name: "mine", Finalizers: []string{infrav1.MachineFinalizer}, Annotations: annotations,
						Labels: map[string]string{clusterv1.ClusterNameLabel: world.ClusterName},
					}, Spec: *state.Windows.Spec.DeepCopy()}
					expect.OK(t, shared.Client.Create(t.Context(), bare))
					expect.OK(t, shared.Client.Delete(t.Context(), bare))
					mine := &infrav1.WindowsMachine{}
					held := annotations != nil
					wait.Until(t, "the machine to go, or to be held", func() (any, bool) {
						err := shared.Client.Get(t.Context(), world.KeyOf(bare), mine)
						reason := conditions.GetReason(mine, infrav1.ReadyCondition)
						return []any{err, reason}, err != nil && !held || held && reason == infrav1.IdentityMismatchReason
					})
					expect.Same(t, "VMs", before, in.vms())
					if held {
						expect.Same(t, "what it is shown", infrav1.VSphereRecord{}, mine.Status.VSphere)
						mine.Finalizers = nil
						expect.OK(t, shared.Client.Update(t.Context(), mine))
						return "is held, and shown nothing"
					}
					return "is let go without a call"
				}})
			}
			theirs.Await(t, "the victim's VM is looked after", world.Windows("Ready True Running"))
			theirs.End(t)
			expect.Same(t, "VMs", 0, len(slices.DeleteFunc(in.vms(), func(vm string) bool {
				return vm != state.Windows.Status.ComputerName
			})))
		})
	}
}

// TestProvedElsewhere has a tenant's own Azure Resource Manager show a VM that is all his, with the vmId of somebody else's VM in
// the real one, and then the tenant take the real one's login, and the annotation away.
func TestProvedElsewhere(t *testing.T) {
	t.Parallel()
	genuine, own := armsim.Hurry(t, 60), armsim.Hurry(t, 60)
	n := shared.Namespace(t, world.Start{Credentials: ofAzure(own)})
	m := n.NewMachine("mine")
	m.Windows.Spec = world.InAzure(world.Credentials)
	n.Run(t, world.Options{Azure: azure.Provider{Now: genuine.Now, Ticks: armsim.Ticks}, Now: time.Now})
	m.Create(t)
	proved := func(s world.State) string {
		if s.Windows == nil || s.Windows.Status.Azure == nil || s.Windows.Status.Azure.VMID == "" {
			return "the status has no ID of the VM"
		}
		return ""
	}
	state := m.Await(t, "the tenant's own cloud to prove his VM", world.Windows("Ready True Running"), proved)
	name := state.Windows.Status.ComputerName
	genuine.Change(func(in *armsim.Inside) { // that of the victim, with the same name and vmId
		in.World.Put(armsim.VMID(name), doc.Object{
			"location": armsim.Location, "tags": doc.Object{"owner": "platform"},
			"properties": doc.Object{"provisioningState": "Succeeded", "vmId": state.Windows.Status.Azure.VMID},
		})
	})
	attempt(t, attack{
		by: "tenant", tries: "has his own ARM prove a foreign VM to be his, and deletes it by another login",
		try: func(t *testing.T) string {
			n.SetCredentials(t, ofAzure(genuine))
			world.Change(t, shared.Client, state.Windows, func(w *infrav1.WindowsMachine) {
				delete(w.Annotations, infrav1.ServerAnnotation)
			})
			m.Await(t, "it is refused", world.Windows("CloudReachable False IdentityMismatch"))
			m.Delete(t)
			m.Await(t, "it is refused in deletion", world.Windows("CloudReachable False IdentityMismatch"), func(s world.State) string {
				if s.Windows == nil || s.Windows.DeletionTimestamp.IsZero() {
					return "it is not being deleted"
				}
				return ""
			})
			expect.Same(t, "the victim's VM", []string{name}, genuine.Names(armsim.Group, compute.VM))
			return "is held: the status says which server gave the ID"
		},
	})
	n.SetCredentials(t, ofAzure(own))
	m.Await(t, "end", world.Gone)
}
