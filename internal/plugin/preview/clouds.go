package preview

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// identify computes the identity of the VM, and refuses a spec that lacks what the VM needs. For a cloud without a provider in
// this release, the object must have the identity already.
func identify(windows *infrav1.WindowsMachine) (cloud.Identity, error) {
	if windows.Spec.VSphere != nil {
		if err := (vsphere.Provider{}).Check(windows); err != nil {
			return cloud.Identity{}, err
		}
		return vsphere.Provider{}.Identify(windows)
	}
	identity := cloud.Identity{Name: windows.Status.ComputerName, ProviderID: windows.Spec.ProviderID}
	if identity.Name == "" || identity.ProviderID == "" {
		return cloud.Identity{}, errors.New("this release does not run machines in Azure and cannot compute the VM's identity; " +
			"set spec.providerID and status.computerName")
	}
	return identity, nil
}

// Metadata returns the cloud-init metadata that names the computer, or nil if the cloud names it in another way.
func (m *Machine) Metadata() []byte {
	if m.Windows.Spec.VSphere == nil {
		return nil
	}
	return vsphere.Metadata(cloud.Machine{Identity: m.identity, Key: client.ObjectKeyFromObject(m.Windows), Spec: m.Windows.Spec})
}
