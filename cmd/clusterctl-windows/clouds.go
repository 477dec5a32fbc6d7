package main

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// identify asks the machine's cloud who its VM is. Of a cloud that this release runs no machines in, only what others
// have written down is known.
func identify(windows *infrav1.WindowsMachine) (cloud.Identity, error) {
	if windows.Spec.VSphere != nil {
		return vsphere.Provider{}.Identify(windows)
	}
	identity := cloud.Identity{Name: windows.Status.ComputerName, ProviderID: windows.Spec.ProviderID}
	if identity.Name == "" || identity.ProviderID == "" {
		return cloud.Identity{}, errors.New("this release runs no machines in Azure and cannot tell who the VM will be: " +
			"write spec.providerID and status.computerName")
	}
	return identity, nil
}

// metadata is what names the computer in its guest, nil where the cloud has another way.
func metadata(m *machine) ([]byte, error) {
	if m.windows.Spec.VSphere == nil {
		return nil, nil
	}
	return vsphere.Metadata(cloud.Machine{Identity: m.identity, Key: client.ObjectKeyFromObject(m.windows), Spec: m.windows.Spec})
}
