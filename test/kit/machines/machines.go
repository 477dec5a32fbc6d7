// Package machines has machines for tests that need no API server, as the controllers hand them to a cloud.
package machines

import (
	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Hello is the user data of a machine.
var Hello = cloud.UserData("#ps1\nhello")

// VSphere is a machine for a vCenter, in the namespace default. Each name has an id of its own, and the user data prove the marks
// of its VM.
func VSphere(name string) cloud.Machine {
	return cloud.Machine{
		Identity: cloud.Identity{Name: name, ProviderID: "vsphere://" + uuid.NewSHA1(uuid.Nil, []byte(name)).String()},
		Key:      cloud.Key{Namespace: "default", Name: name},
		Spec:     infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}},
		UserData: Hello.Read, Proof: cloud.Proof{Own: true},
	}
}
