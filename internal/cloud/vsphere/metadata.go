package vsphere

import (
	"encoding/json"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Metadata is what cloudbase-init reads in the guest as guestinfo.metadata, unpacked.
func Metadata(m cloud.Machine) ([]byte, error) {
	return json.Marshal(map[string]string{"instance-id": idOf(m), "local-hostname": m.Name})
}
