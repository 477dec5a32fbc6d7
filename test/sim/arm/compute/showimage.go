package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// ManagedImage is the type of an image that is in no gallery.
const ManagedImage = Provider + "/images"

// ShowImage is a GET of a managed image, of an image in a gallery or the marketplace, or of a version; nil if there is none.
func (c *Compute) ShowImage(id doc.ID, list bool) doc.Object {
	name, version := nameOf(id)
	i, found := c.image(name)
	switch {
	case !found:
		return nil
	case list:
		var all []doc.Object
		for _, one := range i.Versions {
			all = append(all, i.show(id.String()+"/versions/"+one, one))
		}
		return doc.Object{"value": doc.Objects(all...)}
	case version != "" && !slices.Contains(i.Versions, version):
		return nil
	}
	return i.show(id.String(), id.Name())
}

func (i Image) show(id, name string) doc.Object {
	system := "Windows"
	if i.Linux {
		system = "Linux"
	}
	properties := doc.Object{
		"provisioningState": "Succeeded", "osType": system, // of a gallery
		"storageProfile": doc.Object{"osDisk": doc.Object{"osType": system, "diskSizeGB": i.SizeGB}}, // of a managed image
		"osDiskImage":    doc.Object{"operatingSystem": system, "sizeInGb": i.SizeGB},                // of the marketplace
	}
	if i.Generation != "" {
		properties["hyperVGeneration"] = i.Generation
	}
	if parts := strings.Split(i.Plan, "/"); len(parts) == 3 {
		properties["plan"] = doc.Object{"publisher": parts[0], "product": parts[1], "name": parts[2]}
	}
	var regions []any
	for _, region := range i.Regions {
		regions = append(regions, doc.Object{"name": region})
	}
	if regions != nil {
		properties["publishingProfile"] = doc.Object{"targetRegions": regions}
	}
	return doc.Object{"id": id, "name": name, "properties": properties}
}

// nameOf is the name by which an image is kept, and the version that an id ends in.
func nameOf(id doc.ID) (name, version string) {
	types, names := id.Types, slices.Clone(id.Names)
	if last := len(types) - 1; doc.Same(types[last], "versions") {
		version, types, names = names[last], types[:last], names[:last]
	}
	switch {
	case len(types) == 5 && doc.Same(types[1], "publishers"):
		return names[1] + "/" + names[3] + "/" + names[4], version
	case len(types) == 3 && doc.Same(types[1], "communityGalleries"):
		return "/CommunityGalleries/" + names[1] + "/Images/" + names[2], version
	}
	id.Types, id.Names = types, names
	return id.String(), version
}

// suits refuses a VM's settings that an image is not made for.
func (i Image) suits(body doc.Object) *reply.Error {
	security := doc.Text(body, "properties", "securityProfile", "securityType")
	switch {
	case i.Linux && doc.Has(body, "properties", "osProfile", "windowsConfiguration"):
		// [V azvmimagebuilder #51, the other way round]
		return reply.InvalidParameter("windowsConfiguration", "The value of parameter windowsConfiguration is invalid.")
	case i.Generation == "V1" && (security == "TrustedLaunch" || security == "ConfidentialVM"):
		// [V azure-cli #27975]
		return reply.New(http.StatusBadRequest, "BadRequest", "Use of %s setting is not supported for the provided image. Please "+
			"select Trusted Launch Supported Gen2 OS Image. For more information, see https://aka.ms/TrustedLaunch-FAQ.", security)
	}
	return nil
}

// canBoot refuses an image of a generation that a size does not start [D].
func (s Size) canBoot(i Image) *reply.Error {
	if i.Generation == "" || strings.Contains(s.Generations, i.Generation) {
		return nil
	}
	generation := strings.TrimPrefix(i.Generation, "V")
	return reply.New(http.StatusBadRequest, "BadRequest", "The selected VM size '%s' cannot boot Hypervisor Generation '%s'. If "+
		"this was a Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of "+
		"the selected VM Size. If this was an Update operation please select a Hypervisor Generation '%s' VM Size.", s.Name, generation,
		generation)
}

// plenty is the limit of what has no quota of its own here.
const plenty = 100_000

// Usages are the quotas of a region and what is used of them [D].
func (c *Compute) Usages(of doc.ID) []doc.Object {
	mine := func(m *machine) bool { return doc.Same(m.r.ID.Subscription, of.Subscription) }
	usage := func(name string, limit int, of func(*machine) bool) doc.Object {
		return doc.Object{
			"unit": "Count", "limit": limit, "currentValue": c.cores(of), "name": doc.Object{"value": name, "localizedValue": name},
		}
	}
	spot := plenty
	if c.Faults.SpotCores != nil {
		spot = *c.Faults.SpotCores
	}
	regional, limited := c.Faults.Cores[AllCores]
	if !limited {
		regional = plenty
	}
	all := []doc.Object{
		usage(AllCores, regional, func(m *machine) bool { return mine(m) && !m.spot }),
		usage("lowPriorityCores", spot, func(m *machine) bool { return mine(m) && m.spot }),
	}
	seen := map[string]bool{}
	for _, s := range Sizes {
		if seen[s.Family] {
			continue
		}
		seen[s.Family] = true
		limit, limited := c.Faults.Cores[s.Family]
		if !limited {
			limit = plenty
		}
		all = append(all, usage(s.Family, limit, func(m *machine) bool { return mine(m) && !m.spot && m.size.Family == s.Family }))
	}
	return all
}
