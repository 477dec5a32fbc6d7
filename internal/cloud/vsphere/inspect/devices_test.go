package inspect

import (
	"maps"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// TestDevices: what a template's disks and devices mean for a VM, at each limit.
func TestDevices(t *testing.T) {
	disk := func(bytes int64, parent *types.VirtualDiskFlatVer2BackingInfo) types.BaseVirtualDevice {
		d := &types.VirtualDisk{CapacityInBytes: bytes}
		d.Backing = &types.VirtualDiskFlatVer2BackingInfo{Parent: parent}
		return d
	}
	drive := func(backing types.BaseVirtualDeviceBackingInfo, connect *types.VirtualDeviceConnectInfo) types.BaseVirtualDevice {
		d := &types.VirtualCdrom{}
		d.Backing, d.Connectable = backing, connect
		return d
	}
	base := &types.VirtualDiskFlatVer2BackingInfo{}
	iso, connected := &types.VirtualCdromIsoBackingInfo{}, &types.VirtualDeviceConnectInfo{StartConnected: true}
	disks, whole, drives, encryption := devices.disksThere, devices.independence, devices.drives, devices.encryption
	for name, c := range map[string]struct {
		check   func(devices) (Result, string)
		devices []types.BaseVirtualDevice
		other   map[string]any
		want    Result
		says    string
	}{
		"no disk":        {disks, nil, nil, Failed, "none"},
		"a small disk":   {disks, []types.BaseVirtualDevice{disk(leastDisk-1, nil)}, nil, Warning, "40.0GB or larger"},
		"a disk":         {disks, []types.BaseVirtualDevice{disk(leastDisk, nil)}, nil, OK, "1, the first one with 40.0GB"},
		"more disks":     {disks, []types.BaseVirtualDevice{disk(leastDisk, nil), disk(1, nil)}, nil, OK, "2, "},
		"an old vCenter": {disks, []types.BaseVirtualDevice{&types.VirtualDisk{CapacityInKB: leastDisk >> 10}}, nil, OK, "40.0GB"},

		"whole":     {whole, []types.BaseVirtualDevice{disk(1, nil)}, nil, OK, "no snapshots"},
		"linked":    {whole, []types.BaseVirtualDevice{disk(1, base), disk(1, nil)}, nil, Warning, "in full"},
		"snapshots": {whole, nil, map[string]any{"snapshot": types.VirtualMachineSnapshotInfo{}}, Warning, "remove them"},

		"no drive":          {drives, nil, nil, OK, "no ISO"},
		"an empty drive":    {drives, []types.BaseVirtualDevice{drive(&types.VirtualCdromAtapiBackingInfo{}, connected)}, nil, OK, ""},
		"an ISO":            {drives, []types.BaseVirtualDevice{drive(iso, connected)}, nil, Warning, "disconnect"},
		"a loose ISO":       {drives, []types.BaseVirtualDevice{drive(iso, &types.VirtualDeviceConnectInfo{})}, nil, OK, ""},
		"an ISO, who knows": {drives, []types.BaseVirtualDevice{drive(iso, nil)}, nil, OK, ""},
		"two drives":        {drives, []types.BaseVirtualDevice{drive(iso, connected), drive(iso, nil)}, nil, Warning, ""},

		"plain":     {encryption, []types.BaseVirtualDevice{disk(1, nil)}, nil, OK, ""},
		"TPM":       {encryption, []types.BaseVirtualDevice{&types.VirtualTPM{}}, nil, OK, "the hosts must reach the key provider"},
		"encrypted": {encryption, nil, map[string]any{"config.keyId": types.CryptoKeyId{}}, OK, "must reach the key provider"},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]any{"config.hardware.device": types.ArrayOfVirtualDevice{VirtualDevice: c.devices}}
			maps.Copy(p, c.other)
			if got, says := c.check(devicesOf(p)); got != c.want || !strings.Contains(says, c.says) {
				t.Errorf("%s %q, want %s and %q", got, says, c.want, c.says)
			}
		})
	}
}
