package inspect

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// group checks whether the resource group is there, with the call that the controller makes most.
func (i *inspection) group(ctx context.Context) {
	const check = "resource group"
	vms, a := i.Azure.List(ctx, i.groupID().String()+"/providers/Microsoft.Compute/virtualMachines", i.ComputeVersion, nil)
	switch {
	case a.GroupGone:
		i.add(check, cloud.CheckFailed, "%s does not exist in the subscription: create it with %s, or correct "+
			"spec.azure.resourceGroup", shown(i.Place.ResourceGroup), i.createGroup())
	case a.Problem != "":
		i.unseen(check, a)
	default:
		i.add(check, cloud.CheckOK, "%s has %d VMs", shown(i.Place.ResourceGroup), len(vms))
	}
	i.noGroup = a.GroupGone
}

// subnets checks whether the subnet of each adapter is there, may be joined, and has room.
func (i *inspection) subnets(ctx context.Context) {
	for n, id := range i.Place.SubnetIDs {
		if i.subnet(ctx, fmt.Sprintf("subnet %d", n+1), id) {
			i.rights(ctx, fmt.Sprintf("rights on subnet %d", n+1), id, JoinSubnet)
		}
	}
}

func (i *inspection) subnet(ctx context.Context, check, id string) bool {
	parsed, valid := arm.Parse(id)
	if !valid || !parsed.HasType("Microsoft.Network/virtualNetworks/subnets") {
		i.add(check, cloud.CheckFailed, "%q is not the ID of a subnet: correct spec.azure.networkInterfaces, or the AzureCluster's "+
			"networkSpec", shownID(id))
		return false
	}
	var found subnet
	a := i.Azure.Get(ctx, parsed.String(), networkVersion, &found)
	switch {
	case a.Gone || a.GroupGone:
		i.add(check, cloud.CheckFailed, "%s does not exist: correct spec.azure.networkInterfaces; %s shows those that do", shownID(id),
			listSubnets(parsed))
		return false
	case a.Problem != "":
		i.unseen(check, a)
	case found.room() >= 0 && found.room() < i.addresses(id):
		i.add(check, cloud.CheckFailed, "%s has %d free addresses, and the pool needs %d: use a larger subnet, or fewer replicas or "+
			"secondaryAddresses; %s shows the others", shown(parsed.Name()), found.room(), i.addresses(id), listSubnets(parsed))
	default:
		i.add(check, cloud.CheckOK, "%s exists", shown(parsed.Name()))
	}
	return true
}

// subnet is what Azure shows of one.
type subnet struct {
	Properties struct {
		AddressPrefix    string
		AddressPrefixes  []string
		IPConfigurations []struct{ ID string }
	}
}

// reserved are the addresses of each prefix that Azure keeps for itself.
const reserved = 5

// room is how many IPv4 addresses are free; less than none if that is not known.
func (s subnet) room() int64 {
	prefixes, room := s.Properties.AddressPrefixes, int64(0)
	if s.Properties.AddressPrefix != "" {
		prefixes = []string{s.Properties.AddressPrefix}
	}
	for _, text := range prefixes {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return -1
		case prefix.Addr().Is4():
			room += max(int64(1)<<(32-prefix.Bits())-reserved, 0)
		}
	}
	if room == 0 && len(prefixes) == 0 {
		return -1
	}
	return max(room-int64(len(s.Properties.IPConfigurations)), 0)
}

// addresses is how many of a subnet's all machines take.
func (i *inspection) addresses(id string) (needed int64) {
	for n, subnetID := range i.Place.SubnetIDs {
		switch {
		case !arm.SameID(subnetID, id):
		case n < len(i.Spec.NetworkInterfaces):
			needed += 1 + int64(i.Spec.NetworkInterfaces[n].SecondaryAddresses)
		default:
			needed++
		}
	}
	return needed * i.Count
}

// providers checks whether the subscription may use what VMs need.
func (i *inspection) providers(ctx context.Context) {
	for _, name := range []string{"Microsoft.Compute", "Microsoft.Network"} {
		check := "provider " + name
		var provider struct{ RegistrationState string }
		a := i.Azure.Get(ctx, i.subscription()+"/providers/"+name, providersVersion, &provider)
		switch {
		case a.Problem != "":
			i.unseen(check, a)
		case !strings.EqualFold(provider.RegistrationState, "Registered"):
			i.add(check, cloud.CheckFailed, "is %s in the subscription: run %s", cloud.Clean(provider.RegistrationState, 32),
				i.register(name))
		default:
			i.add(check, cloud.CheckOK, "is registered")
		}
	}
}
