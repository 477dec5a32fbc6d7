package security

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// sharedLogin is a cloud that the victim and the attacker use by the same login, with the victim's VM.
type sharedLogin struct {
	provider cloud.Provider
	login    map[string][]byte
	vms      func() []string
	victim   cloud.Machine
	// process is the one that made the VM and looks after it, and other one that has not met it.
	process, other cloud.Cloud
}

func sharedLogins(t *testing.T) map[string]*sharedLogin {
	t.Helper()
	arm, v := armsim.Hurry(t, 120), vcenter.New(t)
	inAzure := machineIn("platform", "theirs")
	o := &infrav1.WindowsMachine{Spec: world.InAzure(world.Credentials), ObjectMeta: metav1.ObjectMeta{
		Namespace: "platform", Name: "theirs", UID: "uid of theirs",
	}}
	inAzure.Identity, inAzure.Spec = expect.Got(azure.Provider{}.Identify(o))(t), o.Spec
	logins := map[string]*sharedLogin{
		"Azure": {
			provider: azure.Provider{Now: arm.Now, Ticks: armsim.Ticks, Manager: "here"}, login: ofAzure(arm), victim: inAzure,
			vms: func() []string { return arm.Names(armsim.Group, compute.VM) },
		},
		"vSphere": {
			provider: vsphere.Provider{}, login: v.Credentials(), vms: v.Owner(t).VMs, victim: machineIn("platform", "theirs"),
		},
	}
	for _, in := range logins {
		in.victim.UID, in.victim.Cluster = "uid of theirs", cloud.ClusterMark{Name: "blue", UID: "blue", Manager: "here"}
		in.victim.Asked = cloud.NeverAsked
		in.process, in.other = in.connect(t), in.connect(t)
		wait.Until(t, "the victim's VM to run", func() (any, bool) {
			vm, err := in.process.Ensure(t.Context(), in.victim)
			if vm.Record != nil {
				in.victim.Record = *vm.Record
			}
			return []any{vm, err}, err == nil && vm.State == cloud.Running && in.victim.Record.VM() != ""
		})
		in.victim.Asked = cloud.Existed
	}
	return logins
}

// connect is another process with the same login, whose watch runs.
func (s *sharedLogin) connect(t *testing.T) cloud.Cloud {
	t.Helper()
	c := expect.Got(s.provider.Connect("", s.login))(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Watch(ctx, func(...cloud.Key) {}) }()
	t.Cleanup(func() {
		end()
		expect.Fine(t, <-ended)
		_ = c.Close(context.WithoutCancel(t.Context()))
	})
	return c
}

// pretence is a machine of the attacker's with something of the victim's.
type pretence struct {
	tries string
	forge func(evil *cloud.Machine, record cloud.Record)
}

// given is the victim's record, as if another server had given it.
func given(record cloud.Record, server func(string) string) cloud.Record {
	if record.Azure.Server != "" {
		record.Azure.Server = server(record.Azure.Server)
	}
	if record.VSphere.Server != "" {
		record.VSphere.Server = server(record.VSphere.Server)
	}
	return record
}

// pretences are the machines of an attacker who may write WindowsMachines and Machines, and can restore a status that another
// server gave, those of each kind together.
var pretences = [][]pretence{{
	{"has the providerID in the Machine, too", func(*cloud.Machine, cloud.Record) {}},
}, {
	{"has the ID of the VM, by a server in capitals", func(evil *cloud.Machine, record cloud.Record) {
		evil.Record = given(record, strings.ToUpper)
	}},
	{"has the ID of the VM, by a server of a Secret's choice", func(evil *cloud.Machine, record cloud.Record) {
		evil.Record = given(record, func(server string) string { return "chosen " + server })
	}},
	{"has the ID of the VM, by a server with a slash behind it", func(evil *cloud.Machine, record cloud.Record) {
		evil.Record = given(record, func(server string) string { return server + "/" })
	}},
	{"has the ID of the VM, by no server", func(evil *cloud.Machine, record cloud.Record) {
		evil.Record = given(record, func(string) string { return "" })
	}},
	{"has the ID of the VM in the record of the other cloud", func(evil *cloud.Machine, record cloud.Record) {
		evil.Record.VSphere = infrav1.VSphereRecord{Server: record.Azure.Server, Reference: record.Azure.VMID}
		evil.Record.Azure = infrav1.AzureRecord{Server: record.VSphere.Server, VMID: record.VSphere.Reference}
	}},
}, {
	{"has the machine's name in another namespace", func(evil *cloud.Machine, _ cloud.Record) { evil.Key.Name = "theirs" }},
	{"has a Cluster of the same name and UID", func(evil *cloud.Machine, _ cloud.Record) {
		evil.Cluster = cloud.ClusterMark{Name: "blue", UID: "blue", Manager: "here"}
	}},
	{"has the machine's UID", func(evil *cloud.Machine, _ cloud.Record) { evil.UID = "uid of theirs" }},
	{"has the machine's user data", func(evil *cloud.Machine, _ cloud.Record) {
		evil.Digest = cloud.DigestOf(evil.ProviderID, cloud.UserData("#cloud-config\n"))
	}},
	{"says that the management cluster was taken over", func(evil *cloud.Machine, _ cloud.Record) {
		evil.TookOver = []types.UID{"here", ""}
	}},
}}

