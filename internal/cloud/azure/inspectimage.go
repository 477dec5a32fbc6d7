package azure

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// galleryVersion is the api-version of galleries.
const galleryVersion = "2023-07-03"

// shownImage is what Azure shows of an image: a managed one, the definition or a version of one in a gallery, or a version of one
// in the marketplace.
type shownImage struct {
	Properties struct {
		OSType, HyperVGeneration string
		StorageProfile           struct{ OSDisk struct{ OSType string } }
		OSDiskImage              struct{ OperatingSystem string }
		Plan                     *struct{ Publisher, Product, Name string }
		PublishingProfile        struct{ TargetRegions []struct{ Name string } }
	}
}

func (s shownImage) system() string {
	return cmp.Or(s.Properties.OSType, s.Properties.StorageProfile.OSDisk.OSType, s.Properties.OSDiskImage.OperatingSystem)
}

// source is where Azure shows an image, in two parts if it has versions.
type source struct {
	name, image, version string // the version's path is below the image's; empty if it has none
	api                  string
	market               bool
}

// source finds out where the image of the spec is.
func (i *inspection) source() source {
	want := request.Want{Placement: i.where}
	want.Machine.Spec.Azure = i.spec
	of := request.Image(want)
	switch {
	case of.SKU != nil:
		name := *of.Publisher + ":" + *of.Offer + ":" + *of.SKU
		path := i.inRegion("/publishers/" + *of.Publisher + "/artifacttypes/vmimage/offers/" + *of.Offer + "/skus/" + *of.SKU)
		return source{name: name, image: path, version: *of.Version, api: i.calls.compute(), market: true}
	case of.CommunityGalleryImageID != nil:
		parts := strings.Split(*of.CommunityGalleryImageID, "/") // "" CommunityGalleries G Images N Versions V
		path := i.inRegion("/communityGalleries/" + parts[2] + "/images/" + parts[4])
		return source{name: parts[4], image: path, version: parts[6], api: galleryVersion}
	}
	id, _ := arm.Parse(*of.ID)
	image, version, versioned := strings.Cut(*of.ID, "/versions/")
	if id.Is("Microsoft.Compute/images") {
		return source{name: id.Name(), image: *of.ID, api: i.calls.compute()}
	}
	if !versioned {
		version = "latest"
	}
	return source{name: id.Names[1], image: image, version: version, api: galleryVersion}
}

// image looks at the image, and whether the sizes can start it.
func (i *inspection) image(ctx context.Context, sizes []skus.Size) {
	const check = "image"
	from := i.source()
	shown, version, a := i.lookAt(ctx, from)
	switch {
	case a.status == http.StatusNotFound, a.verdict == nil && from.version != "" && version == "":
		i.add(check, cloud.CheckFailed, "%s does not exist, or is not visible to this identity: correct spec.azure.image",
			strings.TrimSpace(from.name+" "+from.version))
	case a.verdict != nil:
		i.unseen(check, a)
	default:
		result, text := i.judge(shown, from, sizes)
		i.add(check, result, "%s %s", strings.TrimSpace(from.name+" "+version), text)
	}
}

// lookAt reads the image and its version. Of a gallery, the image tells the generation and the version the regions; the
// marketplace shows versions alone.
func (i *inspection) lookAt(ctx context.Context, from source) (shown shownImage, version string, a answer) {
	if !from.market {
		if a = i.ask(ctx, from.image, from.api, &shown); a.verdict != nil || from.version == "" {
			return shown, "", a
		}
	}
	if version = from.version; strings.EqualFold(version, "latest") {
		if version, a = i.latest(ctx, from); a.verdict != nil || version == "" {
			return shown, "", a
		}
	}
	var of shownImage
	a = i.ask(ctx, from.image+"/versions/"+version, from.api, &of)
	if from.market {
		return of, version, a
	}
	shown.Properties.PublishingProfile = of.Properties.PublishingProfile
	return shown, version, a
}

// latest is the last version that Azure lists; empty if it lists none.
func (i *inspection) latest(ctx context.Context, from source) (string, answer) {
	var versions []struct{ Name string }
	var a answer
	if from.market { // this list has no pages
		a = i.ask(ctx, from.image+"/versions", from.api, &versions)
	} else {
		versions, a = pages[struct{ Name string }](ctx, i.calls, call{
			method: http.MethodGet, path: from.image + "/versions", version: from.api, class: limiter.ListNetwork,
			subscription: i.where.Group.Subscription,
		})
	}
	if len(versions) == 0 {
		return "", a
	}
	return slices.MaxFunc(versions, func(a, b struct{ Name string }) int { return compareVersions(a.Name, b.Name) }).Name, a
}

// compareVersions compares number by number, as Azure does: 1.36.10 comes after 1.36.9.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
}

// judge says whether a Windows machine of the spec can be made of an image that exists.
func (i *inspection) judge(of shownImage, from source, sizes []skus.Size) (cloud.Result, string) {
	regions, region := of.Properties.PublishingProfile.TargetRegions, skus.Location(i.where.Location)
	here := func(one struct{ Name string }) bool { return skus.Location(one.Name) == region }
	generation := cloud.Clean(of.Properties.HyperVGeneration, maxGeneration)
	starts := func(size skus.Size) bool { return size.Starts(generation) }
	switch wrong := i.planned(of, from); {
	case of.system() != "" && !strings.EqualFold(of.system(), "Windows"):
		return cloud.CheckFailed, "is not an image of Windows: use another one"
	case len(regions) > 0 && !slices.ContainsFunc(regions, here):
		return cloud.CheckFailed, "is not in " + region + ": replicate it to this region, or use another image"
	case wrong != "":
		return cloud.CheckFailed, wrong
	case strings.EqualFold(generation, "V1") && i.spec.SecurityProfile.SecurityType != "":
		return cloud.CheckFailed, "is of generation V1, with which securityProfile.securityType is not possible: use an image of V2"
	case len(sizes) > 0 && !slices.ContainsFunc(sizes, starts):
		return cloud.CheckFailed, "is of generation " + generation + ", which " + nameSizes(sizes) +
			" cannot start: use another image or size"
	case generation == "":
		return cloud.CheckOK, "exists"
	}
	return cloud.CheckOK, "exists and is of generation " + generation
}

// planned says what is wrong with the plan of an image of the marketplace.
func (i *inspection) planned(of shownImage, from source) string {
	switch planned := i.spec.Image.Marketplace.Plan == infrav1.AzureImagePlanImage; {
	case from.market && of.Properties.Plan != nil && !planned:
		return "is sold with a plan: accept its terms with az vm image terms accept, and set plan: Image"
	case from.market && of.Properties.Plan == nil && planned:
		return "has no plan: remove plan from spec.azure.image.marketplace"
	}
	return ""
}

const maxGeneration = 8

func nameSizes(sizes []skus.Size) string {
	var names []string
	for _, size := range sizes {
		names = append(names, size.Name)
	}
	return strings.Join(names, " and ")
}
