// Package skus finds out what the VM sizes of a region can do for a subscription, from Azure's list of them. It calls nothing and
// remembers nothing. What the list lacks about a size is not held against it: Azure itself has the last word.
package skus

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Listed is one entry of Azure's list, as far as we read it. The list has disks and other things, too.
type Listed struct {
	ResourceType, Name string
	Family             string
	LocationInfo       []struct {
		Location    string
		Zones       []string
		ZoneDetails []struct {
			Name         []string
			Capabilities []Capability
		}
	}
	Capabilities []Capability
	Restrictions []struct {
		Type            string
		RestrictionInfo struct{ Zones []string }
	}
}

// Capability is a fact of a size, as text.
type Capability struct{ Name, Value string }

// Size is a VM size in a region.
type Size struct {
	Name            string
	CPUs, MemoryMiB int64
	// Family is what the size has its quota with.
	Family string
	// Zones are those in which the subscription may use the size. Barred is true if it may not in the whole region.
	Zones  []string
	Barred bool
	// Accelerated is true if the size is known to have accelerated networking.
	Accelerated bool

	facts map[string]string
	ultra []string // zones with disks of the type UltraSSD_LRS
}

// Sizes are those of a region, by their names in lower case.
type Sizes map[string]Size

// Find looks a size up by its name, in any case.
func (s Sizes) Find(name string) (Size, bool) {
	found, ok := s[strings.ToLower(name)]
	return found, ok
}

// Location is the short name of a region, however it is written: small letters and digits.
func Location(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// Index are sizes by their names.
func Index(list []Size) Sizes {
	sizes := Sizes{}
	for _, size := range list {
		sizes[strings.ToLower(size.Name)] = size
	}
	return sizes
}

// Read reads an entry of Azure's list for a region; false if it is no size.
func Read(entry Listed, location string) (s Size, ok bool) {
	if !strings.EqualFold(entry.ResourceType, "virtualMachines") || entry.Name == "" {
		return s, false
	}
	s = Size{Name: cloud.Clean(entry.Name, 64), Family: cloud.Clean(entry.Family, 64), facts: map[string]string{}}
	for _, c := range entry.Capabilities {
		if slices.Contains(used, c.Name) {
			s.facts[c.Name] = c.Value
		}
	}
	s.CPUs = int64(max(s.number("vCPUs"), 0))
	s.MemoryMiB = int64(max(s.number("MemoryGB"), 0) * 1024)
	s.Accelerated = s.isTrue("AcceleratedNetworkingEnabled")
	for _, info := range entry.LocationInfo {
		if Location(info.Location) != Location(location) {
			continue
		}
		s.Zones = slices.Clone(info.Zones)
		for _, detail := range info.ZoneDetails {
			if slices.ContainsFunc(detail.Capabilities, isUltra) {
				s.ultra = append(s.ultra, detail.Name...)
			}
		}
	}
	for _, r := range entry.Restrictions {
		switch {
		case strings.EqualFold(r.Type, "Location"):
			s.Barred = true
		case strings.EqualFold(r.Type, "Zone"):
			s.Zones = slices.DeleteFunc(s.Zones, func(zone string) bool { return slices.Contains(r.RestrictionInfo.Zones, zone) })
		}
	}
	return s, true
}

func isUltra(c Capability) bool {
	return c.Name == "UltraSSDAvailable" && strings.EqualFold(c.Value, "true")
}

// used are the facts that we keep of a size: a region has a thousand of them.
var used = []string{
	"vCPUs", "MemoryGB", "AcceleratedNetworkingEnabled", "CpuArchitectureType", "PremiumIO", "LowPriorityCapable",
	"EncryptionAtHostSupported", "TrustedLaunchDisabled", "HyperVGenerations", "ConfidentialComputingType", "DiskControllerTypes",
	"EphemeralOSDiskSupported", "CachedDiskBytes", "MaxResourceVolumeMB", "NvmeDiskSizeInMiB", "MaxDataDiskCount",
	"MaxNetworkInterfaces", "UltraSSDAvailable",
}

// Starts reports whether the size can start an image of a generation, V1 or V2, as far as that is known.
func (s Size) Starts(generation string) bool {
	generations := strings.ToUpper(s.facts["HyperVGenerations"])
	return generation == "" || generations == "" || slices.Contains(strings.Split(generations, ","), strings.ToUpper(generation))
}

// isTrue reports whether a fact is known to be true, and lacks whether it is known to be false.
func (s Size) isTrue(fact string) bool { return strings.EqualFold(s.facts[fact], "true") }
func (s Size) lacks(fact string) bool  { return strings.EqualFold(s.facts[fact], "false") }

// number is a fact that is a number; -1 if it is not known.
func (s Size) number(fact string) float64 {
	n, err := strconv.ParseFloat(s.facts[fact], 64)
	if err != nil {
		return -1
	}
	return n
}

// fewer reports whether a number is known and less than wanted.
func (s Size) fewer(fact string, wanted float64) bool {
	n := s.number(fact)
	return n >= 0 && n < wanted
}
