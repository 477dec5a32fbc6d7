package seen

import (
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// plainMachine is a machine whose user data prove its marks.
func plainMachine() cloud.Machine {
	return cloud.Machine{
		Identity: cloud.Identity{Name: "m", ProviderID: Scheme + "5023a1b4-9c0d-6b8e-2f11-8a7c66000001"},
		Key:      cloud.Key{Namespace: "default", Name: "m"},
		Spec:     infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}},
		UserData: cloud.UserData("#ps1\nhello").Read, Proof: cloud.Proof{Own: true},
	}
}

func markedAs(value string) types.OptionValue { return types.OptionValue{Value: value} }