// TestWhose: an attacker who writes the identity of another team's machine into his own wants to see, keep or delete its VM,
// beside the process that made it and in another one.
func TestWhose(t *testing.T) {
	t.Parallel()
	for name, in := range sharedLogins(t) {
		for _, kind := range pretences {
			var attacks []attack
			for _, f := range kind {
				attacks = append(attacks, attack{
					by: "tenant", tries: "wants the VM of another team in " + name + ": " + f.tries,
					try: func(t *testing.T) string { return in.take(t, f) },
				})
			}
			attemptKind(t, attacks...)
		}
		_, err := in.process.Observe(t.Context(), in.victim)
		expect.OK(t, err)
	}
}

// take calls all methods for the attacker's machine.
func (s *sharedLogin) take(t *testing.T, f pretence) string {
	evil := s.victim
	evil.Key, evil.UID = cloud.Key{Namespace: "evil", Name: "mine"}, "uid of mine"
	evil.Cluster = cloud.ClusterMark{Name: "red", UID: "red", Manager: "here"}
	evil.Proof = cloud.Proof{Vouched: true, Asked: cloud.Existed}
	f.forge(&evil, s.victim.Record)
	before, said := s.vms(), map[string]bool{}
	for _, c := range []cloud.Cloud{s.process, s.other} {
		rounds := 0
		wait.Until(t, "some rounds of calls", func() (any, bool) {
			for _, call := range []func(context.Context, cloud.Machine) (cloud.VM, error){c.Observe, c.Ensure, c.Delete} {
				vm, err := call(t.Context(), evil)
				if vm.State != cloud.Creating || len(vm.Addresses) > 0 || vm.Record != nil && vm.Record.VM() != "" {
					t.Errorf("it is shown %+v", vm)
				}
				if refused, ok := errors.AsType[*cloud.Error](err); ok && refused.Reason != "" {
					said[refused.Reason] = true
				}
			}
			rounds++
			return rounds, rounds == 5
		})
	}
	expect.Same(t, "VMs", before, s.vms())
	return strings.Join(append([]string{"it is shown nothing"}, slices.Sorted(maps.Keys(said))...), ", ")
}

// TestIdentities: another spelling of an identity would be that of another machine to us, and of the same VM to the cloud.
func TestIdentities(t *testing.T) {
	t.Parallel()
	const id = "42064d55-dcf3-6be7-3ac7-e1a4d3b70bd4"
	group := "azure:///subscriptions/" + armsim.Subscription + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/"
	for what, providerID := range map[string]string{
		"in capitals": "vsphere://" + strings.ToUpper(id), "in braces": "vsphere://{" + id + "}",
		"as a URN":        "vsphere://urn:uuid:" + id,
		"without hyphens": "vsphere://" + strings.ReplaceAll(id, "-", ""), "with a slash": "vsphere://" + id + "/",
		"without its cloud": id, "with its cloud twice": "vsphere://vsphere://" + id, "with a line": "vsphere://" + id + "\n",
	} {
		attempt(t, spelled(vsphere.Provider{}, "vSphere", what, providerID, infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}}))
	}
	for what, providerID := range map[string]string{
		"in capitals": strings.ToUpper(group) + "WIN-1", "with a name in capitals": group + "Win-1", "with a slash": group + "win-1/",
		"with a path that climbs": strings.Replace(group, "/g/", "/g/../h/", 1) + "win-1", "with an escape": group + "win%2d1",
		"with a query": group + "win-1?a", "with a fragment": group + "win-1#a", "with a part of the VM": group + "win-1/extensions/a",
		"with two slashes": group + "/win-1", "with a line": group + "win-1\n",
		"of another kind":     strings.Replace(group, "Machines", "X", 1) + "a1",
		"with an empty group": strings.Replace(group, "/g/", "//", 1) + "win-1", "with a group that ends with a dot": strings.Replace(
			group, "/g/", "/g./", 1) + "win-1", "with a long name": group + strings.Repeat("a", 16),
	} {
		attempt(t, spelled(azure.Provider{}, "Azure", what, providerID, world.InAzure("")))
	}
}

func spelled(p cloud.Provider, name, what, providerID string, spec infrav1.WindowsMachineSpec) attack {
	return attack{by: "tenant", tries: fmt.Sprintf("writes a providerID of %s %s", name, what), try: func(t *testing.T) string {
		spec.ProviderID = providerID
		identity, err := p.Identify(&infrav1.WindowsMachine{Spec: spec, ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u"}})
		if err == nil {
			t.Errorf("it is that of %+v", identity)
		}
		return shown(t, err)
	}}
}
