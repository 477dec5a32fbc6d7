package skus

import (
	"cmp"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// recheck is when a refused size is looked up again: a subscription may get access to it at any time.
const recheck = time.Hour

// Refuse returns why a VM of this size, zone and spec cannot be made in a region; nil if nothing speaks against it. No zone
// leaves that to Azure. A region without sizes is one that is not known.
func (s Sizes) Refuse(spec *infrav1.AzureVM, name, zone, location string) *cloud.Error {
	if len(s) == 0 {
		return nil
	}
	size, ok := s.Find(name)
	if wrong := size.offer(ok, zone); wrong != "" {
		return refuse(cloud.Exhausted, infrav1.SizeNotOfferedReason, name, location, wrong)
	}
	for _, r := range rules {
		if r.broken(size, spec, zone) {
			return refuse(cloud.Invalid, infrav1.SizeUnsuitableReason, name, location, r.wrong)
		}
	}
	return nil
}

func refuse(kind cloud.Kind, reason, name, location, wrong string) *cloud.Error {
	err := cloud.Errorf(kind, reason, "the size %s in %s %s", cloud.Clean(name, 64), cloud.Clean(location, 64), wrong)
	err.After = recheck
	return err
}

// offer returns why the subscription cannot have the size in the zone; empty if it can.
func (s Size) offer(listed bool, zone string) string {
	switch {
	case !listed:
		return "is not offered: correct its name, or " + advice
	case s.Barred:
		return "is not available to this subscription: ask Azure's support for access, or " + advice
	case zone != "" && len(s.Zones) == 0:
		return "is not offered in zones to this subscription: remove the zones, or " + advice
	case zone != "" && !slices.Contains(s.Zones, zone):
		return "is not offered in zone " + cloud.Clean(zone, 64) + " to this subscription, but in " + strings.Join(s.Zones, ", ") +
			": use one of them, or " + advice
	}
	return ""
}

// rule is a reason why a size cannot do what a spec asks, with what to do.
type rule struct {
	broken func(s Size, spec *infrav1.AzureVM, zone string) bool
	wrong  string
}

const advice = "use another size in a new WindowsMachineTemplate"

// rules are in the order in which they are reported. The first one that is broken counts.
var rules = []rule{
	{func(s Size, _ *infrav1.AzureVM, _ string) bool {
		return strings.EqualFold(s.facts["CpuArchitectureType"], "Arm64")
	}, "has Arm processors, for which there is no Kubernetes on Windows: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return s.lacks("AcceleratedNetworkingEnabled") && slices.ContainsFunc(spec.NetworkInterfaces, accelerated)
	}, "cannot have accelerated networking: " + advice + ", or leave out acceleratedNetworking"},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return s.fewer("MaxNetworkInterfaces", float64(len(spec.NetworkInterfaces)))
	}, "cannot have so many adapters as spec.azure.networkInterfaces: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return s.fewer("MaxDataDiskCount", float64(len(spec.DataDisks)))
	}, "cannot have so many disks as spec.azure.dataDisks: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return s.lacks("PremiumIO") && (premium(string(spec.OSDisk.Type)) || slices.ContainsFunc(spec.DataDisks, isPremium))
	}, "cannot have premium disks: " + advice + ", or another type of disk"},
	{Size.withoutUltra, "cannot have disks of the type UltraSSD_LRS here: " + advice + ", or another zone or type of disk"},
	{Size.withoutEphemeral, "has no room for the ephemeral disk: " + advice + ", or another osDisk.ephemeralPlacement or sizeGiB"},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		types := cmp.Or(s.facts["DiskControllerTypes"], "SCSI") // which older sizes leave out
		return spec.DiskController != "" && !strings.Contains(strings.ToLower(types), strings.ToLower(string(spec.DiskController)))
	}, "does not have the diskController of the spec: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return spec.Priority == infrav1.AzurePrioritySpot && s.lacks("LowPriorityCapable")
	}, "cannot have the priority Spot: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return spec.SecurityProfile.EncryptionAtHost == infrav1.AzureEnabled && s.lacks("EncryptionAtHostSupported")
	}, "cannot have encryptionAtHost: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		generations := s.facts["HyperVGenerations"]
		old := generations != "" && !strings.Contains(generations, "V2")
		return spec.SecurityProfile.SecurityType == infrav1.AzureTrustedLaunch && (old || s.isTrue("TrustedLaunchDisabled"))
	}, "cannot have the securityType TrustedLaunch: " + advice},
	{func(s Size, spec *infrav1.AzureVM, _ string) bool {
		return spec.SecurityProfile.SecurityType == infrav1.AzureConfidentialVM && s.facts["ConfidentialComputingType"] == ""
	}, "cannot have the securityType ConfidentialVM: " + advice},
}

func accelerated(adapter infrav1.AzureNetworkInterface) bool {
	return adapter.AcceleratedNetworking == infrav1.AzureEnabled
}

func premium(kind string) bool { return strings.HasPrefix(kind, "Premium") }

func isPremium(disk infrav1.AzureDataDisk) bool { return premium(string(disk.Type)) }

// withoutUltra reports whether a size cannot have the fastest disks in a zone, or anywhere if Azure chooses.
func (s Size) withoutUltra(spec *infrav1.AzureVM, zone string) bool {
	wanted := spec.UltraSSD == infrav1.AzureEnabled || slices.ContainsFunc(spec.DataDisks, func(disk infrav1.AzureDataDisk) bool {
		return disk.Type == infrav1.AzureUltraSSD
	})
	if zone == "" {
		return wanted && !s.isTrue("UltraSSDAvailable") && len(s.ultra) == 0
	}
	return wanted && !slices.Contains(s.ultra, zone)
}

// rooms are where an ephemeral disk may be, and how many units of the fact are a GiB.
var rooms = map[infrav1.AzureEphemeralPlacement]struct {
	fact  string
	units float64
}{
	infrav1.AzureEphemeralCache:    {"CachedDiskBytes", 1 << 30},
	infrav1.AzureEphemeralResource: {"MaxResourceVolumeMB", 1 << 10},
	infrav1.AzureEphemeralNVMe:     {"NvmeDiskSizeInMiB", 1 << 10},
}

// withoutEphemeral reports whether there is no room for an ephemeral disk. If the spec leaves its size to the image, any room
// will do.
func (s Size) withoutEphemeral(spec *infrav1.AzureVM, _ string) bool {
	if spec.OSDisk.EphemeralPlacement == "" {
		return false
	}
	room := rooms[spec.OSDisk.EphemeralPlacement]
	return s.lacks("EphemeralOSDiskSupported") || s.fewer(room.fact, float64(max(spec.OSDisk.SizeGiB, 1))*room.units)
}
