package lists

import (
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

var (
	blueGroup  = arm.GroupID(armsim.Subscription, "blue")
	otherGroup = arm.GroupID(armsim.Subscription, "other")
	blueVM     = blueGroup.VM("win-1")
	blueNIC    = blueGroup.Adapter("win-1-node")
	blueNoon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// blueID is an ID that Azure itself gives.
const blueID = "11111111-aaaa-bbbb-cccc-555555555555"

// blueMachine is a machine with an adapter and a data disk.
func blueMachine() cloud.Machine {
	return cloud.Machine{
		Identity: cloud.Identity{Name: "win-1", ProviderID: arm.ProviderID(blueVM)}, Key: cloud.Key{Namespace: "team", Name: "m"},
		Cluster: cloud.ClusterMark{Name: "blue", UID: "u", Manager: "here"}, Proof: cloud.Proof{Own: true},
		Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
			DataDisks: []infrav1.AzureDataDisk{{Name: "Data"}}, NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node"}},
		}},
	}
}

func blueMark() cloud.Marked {
	m := blueMachine()
	return cloud.Marked{Key: m.Key, ProviderID: m.ProviderID, Cluster: m.Cluster}
}

// names are those of keys, in order.
func names(keys []cloud.Key) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// stateIn is what is known of a group, for a test whose goroutine is the only one.
func stateIn(s *Scope) *State { return &s.value }

// powersIn is what is known of the power states of a subscription, for such a test.
func powersIn(p *Powers) *PowerState { return &p.value }
