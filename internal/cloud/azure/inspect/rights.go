package inspect

import (
	"context"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// InGroup and InSubscription are the actions that docs/azure.md always asks for, by where they are needed; JoinSubnet is needed
// on each subnet.
var (
	InGroup = []string{
		"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/write",
		"Microsoft.Compute/virtualMachines/delete", "Microsoft.Compute/virtualMachines/instanceView/read",
		"Microsoft.Compute/disks/read", "Microsoft.Compute/disks/write", "Microsoft.Compute/disks/delete",
		"Microsoft.Network/networkInterfaces/read", "Microsoft.Network/networkInterfaces/write",
		"Microsoft.Network/networkInterfaces/delete",
	}
	InSubscription = []string{"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/skus/read"}
	JoinSubnet     = []string{"Microsoft.Network/virtualNetworks/subnets/join/action"}
)

// The actions that some specs take.
var (
	inGroupForPublic = []string{
		"Microsoft.Network/publicIPAddresses/read", "Microsoft.Network/publicIPAddresses/write",
		"Microsoft.Network/publicIPAddresses/delete",
	}
	inGroupForAddress = []string{"Microsoft.Network/networkInterfaces/join/action"}
	readBootLog       = []string{"Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action"}
)

// inGroup are the actions that a machine of this spec takes in its resource group.
func (i *inspection) inGroup() []string {
	actions := slices.Clone(InGroup)
	if request.HasPublic(i.Spec) {
		actions = append(actions, inGroupForPublic...)
	}
	if request.Separate(i.want()) {
		actions = append(actions, inGroupForAddress...)
	}
	return actions
}

// want is a VM of the spec, as it will be asked for.
func (i *inspection) want() request.Want {
	w := request.Want{Placement: i.Place}
	w.Machine.Spec.Azure = i.Spec
	return w
}

// link is something that a VM of the spec will name, and what the identity must be allowed to do there.
type link struct {
	name, scope string
	actions     []string
}

// links are all of them, each once.
func (i *inspection) links() (found []link) {
	add := func(name, scope, action string) {
		equal := func(l link) bool { return arm.SameID(l.scope, scope) && l.actions[0] == action }
		if scope != "" && !slices.ContainsFunc(found, equal) {
			found = append(found, link{name, scope, []string{action}})
		}
	}
	if scope, action := i.imageRight(); scope != "" {
		add("the image", scope, action)
	}
	i.ofAdapters(add)
	sets := []string{i.Spec.OSDisk.DiskEncryptionSetID}
	for _, disk := range i.Spec.DataDisks {
		sets = append(sets, disk.DiskEncryptionSetID)
	}
	for _, id := range sets {
		add("disk encryption set "+nameOf(id), id, "Microsoft.Compute/diskEncryptionSets/read")
	}
	hostGroup := i.Spec.HostGroupID
	if hostGroup == "" {
		hostGroup, _, _ = strings.Cut(i.Spec.HostID, "/hosts/")
	}
	add("host group "+nameOf(hostGroup), hostGroup, "Microsoft.Compute/hostGroups/read")
	for _, named := range []struct{ name, id, action string }{
		{"capacity reservation", i.Spec.CapacityReservationGroupID, "Microsoft.Compute/capacityReservationGroups/deploy/action"},
		{"placement group", i.Spec.ProximityPlacementGroupID, "Microsoft.Compute/proximityPlacementGroups/write"},
		{"scale set", i.Spec.ScaleSetID, "Microsoft.Compute/virtualMachineScaleSets/write"},
	} {
		add(named.name+" "+nameOf(named.id), named.id, named.action)
	}
	if i.Spec.Identities.Type == infrav1.AzureIdentitiesUserAssigned {
		for _, id := range i.Spec.Identities.UserAssigned {
			add("identity "+nameOf(id), id, "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action")
		}
	}
	return found
}

// ofAdapters are what the adapters name beside their subnets.
func (i *inspection) ofAdapters(add func(name, scope, action string)) {
	for n := range i.Place.SubnetIDs {
		for _, id := range request.Pools(i.want(), n) {
			add("pool "+nameOf(id), id, "Microsoft.Network/loadBalancers/backendAddressPools/join/action")
		}
		if n >= len(i.Spec.NetworkInterfaces) {
			continue
		}
		adapter := i.Spec.NetworkInterfaces[n]
		id := adapter.NetworkSecurityGroupID
		add("security group "+nameOf(id), id, "Microsoft.Network/networkSecurityGroups/join/action")
		for _, id := range adapter.ApplicationSecurityGroupIDs {
			add("security group "+nameOf(id), id, "Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action")
		}
	}
}

// nameOf is the name of something by its ID.
func nameOf(id string) string { return shown(id[strings.LastIndex(id, "/")+1:]) }

// permission is what a role lets the caller do at a scope; roles are all of the caller's there.
type (
	permission struct{ Actions, NotActions []string }
	roles      struct {
		granted []permission
		a       Answer
	}
)

// missing are the actions that the caller does not have at a scope.
func (i *inspection) missing(ctx context.Context, scope string, wanted []string) ([]string, Answer) {
	cached, asked := i.roles[scope]
	if !asked {
		path := scope + "/providers/Microsoft.Authorization/permissions"
		cached.granted, cached.a = list[permission](ctx, i, path, permissionsVersion, nil)
		i.roles[scope] = cached
	}
	return unmet(cached.granted, wanted), cached.a
}

// ownRights are about the actions in the subscription and in the resource group.
func (i *inspection) ownRights(ctx context.Context) {
	i.rights(ctx, "rights in the subscription", i.subscription(), InSubscription)
	if !i.noGroup {
		i.rights(ctx, "rights in the group", i.groupID().String(), i.inGroup())
		i.log(ctx)
	}
}

// linkRights are about the actions on what a VM of the spec will name.
func (i *inspection) linkRights(ctx context.Context) {
	for _, l := range i.links() {
		i.rights(ctx, "rights on "+l.name, l.scope, l.actions)
	}
}

// rights names the actions that the caller lacks at a scope. Of somebody else it is only to be looked at.
func (i *inspection) rights(ctx context.Context, check, scope string, wanted []string) {
	missing, a := i.missing(ctx, scope, wanted)
	switch {
	case a.Problem != "":
		i.unseen(check, a)
	case len(missing) > 0 && i.Identity.Other:
		i.add(check, cloud.CheckWarning, "%s lacks %s on %s, which the machine's identity needs there; see whether it has them: %s",
			i.callerName(), strings.Join(missing, ", "), shownID(scope), i.assigned(scope))
	case len(missing) > 0:
		i.add(check, cloud.CheckFailed, "the identity lacks %s on %s: assign the custom role of docs/azure.md there: %s",
			strings.Join(missing, ", "), shownID(scope), i.assign(scope))
	case i.Identity.Other:
		i.add(check, cloud.CheckOK, "%s has the actions of the custom role", i.callerName())
	default:
		i.add(check, cloud.CheckOK, "the identity has the actions of the custom role")
	}
}

// log is about the boot log, without which a machine can be made.
func (i *inspection) log(ctx context.Context) {
	if i.Spec.BootDiagnostics.Type == infrav1.AzureBootDisabled {
		return
	}
	const check = "rights on boot logs"
	switch missing, a := i.missing(ctx, i.groupID().String(), readBootLog); {
	case a.Problem != "": // the rights in the group have reported it
	case len(missing) > 0:
		i.add(check, cloud.CheckWarning, "without %s, the last console lines of a guest that fails are not read: assign the action, "+
			"or set "+
			"spec.azure.bootDiagnostics.type to Disabled", missing[0])
	default:
		i.add(check, cloud.CheckOK, "the last console lines of a guest that fails can be read")
	}
}

func shownID(id string) string { return cloud.Clean(id, maxWord) }

func unmet(granted []permission, wanted []string) (missing []string) {
	for _, action := range wanted {
		grants := func(p permission) bool { return covers(p.Actions, action) && !covers(p.NotActions, action) }
		if !slices.ContainsFunc(granted, grants) {
			missing = append(missing, action)
		}
	}
	return missing
}

// covers compares as Azure does: in any case, and a * stands for any text.
func covers(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		text := "(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
		fits, _ := regexp.MatchString(text, action) // any quoted text is a pattern
		return fits
	})
}
