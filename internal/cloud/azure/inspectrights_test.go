package azure

import (
	"regexp"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

var lackingAction = regexp.MustCompile(
	`^the identity lacks (.+) on (\S+): assign .*: az role assignment create --assignee \S+ --role ROLE --scope`)

// failures are the checks that failed.
func failures(found []cloud.Finding) (all []cloud.Finding) {
	for _, f := range found {
		if f.Result == cloud.CheckFailed {
			all = append(all, f)
		}
	}
	return all
}

// TestInspectAsksForWhatTheSpecTakes: an action that only some specs take is asked for by those alone, at its place. Without it,
// Azure refuses the VM; with what the check names, and no more, Azure makes it.
func TestInspectAsksForWhatTheSpecTakes(t *testing.T) {
	compute := func(kind string) string {
		return "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.NetworkGroup + "/providers/Microsoft.Compute/" +
			kind + "/one"
	}
	adapter := func(vm *infrav1.AzureVM) *infrav1.AzureNetworkInterface { return &vm.NetworkInterfaces[0] }
	const join = "Microsoft.Network/"
	for name, c := range map[string]struct {
		change func(*infrav1.AzureVM)
		action string // none for a spec that takes no more than all do
		check  string
		untold bool // the simulator wants it elsewhere
	}{
		"nothing more": {func(*infrav1.AzureVM) {}, "", "", false},
		"a pool": {func(vm *infrav1.AzureVM) {
			adapter(vm).LoadBalancerPoolIDs = []string{armsim.PoolID}
		}, join + "loadBalancers/backendAddressPools/join/action", "rights on pool capwin-outboundBackendPool", false},
		"a security group": {func(vm *infrav1.AzureVM) {
			adapter(vm).NetworkSecurityGroupID = armsim.NSGID
		}, join + "networkSecurityGroups/join/action", "rights on security group nodes", false},
		"an application security group": {func(vm *infrav1.AzureVM) {
			adapter(vm).ApplicationSecurityGroupIDs = []string{armsim.ASGID}
		}, join + "applicationSecurityGroups/joinIpConfiguration/action", "rights on security group nodes", false},
		"a public IP": {func(vm *infrav1.AzureVM) {
			adapter(vm).PublicIP = infrav1.AzureEnabled
		}, join + "publicIPAddresses/write", "rights in the group", true},
		"an address": {func(vm *infrav1.AzureVM) {
			adapter(vm).PrivateAddress = ownAddress
		}, join + "networkInterfaces/join/action", "rights in the group", true},
		"an identity": {func(vm *infrav1.AzureVM) {
			vm.Identities = infrav1.AzureIdentities{
				Type: infrav1.AzureIdentitiesUserAssigned, UserAssigned: []string{armsim.IdentityID},
			}
		}, "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action", "rights on identity nodes", false},
		"a managed image": {func(vm *infrav1.AzureVM) {
			vm.Image = infrav1.AzureImage{ID: armsim.ManagedImage}
		}, "Microsoft.Compute/images/read", "rights on the image", false},
		"an image in a gallery": {func(vm *infrav1.AzureVM) {
			vm.Image = infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1.36.3"}
		}, "Microsoft.Compute/galleries/images/versions/read", "rights on the image", false},
		"a key": {func(vm *infrav1.AzureVM) {
			vm.OSDisk.DiskEncryptionSetID = compute("diskEncryptionSets")
		}, "Microsoft.Compute/diskEncryptionSets/read", "rights on disk encryption set one", false},
		"a reservation": {func(vm *infrav1.AzureVM) {
			vm.CapacityReservationGroupID = compute("capacityReservationGroups")
		}, "Microsoft.Compute/capacityReservationGroups/deploy/action", "rights on capacity reservation one", false},
		"hosts": {func(vm *infrav1.AzureVM) {
			vm.HostGroupID = compute("hostGroups")
		}, "Microsoft.Compute/hostGroups/read", "rights on host group one", false},
		"a placement group": {func(vm *infrav1.AzureVM) {
			vm.ProximityPlacementGroupID = compute("proximityPlacementGroups")
		}, "Microsoft.Compute/proximityPlacementGroups/write", "rights on placement group one", false},
		"a scale set": {func(vm *infrav1.AzureVM) {
			vm.ScaleSetID = compute("virtualMachineScaleSets")
		}, "Microsoft.Compute/virtualMachineScaleSets/write", "rights on scale set one", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			m.Spec.Azure.Image = infrav1.AzureImage{Marketplace: marketplace} // takes no right
			c.change(m.Spec.Azure)
			without("Microsoft.Compute/galleries/images/versions/read")(s, m.Spec.Azure)
			inspected := func() []cloud.Finding {
				all := expect.Got(Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: m.Spec.Azure}))(t)
				return failures(all)
			}
			found := inspected()
			if c.action == "" {
				expect.Same(t, "failures", 0, len(found))
				return
			}
			told := []string{"", "", ""}
			if len(found) == 1 && lackingAction.MatchString(found[0].Text) {
				told = lackingAction.FindStringSubmatch(found[0].Text)
			}
			if !strings.Contains(told[1], c.action) || found[0].Check != c.check {
				t.Fatalf("found %+v, want %s: %s", found, c.check, c.action)
			}
			if !c.untold {
				expect.Same(t, "Azure makes a VM without it", false, s.made(m))
			}
			s.Change(func(in *armsim.Inside) { in.Rights.Grant(armsim.ObjectID, told[2], strings.Split(told[1], ", ")...) })
			expect.Same(t, "failures with it", 0, len(inspected()))
			if !c.untold {
				expect.Same(t, "Azure makes a VM with it", true, s.made(m))
			}
		})
	}
}
