package azure

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestInspectAsksForTheCustomRole: what is checked is what docs/azure.md always asks for.
func TestInspectAsksForTheCustomRole(t *testing.T) {
	asked := slices.Concat(inspect.InGroup, inspect.InSubscription, inspect.JoinSubnet)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	want := roleOf(t)
	slices.Sort(want)
	expect.Same(t, "actions", want, asked)
}

// readers are the rights of this program alone, without which it says what it could not check, and those that not all specs take.
var readers = []string{
	"Microsoft.Authorization/permissions/read", "Microsoft.Network/virtualNetworks/subnets/read",
	"Microsoft.Resources/subscriptions/providers/read", "Microsoft.Compute/locations/usages/read",
	"Microsoft.Compute/galleries/images/read", "Microsoft.Compute/galleries/images/versions/read", readsBootLogs,
}

const readsBootLogs = "Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action"

// without gives the identity the role and the readers' rights, but for some actions.
func without(actions ...string) func(*stage, *infrav1.AzureVM) {
	return func(s *stage, _ *infrav1.AzureVM) {
		left := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return slices.Contains(actions, a) })
		}
		s.grant(left(roleOf(s.t)))
		s.Change(func(in *armsim.Inside) {
			in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+armsim.Subscription, left(readers)...)
		})
	}
}

func TestInspect(t *testing.T) {
	const ok, warning, failed = cloud.CheckOK, cloud.CheckWarning, cloud.CheckFailed
	for name, c := range map[string]struct {
		change func(*stage, *infrav1.AzureVM)
		check  string
		result cloud.Result
		says   string
		bad    int // findings that are not ok
	}{
		"all well":  {without(), "rights in the group", ok, "has the actions", 0},
		"the login": {without(), "login", ok, "accepts the credentials for tenant " + armsim.Tenant, 0},
		"the group": {without(), "resource group", ok, armsim.Group + " has 0 VMs", 0},
		"the guest": {without(), "inside the image", cloud.CheckSkipped, "cannot be seen from outside", 0},
		"the size":  {without(), "size Standard_D4s_v5", ok, "4 CPUs, 16384 MiB", 0},
		"an owner":  {func(*stage, *infrav1.AzureVM) {}, "rights on subnet 1", ok, "has the actions", 0},
		"an action less": {
			without("Microsoft.Compute/disks/delete"), "rights in the group", failed,
			"lacks Microsoft.Compute/disks/delete on /subscriptions/", 1,
		},
		"no way into the subnet": {
			without(inspect.JoinSubnet[0]),
			"rights on subnet 1", failed, "lacks " + inspect.JoinSubnet[0] + " on " + armsim.SubnetID, 1,
		},
		"rights that are not shown": {
			without(readers[0]), "rights in the subscription", warning,
			"cannot be checked: Azure refuses the action Microsoft.Authorization/permissions/read", 4,
		},
		"a subnet that is not shown": {
			without(readers[1]),
			"subnet 1", warning, "cannot be checked: Azure refuses the action " + readers[1], 1,
		},
		"no such subnet": {func(_ *stage, vm *infrav1.AzureVM) {
			vm.NetworkInterfaces[0].Subnet.ID = armsim.SubnetID + "x"
		}, "subnet 1", failed, "does not exist: correct spec.azure.networkInterfaces", 1},
		"no such group": {
			func(_ *stage, vm *infrav1.AzureVM) { vm.ResourceGroup = "elsewhere" },
			"resource group", failed, "create it with az group create --name elsewhere --location westeurope", 1,
		},
		"no words of a guest": {
			without(readsBootLogs), "rights on boot logs", warning, "without " + readsBootLogs, 1,
		},
		"no boot log": {func(s *stage, vm *infrav1.AzureVM) {
			vm.BootDiagnostics.Type = infrav1.AzureBootDisabled
			without(readsBootLogs)(s, vm)
		}, "rights in the group", ok, "has the actions", 0},
		"no such size": {
			func(_ *stage, vm *infrav1.AzureVM) { vm.VMSize = "Standard_D4s_v99" },
			"size Standard_D4s_v99", failed, "not offered", 1,
		},
		"another size": {func(_ *stage, vm *infrav1.AzureVM) {
			vm.VMSize, vm.FallbackVMSizes = "Standard_D4s_v99", []string{"Standard_D4s_v5"}
		}, "size Standard_D4s_v99", warning, "not offered", 1},
		"no such zone": {
			func(_ *stage, vm *infrav1.AzureVM) { vm.Zones = []string{"9"} },
			"size Standard_D4s_v5", failed, "in zone 9", 1,
		},
		"one good zone": {
			func(_ *stage, vm *infrav1.AzureVM) { vm.Zones = []string{"9", "1"} },
			"size Standard_D4s_v5", ok, "4 CPUs", 0,
		},
		"another subscription": {func(_ *stage, vm *infrav1.AzureVM) {
			vm.SubscriptionID = "99999999-2222-3333-4444-555555555555"
		}, "subscription", failed, "assign the custom role", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			spec := s.spec().Azure
			c.change(s, spec)
			s.Forget()
			found := expect.Got(Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: spec}))(t)
			bad := 0
			for _, f := range found {
				if f.Result == warning || f.Result == failed {
					bad++
				}
			}
			at := slices.IndexFunc(found, func(f cloud.Finding) bool { return f.Check == c.check })
			if at < 0 || found[at].Result != c.result || !strings.Contains(found[at].Text, c.says) || bad != c.bad {
				t.Errorf("found %+v, want %s %s %q and %d that are not well", found, c.check, c.result, c.says, c.bad)
			}
			for _, call := range s.Calls() {
				if call.Method != http.MethodGet && call.Class != "token" {
					t.Errorf("%s %s is not a look", call.Method, call.Class)
				}
			}
		})
	}
}

