package compute

import (
	"slices"
	"strconv"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Size is a VM size with the facts that ARM's list of SKUs tells of it.
type Size struct {
	Name, Family string
	Cores        int
	MemoryGB     float64
	Zones        []string
	// What it can do.
	Accelerated, Premium, Spot, HostEncryption, NVMe, Hibernation bool
	// Ultra are the zones with disks of the type UltraSSD_LRS.
	Ultra []string
	// CacheGB and ResourceGB are the rooms for an ephemeral disk, 0 for none.
	CacheGB, ResourceGB int
	// MaxDisks and MaxNICs are how many a VM may have.
	MaxDisks, MaxNICs int
	// Generations are "V1", "V2" or "V1,V2". NoTrusted is a size without trusted launch; Confidential is SNP, TDX or "".
	Generations, Confidential string
	NoTrusted                 bool
	CPU                       string
}

// Sizes are those of the simulated regions, with figures of the public documentation [D].
var Sizes = []Size{
	{
		Name: "Standard_D2s_v5", Family: "standardDSv5Family", Cores: 2, MemoryGB: 8, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, MaxDisks: 4, MaxNICs: 2, Generations: "V1,V2", CPU: "x64",
	},
	{
		Name: "Standard_D4s_v5", Family: "standardDSv5Family", Cores: 4, MemoryGB: 16, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, MaxDisks: 8, MaxNICs: 2, Generations: "V1,V2", CPU: "x64",
	},
	{
		Name: "Standard_D8s_v5", Family: "standardDSv5Family", Cores: 8, MemoryGB: 32, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, MaxDisks: 16, MaxNICs: 4, Generations: "V1,V2", CPU: "x64",
	},
	{
		Name: "Standard_D4ds_v5", Family: "standardDDSv5Family", Cores: 4, MemoryGB: 16, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, CacheGB: 100, ResourceGB: 150, MaxDisks: 8, MaxNICs: 2,
		Generations: "V1,V2", CPU: "x64", Ultra: abc[:1],
	},
	{
		Name: "Standard_D4as_v5", Family: "standardDASv5Family", Cores: 4, MemoryGB: 16, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, MaxDisks: 8, MaxNICs: 2, Generations: "V1,V2", CPU: "x64",
	},
	{
		Name: "Standard_DC4as_v5", Family: "standardDCASv5Family", Cores: 4, MemoryGB: 16, Zones: abc[:2],
		Premium: true, Spot: true, MaxDisks: 8, MaxNICs: 2, Generations: "V2", Confidential: "SNP", CPU: "x64",
	},
	{
		Name: "Standard_B2s", Family: "standardBSFamily", Cores: 2, MemoryGB: 4, Zones: abc, Premium: true, MaxDisks: 4, MaxNICs: 3,
		Generations: "V1,V2", CPU: "x64",
	},
	{
		Name: "Standard_D2ps_v5", Family: "standardDPSv5Family", Cores: 2, MemoryGB: 8, Zones: abc, Accelerated: true,
		Premium: true, Spot: true, MaxDisks: 4, MaxNICs: 2, Generations: "V2", NoTrusted: true, CPU: "Arm64",
	},
	{
		Name: "Standard_E2ds_v6", Family: "standardEDSv6Family", Cores: 2, MemoryGB: 16, Zones: abc[1:], Accelerated: true,
		Premium: true, Spot: true, HostEncryption: true, NVMe: true, ResourceGB: 110, MaxDisks: 8, MaxNICs: 2,
		Generations: "V2", CPU: "x64",
	},
	{
		Name: "Standard_A1_v2", Family: "standardAv2Family", Cores: 1, MemoryGB: 2, Spot: true, MaxDisks: 2, MaxNICs: 2,
		Generations: "V1", NoTrusted: true, CPU: "x64",
	},
}

var abc = []string{"1", "2", "3"}

// FindSize looks a size up, in any case.
func FindSize(name string) (Size, bool) {
	at := slices.IndexFunc(Sizes, func(s Size) bool { return doc.Same(s.Name, name) })
	if at < 0 {
		return Size{}, false
	}
	return Sizes[at], true
}

// SKUs is the list Microsoft.Compute/skus for a region: VM sizes and a kind of disks, as ARM mixes them.
func (c *Compute) SKUs(location string) []doc.Object {
	all := []doc.Object{{
		"resourceType": "disks", "name": "Premium_LRS", "tier": "Premium", "size": "P10", "locations": []any{location},
		"locationInfo": doc.Objects(doc.Object{"location": location, "zones": texts(abc...)}), "capabilities": []any{},
		"restrictions": []any{},
	}}
	for _, s := range Sizes {
		all = append(all, c.sku(s, location))
	}
	return all
}

func (c *Compute) sku(s Size, location string) doc.Object {
	return doc.Object{
		"resourceType": "virtualMachines", "name": s.Name, "tier": "Standard", "size": s.Name[len("Standard_"):], "family": s.Family,
		"locations":    []any{location},
		"locationInfo": doc.Objects(doc.Object{"location": location, "zones": texts(s.Zones...), "zoneDetails": s.details()}),
		"capabilities": s.capabilities(), "restrictions": c.restrictions(s, location),
	}
}

// details are what a size can do in some of its zones only.
func (s Size) details() []any {
	if len(s.Ultra) == 0 {
		return []any{}
	}
	return doc.Objects(doc.Object{
		"Name": texts(s.Ultra...), "capabilities": doc.Objects(doc.Object{"name": "UltraSSDAvailable", "value": "True"}),
	})
}

// capabilities are pairs of texts, whatever they mean [D].
func (s Size) capabilities() []any {
	title := func(b bool) string {
		if b {
			return "True"
		}
		return "False"
	}
	controllers := "SCSI"
	if s.NVMe {
		controllers = "NVMe"
	}
	var all []any
	for _, pair := range [][2]string{
		{"vCPUs", strconv.Itoa(s.Cores)},
		{"vCPUsAvailable", strconv.Itoa(s.Cores)},
		{"MemoryGB", strconv.FormatFloat(s.MemoryGB, 'f', -1, 64)},
		{"MaxDataDiskCount", strconv.Itoa(s.MaxDisks)},
		{"MaxNetworkInterfaces", strconv.Itoa(s.MaxNICs)},
		{"CpuArchitectureType", s.CPU},
		{"HyperVGenerations", s.Generations},
		{"AcceleratedNetworkingEnabled", title(s.Accelerated)},
		{"PremiumIO", title(s.Premium)},
		{"LowPriorityCapable", title(s.Spot)},
		{"EncryptionAtHostSupported", title(s.HostEncryption)},
		{"HibernationSupported", title(s.Hibernation)},
		{"TrustedLaunchDisabled", title(s.NoTrusted)},
		{"EphemeralOSDiskSupported", title(s.CacheGB > 0 || s.ResourceGB > 0)},
		{"CachedDiskBytes", strconv.Itoa(s.CacheGB << 30)},
		{"MaxResourceVolumeMB", strconv.Itoa(s.ResourceGB << 10)},
		{"DiskControllerTypes", controllers},
		{"ConfidentialComputingType", s.Confidential},
	} {
		if pair[1] != "" {
			all = append(all, doc.Object{"name": pair[0], "value": pair[1]})
		}
	}
	return all
}

// restrictions are zones, or the whole region, where the subscription may not use the size [D].
func (c *Compute) restrictions(s Size, location string) []any {
	if c.Faults.Restricted == nil {
		return []any{}
	}
	var zones []string
	for _, z := range s.Zones {
		if c.Faults.Restricted(s.Name, z) {
			zones = append(zones, z)
		}
	}
	all := []any{}
	if len(zones) > 0 {
		all = append(all, doc.Object{
			"type": "Zone", "values": []any{location}, "reasonCode": "NotAvailableForSubscription",
			"restrictionInfo": doc.Object{"locations": []any{location}, "zones": texts(zones...)},
		})
	}
	if c.Faults.Restricted(s.Name, "") {
		all = append(all, doc.Object{
			"type": "Location", "values": []any{location}, "reasonCode": "NotAvailableForSubscription",
			"restrictionInfo": doc.Object{"locations": []any{location}},
		})
	}
	return all
}

func texts(all ...string) []any {
	list := make([]any, len(all))
	for i, s := range all {
		list[i] = s
	}
	return list
}
