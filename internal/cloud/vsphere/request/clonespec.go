// Package request is the request that clones a template: what a VM is made of, its user data, its marks and its adapters.
package request

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// MaxUserData is how many bytes of packed user data a guest can read: VMware Tools accept 64 KiB in one guestinfo value, and
// we leave some room.
const MaxUserData = 60_000

// CloneSpec puts all that a VM needs into one request, so that there is no second request that could be lost.
func CloneSpec(m cloud.Machine, data cloud.UserData, placement places.Placement) (types.VirtualMachineCloneSpec, error) {
	extra, err := guestinfo(m, data)
	if err != nil {
		return types.VirtualMachineCloneSpec{}, err
	}
	config := &types.VirtualMachineConfigSpec{
		// The guest sees Uuid in its firmware, where the cloud provider reads it as well. The vCenter finds VMs by
		// InstanceUuid and keeps it unique.
		Uuid:              seen.IDOf(m),
		InstanceUuid:      seen.IDOf(m),
		NumCPUs:           m.Spec.VSphere.CPUs,
		NumCoresPerSocket: coresPerSocket(*m.Spec.VSphere, placement.CoresPerSocket),
		MemoryMB:          int64(m.Spec.VSphere.MemoryMiB),
		NestedHVEnabled:   nested(m.Spec.VSphere.NestedVirtualization),
		ExtraConfig:       extra,
		DeviceChange:      AdapterChanges(placement, m.NetworkInterfaces),
		VAppConfigRemoved: placement.VAppConfig,
	}
	return types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Folder: &placement.Folder, Pool: &placement.Pool, Datastore: placement.Datastore},
		Config:   config, PowerOn: true,
	}, nil
}

// coresPerSocket groups the CPUs as in the spec. Otherwise they stay grouped as the template's, unless their number does not
// allow that, which the vCenter would refuse.
func coresPerSocket(spec infrav1.VSphereVM, ofTemplate int32) *int32 {
	switch {
	case spec.CoresPerSocket > 0:
		return &spec.CoresPerSocket
	case ofTemplate > 0 && spec.CPUs%ofTemplate != 0:
		return new(int32(1))
	}
	return nil
}

// nested is nil where the template decides.
func nested(wanted infrav1.NestedVirtualization) *bool {
	if wanted == "" {
		return nil
	}
	return new(wanted == infrav1.NestedVirtualizationEnabled)
}

// guestinfo returns what cloudbase-init reads in the guest, and our marks. A template that was a node itself may have a report,
// or a mark, of that life: an empty value removes its key.
func guestinfo(m cloud.Machine, data cloud.UserData) ([]types.BaseOptionValue, error) {
	userData := pack(data)
	if len(userData) > MaxUserData {
		return nil, cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
			"the packed user data has %d bytes, but a vSphere guest can read only %d: put less into the files and commands of the "+
				"bootstrap configuration", len(userData), MaxUserData)
	}
	var options []types.BaseOptionValue
	for _, o := range []struct{ key, value string }{
		{seen.UserDataKey, userData},
		{seen.UserDataEncodingKey, "gzip+base64"},
		{"guestinfo.metadata", base64.StdEncoding.EncodeToString(Metadata(m))},
		{"guestinfo.metadata.encoding", "base64"},
		{seen.MarkOwner, m.Key.String()},
		{seen.MarkProviderID, m.ProviderID},
		{seen.MarkCluster, m.Cluster.String()},
		{seen.MarkDigest, cloud.DigestOf(m.ProviderID, data)},
		{seen.MarkUserData, seen.Given},
		{seen.ReportKey, ""},
		{seen.DiskUUIDKey, "TRUE"},
	} {
		options = append(options, &types.OptionValue{Key: o.key, Value: o.value})
	}
	return options, nil
}

// Metadata returns what cloudbase-init reads in the guest as guestinfo.metadata, unpacked.
func Metadata(m cloud.Machine) []byte {
	text, _ := json.Marshal(map[string]string{"instance-id": seen.IDOf(m), "local-hostname": m.Name}) // JSON has a form for any text
	return text
}

func pack(data []byte) string {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // fails only for a level that there is not
	_, _ = w.Write(data)                                       // a Buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}