// TestInspectNamesTheCaller: who sees something, or lacks a right, is the one whose token was used, as that says itself.
func TestInspectNamesTheCaller(t *testing.T) {
	s := newStage(t)
	without("Microsoft.Compute/disks/delete")(s, nil)
	of := Provider{login: func(credentials map[string][]byte) (*login.Principal, error) {
		who, err := s.login(credentials)
		who.ClientID, who.TenantID = "eve@example.com", "the tenant of eve"
		return who, err
	}}
	pool := Pool{Spec: s.spec().Azure, Identity: inspect.Identity{Other: true}}
	found := expect.Got(of.Inspect(t.Context(), s.credentials(), pool))(t)
	for check, says := range map[string]string{
		"login":               "accepts the credentials for tenant the tenant of eve",
		"rights in the group": "eve@example.com lacks Microsoft.Compute/disks/delete on /subscriptions/",
	} {
		expect.Same(t, finding(found, check).Text, true, strings.Contains(finding(found, check).Text, says))
	}
}

// TestInspectWithoutAccess: a login that is refused is the only finding, and what cannot be tried is an error.
func TestInspectWithoutAccess(t *testing.T) {
	s := newStage(t)
	wrong := with(s.credentials(), "secret", "wrong")
	found := expect.Got(Provider{login: s.login}.Inspect(t.Context(), wrong, Pool{Spec: s.spec().Azure}))(t)
	if len(found) != 1 || found[0].Check != "login" || found[0].Result != cloud.CheckFailed || found[0].Text == "" {
		t.Errorf("found %+v", found)
	}
	expect.Same(t, "connections that are left", 0, int(s.open.Load()))
	spec := s.spec().Azure
	spec.ResourceGroup = ""
	_, err := Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: spec})
	expect.Says(t, "a spec that leaves its group to an AzureCluster", err, "spec.azure.resourceGroup")
}

// TestInspectInTheClustersCloud: a Secret that names no cloud is for that of the AzureCluster. Nothing is sent, because the
// context is over.
func TestInspectInTheClustersCloud(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	secret := map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte("a secret"),
	}
	for environment, host := range map[string]string{
		"AzureChinaCloud": "management.chinacloudapi.cn", "AzurePublicCloud": "management.azure.com",
	} {
		cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"azureEnvironment": environment}}}
		found := expect.Got(Provider{}.Inspect(over, secret, Pool{Spec: (&stage{}).spec().Azure, Cluster: cluster}))(t)
		expect.Same(t, environment+" is asked", true, strings.Contains(finding(found, "login").Text, host))
	}
}
