// Package vsphere makes the VMs of WindowsMachines in vCenters, by cloning templates.
//
// One session serves an account. One property collector watches its VMs and the tasks that are under way, so that
// nothing is asked while nothing changes. Whose VM it is stands on the VM itself; what this process remembers only saves
// it from asking, or makes it more careful.
package vsphere

import (
	"strings"

	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const scheme = "vsphere://"

// identities is the namespace of the ids that are derived from UIDs. It must never change: the ids of machines whose
// spec.providerID is not written yet follow from it.
var identities = uuid.MustParse("6f1d3c52-0a5f-4c0e-9d55-2f8a7b1e64c3")

// Provider is vSphere.
type Provider struct{}

var _ cloud.Provider = Provider{}

// Identify derives the VM's UUID from the machine's UID, once: from then on spec.providerID holds it, also when
// clusterctl move or a restored backup has given the machine another UID.
func (Provider) Identify(m *infrav1.WindowsMachine) (cloud.Identity, error) {
	if m.Spec.ProviderID == "" && m.UID == "" {
		return cloud.Identity{}, cloud.Errorf(cloud.Transient, "", "the API server has not given the machine a UID yet")
	}
	id := uuid.NewSHA1(identities, []byte(m.UID)).String()
	if m.Spec.ProviderID != "" {
		id = strings.TrimPrefix(m.Spec.ProviderID, scheme)
		parsed, err := uuid.Parse(id)
		if err != nil || scheme+parsed.String() != m.Spec.ProviderID {
			return cloud.Identity{}, cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
				"spec.providerID %q is not that of a vSphere VM, which is vsphere:// and a UUID in small letters: "+
					"delete the Machine, no VM was made for it; the controller writes one where it is left out", m.Spec.ProviderID)
		}
	}
	return cloud.Identity{Name: cloud.ComputerName(m.Name, id), ProviderID: scheme + id}, nil
}

// CredentialsOf names the Secret that the spec refers to.
func (Provider) CredentialsOf(m *infrav1.WindowsMachine) string {
	if m.Spec.VSphere == nil {
		return ""
	}
	return m.Spec.VSphere.CredentialsRef.Name
}

// Connect checks the credentials. The vCenter is asked by the first call that needs it.
func (Provider) Connect(credentials map[string][]byte) (cloud.Cloud, error) {
	to, err := parseEndpoint(credentials)
	if err != nil {
		return nil, err
	}
	return newAccount(to), nil
}

// idOf is the UUID of a machine's VM.
func idOf(m cloud.Machine) string { return strings.TrimPrefix(m.ProviderID, scheme) }
