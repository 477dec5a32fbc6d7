package bootstrap

import (
	"encoding/base64"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// How much user data a cloud carries. A guestinfo value ends at 64 KiB, and open-vm-tools needs some of that; Azure
// takes custom data of 65,535 bytes before base64.
const (
	maxGuestInfoBytes  = 60_000
	maxCustomDataBytes = 65_535
)

// GuestInfoReportKey is the guestinfo variable that a node on vSphere writes its reports to.
const GuestInfoReportKey = "guestinfo.capwin.report"

// cloud has how user data reaches a node, and how reports leave it.
type cloud struct {
	channels []plan.Channel
	// erase lists the copies of the user data that an image of this cloud keeps.
	erase []plan.Value
	// carries reports whether the cloud carries so much user data.
	carries     func(userData []byte) bool
	limit       string
	waitSeconds int // that cloudbase-init waits for us
	isAzure     bool
}

var vSphereCloud = cloud{
	channels: []plan.Channel{{
		Do:      plan.ChannelGuestInfo,
		Program: plan.Text(`C:\Program Files\VMware\VMware Tools\rpctool.exe`),
		Key:     GuestInfoReportKey,
	}},
	carries:     guestInfoCarries,
	limit:       "the 60000 bytes, as gzip and base64, that vSphere's guestinfo carries",
	waitSeconds: 60,
}

// azureCloud: the host agent gets failures only, and comes first because Azure acts on them. The serial ports get everything.
// Boot diagnostics keep the log of COM1, which Windows often holds for its own console; image-builder uses COM2.
var azureCloud = cloud{
	channels: []plan.Channel{
		{Do: plan.ChannelAzure, URL: "http://168.63.129.16"},
		{Do: plan.ChannelConsole, Port: "COM1"},
		{Do: plan.ChannelConsole, Port: "COM2"},
	},
	erase:   plan.Texts(`C:\AzureData\CustomData*`),
	carries: func(userData []byte) bool { return len(userData) <= maxCustomDataBytes },
	limit:   "the 65535 bytes that Azure accepts as custom data",

	// A failure counts there only until cloudbase-init has reported that the machine is ready; a join ends well within this time.
	waitSeconds: 900,
	isAzure:     true,
}

// cloudOf is the cloud that the spec names; the API allows exactly one. One that came to the API after this release is no other.
func cloudOf(spec infrav1.WindowsMachineSpec) (cloud, error) {
	switch {
	case spec.VSphere != nil:
		return vSphereCloud, nil
	case spec.Azure != nil:
		return azureCloud, nil
	}
	return cloud{}, step.Invalid("WindowsMachine spec",
		"this release of the bootstrap manager does not support the cloud; upgrade the manager, or use another WindowsMachineTemplate")
}

func (c cloud) fits(userData []byte) error {
	if c.carries(userData) {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec",
		"the user data has %d bytes, more than %s; use fewer or shorter files, scripts, labels and taints",
		len(userData), c.limit)
}

// gzipExtra is more than gzip adds to data that it cannot make smaller: a head, a tail, and 5 bytes in 64 KiB.
const gzipExtra = 64

// guestInfoCarries packs only what might be too much: it takes more time than all the rest of a rendering.
func guestInfoCarries(userData []byte) bool {
	if base64.StdEncoding.EncodedLen(len(userData)+gzipExtra) <= maxGuestInfoBytes {
		return true
	}
	return base64.StdEncoding.EncodedLen(len(scripts.Gzip(userData))) <= maxGuestInfoBytes
}
