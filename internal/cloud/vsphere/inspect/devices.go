package inspect

import (
	"fmt"

	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vim25/types"
)

// leastDisk is what we warn below: Windows with its page file takes about 20 GB, and a plan asks for 20 GiB of free space.
const leastDisk = 40 << 30

// devices are what a clone takes over of the template's disks and devices.
type devices struct {
	disks     []int64 // bytes
	snapshots bool
	linked    bool // its disks need those of another VM
	iso       bool // a CD drive that connects to one at each start
	encrypted bool // it is, or it has a virtual TPM, which has the same needs
}

// devicePaths are the properties that they are read from.
var devicePaths = []string{"config.hardware.device", "config.keyId", "snapshot"}

func devicesOf(p map[string]any) (d devices) {
	d.snapshots, d.encrypted = p["snapshot"] != nil, p["config.keyId"] != nil
	hardware, _ := p["config.hardware.device"].(types.ArrayOfVirtualDevice)
	for _, device := range hardware.VirtualDevice {
		switch typed := device.(type) {
		case *types.VirtualDisk:
			size := typed.CapacityInBytes
			if size == 0 {
				size = typed.CapacityInKB << 10
			}
			d.disks = append(d.disks, size)
			backing, ok := typed.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			d.linked = d.linked || ok && backing.Parent != nil
		case *types.VirtualCdrom:
			_, iso := typed.Backing.(*types.VirtualCdromIsoBackingInfo)
			d.iso = d.iso || iso && typed.Connectable != nil && typed.Connectable.StartConnected
		case *types.VirtualTPM:
			d.encrypted = true
		}
	}
	return d
}

// disksThere checks their size. The spec has none: a VM gets the template's.
func (d devices) disksThere() (Result, string) {
	switch {
	case len(d.disks) == 0:
		return Failed, "the template has none: choose another template"
	case d.disks[0] < leastDisk:
		return Warning, fmt.Sprintf("the first one has %s, which Windows, its page file, images and logs share: make it %s or larger "+
			"in the image", units.ByteSize(d.disks[0]), units.ByteSize(leastDisk))
	}
	return OK, fmt.Sprintf("%d, the first one with %s", len(d.disks), units.ByteSize(d.disks[0]))
}

// independence checks what the disks consist of. A VM is always cloned in full.
func (d devices) independence() (Result, string) {
	switch {
	case d.snapshots:
		return Warning, "the template has snapshots; a VM gets its current state, and each clone reads all of them: remove them"
	case d.linked:
		return Warning, "the template is a linked clone, which needs the disks of another VM: clone it in full, and use that"
	}
	return OK, "the template has no snapshots and is not a linked clone"
}

func (d devices) drives() (Result, string) {
	if d.iso {
		return Warning, "each VM connects the template's ISO, and may not start if the datastore of the ISO is away: disconnect it"
	}
	return OK, "no ISO is connected"
}

func (d devices) encryption() (Result, string) {
	if d.encrypted {
		return OK, "the template is encrypted, or has a virtual TPM, and so will each VM: the hosts must reach the key provider"
	}
	return OK, "the template is not encrypted and has no virtual TPM"
}
