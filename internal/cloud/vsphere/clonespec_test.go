package vsphere

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func TestCloneSpec(t *testing.T) {
	ref := func(kind string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: "1"}
	}
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 8192}})
	at := placement{template: ref("VirtualMachine"), folder: ref("Folder"), pool: ref("ResourcePool")}
	got, err := cloneSpec(m, at)
	if err != nil {
		t.Fatal(err)
	}
	metadata := `{"instance-id":"` + idOf(m) + `","local-hostname":"` + m.Name + `"}`
	want := types.VirtualMachineCloneSpec{
		PowerOn:  true,
		Location: types.VirtualMachineRelocateSpec{Folder: &at.folder, Pool: &at.pool},
		Config: &types.VirtualMachineConfigSpec{
			Uuid: idOf(m), InstanceUuid: idOf(m), NumCPUs: 4, MemoryMB: 8192,
			ExtraConfig: []types.BaseOptionValue{
				&types.OptionValue{Key: "guestinfo.userdata", Value: pack(m.UserData)},
				&types.OptionValue{Key: "guestinfo.userdata.encoding", Value: "gzip+base64"},
				&types.OptionValue{Key: "guestinfo.metadata", Value: base64.StdEncoding.EncodeToString([]byte(metadata))},
				&types.OptionValue{Key: "guestinfo.metadata.encoding", Value: "base64"},
				&types.OptionValue{Key: "capwin.owner", Value: "default/m"},
				&types.OptionValue{Key: "capwin.providerID", Value: m.ProviderID},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	t.Run("datastore and network", func(t *testing.T) {
		store := ref("Datastore")
		at := at
		at.datastore = &store
		card := &types.VirtualVmxnet3{}
		card.Key, card.MacAddress = 4000, "00:50:56:00:00:01"
		at.adapter = reconnected(card, &types.VirtualEthernetCardNetworkBackingInfo{})
		got, err := cloneSpec(m, at)
		if err != nil || got.Location.Datastore == nil || len(got.Config.DeviceChange) != 1 {
			t.Fatalf("cloneSpec = %+v, %v", got, err)
		}
		device := got.Config.DeviceChange[0].GetVirtualDeviceConfigSpec()
		edited := object.VirtualDeviceList{device.Device}.SelectByType((*types.VirtualEthernetCard)(nil))
		if device.Operation != types.VirtualDeviceConfigSpecOperationEdit || len(edited) != 1 || card.MacAddress != "" || card.Backing == nil {
			t.Errorf("device change is %+v of %+v", device, card)
		}
	})
	t.Run("more user data than fits", func(t *testing.T) {
		m := m
		m.UserData = make(cloud.UserData, maxUserData)
		_, _ = rand.Read(m.UserData)
		_, err := cloneSpec(m, at)
		wantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	})
}
