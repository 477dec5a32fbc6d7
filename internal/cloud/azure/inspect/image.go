package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// shownImage is what Azure shows of an image: a managed one, the definition or a version of one in a gallery, or a version of one
// in the marketplace.
type shownImage struct {
	Location   string // of a managed image, which can be used there alone
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
	listing              string // the command that lists those that there are
	replicate            string // the one that copies a version to the region; empty if the image is not ours
}

// source finds out where the image of the spec is.
func (i *inspection) source() source {
	ref := request.Image(i.want())
	switch {
	case ref.SKU != nil:
		name := *ref.Publisher + ":" + *ref.Offer + ":" + *ref.SKU
		path := i.inRegion("/publishers/" + *ref.Publisher + "/artifacttypes/vmimage/offers/" + *ref.Offer + "/skus/" + *ref.SKU)
		return source{
			name: name, image: path, version: *ref.Version, api: i.ComputeVersion, market: true,
			listing: command("az vm image list --publisher %s --offer %s --sku %s --location %s --all --output table",
				*ref.Publisher, *ref.Offer, *ref.SKU, i.region()),
		}
	case ref.CommunityGalleryImageID != nil:
		parts := strings.Split(*ref.CommunityGalleryImageID, "/") // "" CommunityGalleries G Images N Versions V
		path := i.inRegion("/communityGalleries/" + parts[2] + "/images/" + parts[4])
		return source{
			name: parts[4], image: path, version: parts[6], api: galleryVersion,
			listing: command("az sig image-version list-community --public-gallery-name %s --gallery-image-definition %s --location %s",
				parts[2], parts[4], i.region()),
		}
	}
	id, _ := arm.Parse(*ref.ID)
	if id.HasType("Microsoft.Compute/images") || len(id.Names) < 2 {
		return source{
			name: id.Name(), image: *ref.ID, api: i.ComputeVersion,
			listing: command("az image list --resource-group %s --subscription %s --output table", id.Group, id.Subscription),
		}
	}
	return i.ofGallery(id, *ref.ID)
}

func (i *inspection) ofGallery(id arm.ID, text string) source {
	image, version, versioned := strings.Cut(text, "/versions/")
	if !versioned {
		version = "latest"
	}
	options := command("--resource-group %s --gallery-name %s --gallery-image-definition %s --subscription %s", id.Group,
		id.Names[0], id.Names[1], id.Subscription)
	return source{
		name: id.Names[1], image: image, version: version, api: galleryVersion,
		listing: "az sig image-version list " + options + " --output table",
		replicate: "az sig image-version update " + options + " --gallery-image-version VERSION --add " +
			"publishingProfile.targetRegions " + command("name=%s", i.region()),
	}
}

// imageRight is the action that the image of the spec takes; those of others take none.
func (i *inspection) imageRight() (scope, action string) {
	ref := request.Image(i.want())
	if ref.ID == nil {
		return "", ""
	}
	id, _ := arm.Parse(*ref.ID)
	if id.HasType("Microsoft.Compute/images") {
		return *ref.ID, "Microsoft.Compute/images/read"
	}
	scope, _, _ = strings.Cut(*ref.ID, "/versions/")
	return scope, "Microsoft.Compute/galleries/images/versions/read"
}

func (i *inspection) inRegion(path string) string {
	return i.subscription() + "/providers/Microsoft.Compute/locations/" + i.region() + path
}

// image looks at the image, and whether the sizes can start it.
func (i *inspection) image(ctx context.Context) {
	const check = "image"
	src := i.source()
	image, version, a := i.lookAt(ctx, src)
	switch {
	case a.Gone, a.GroupGone, a.Problem == "" && src.version != "" && version == "":
		i.add(check, cloud.CheckFailed, "%s does not exist, or is not visible to this identity: correct spec.azure.image; %s shows "+
			"those that do", shown(strings.TrimSpace(src.name+" "+src.version)), src.listing)
	case a.Problem != "":
		i.unseen(check, a)
	default:
		result, text := i.judge(image, src, i.suitable)
		i.add(check, result, "%s %s", shown(strings.TrimSpace(src.name+" "+version)), text)
	}
}

// lookAt reads the image and its version. In a gallery, the image has the generation and the version the regions; the marketplace
// shows versions alone.
func (i *inspection) lookAt(ctx context.Context, src source) (image shownImage, version string, a Answer) {
	if !src.market {
		if a = i.Azure.Get(ctx, src.image, src.api, &image); a.Problem != "" || src.version == "" {
			return image, "", a
		}
	}
	if version = src.version; strings.EqualFold(version, "latest") {
		if version, a = i.latest(ctx, src); a.Problem != "" || version == "" {
			return image, "", a
		}
	}
	var itsVersion shownImage
	a = i.Azure.Get(ctx, src.image+"/versions/"+version, src.api, &itsVersion)
	if src.market {
		return itsVersion, version, a
	}
	image.Properties.PublishingProfile = itsVersion.Properties.PublishingProfile
	return image, version, a
}

// latest is the last version that Azure lists; empty if it lists none, or one that cannot be part of an address.
func (i *inspection) latest(ctx context.Context, src source) (string, Answer) {
	var versions []struct{ Name string }
	var a Answer
	if src.market { // this list has no pages
		a = i.Azure.Get(ctx, src.image+"/versions", src.api, &versions)
	} else {
		versions, a = list[struct{ Name string }](ctx, i, src.image+"/versions", src.api, nil)
	}
	if len(versions) == 0 {
		return "", a
	}
	newest := slices.MaxFunc(versions, func(a, b struct{ Name string }) int { return compareVersions(a.Name, b.Name) }).Name
	if !plain.MatchString(newest) || strings.Contains(newest, "/") {
		return "", a
	}
	return newest, a
}

// compareVersions compares number by number, as Azure does: 1.36.10 comes after 1.36.9.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
}

// judge decides whether a Windows machine of the spec can be made of an image that exists.
func (i *inspection) judge(image shownImage, src source, sizes []skus.Size) (cloud.Result, string) {
	regions, region := image.Properties.PublishingProfile.TargetRegions, skus.Location(i.Place.Location)
	isRegion := func(target struct{ Name string }) bool { return skus.Location(target.Name) == region }
	generation := cloud.Clean(image.Properties.HyperVGeneration, maxGeneration)
	starts := func(size skus.Size) bool { return size.Starts(generation) }
	switch wrong := i.planned(image, src); {
	case src.version == "" && image.Location != "" && skus.Location(image.Location) != region:
		return cloud.CheckFailed, "is in " + skus.Location(image.Location) +
			", and a managed image can be used in its own region alone: put it into a gallery, or use another image; " + src.listing +
			" shows the others"
	case image.system() != "" && !strings.EqualFold(image.system(), "Windows"):
		return cloud.CheckFailed, "is not an image of Windows: use another one; " + src.listing + " shows the others"
	case len(regions) > 0 && !slices.ContainsFunc(regions, isRegion):
		return cloud.CheckFailed, "is not in " + region + ": replicate it to this region" + withCommand(src.replicate) +
			", or use another image"
	case wrong != "":
		return cloud.CheckFailed, wrong
	case strings.EqualFold(generation, "V1") && i.Spec.SecurityProfile.SecurityType != "":
		return cloud.CheckFailed, "is of generation V1, with which securityProfile.securityType is not possible: use an image of V2"
	case len(sizes) > 0 && !slices.ContainsFunc(sizes, starts):
		return cloud.CheckFailed, "is of generation " + generation + ", which " + nameSizes(sizes) +
			" cannot start: use another image or size; " + i.listSizes() + " shows HyperVGenerations with --output json"
	case generation == "":
		return cloud.CheckOK, "exists"
	}
	return cloud.CheckOK, "exists and is of generation " + generation
}

// planned is what is wrong with the plan of an image of the marketplace.
func (i *inspection) planned(image shownImage, src source) string {
	switch planned := i.Spec.Image.Marketplace.Plan == infrav1.AzureImagePlanImage; {
	case src.market && image.Properties.Plan != nil && !planned:
		m := i.Spec.Image.Marketplace
		return "is sold with a plan: accept its terms with " + command("az vm image terms accept --publisher %s --offer %s --plan %s "+
			"--subscription %s", m.Publisher, m.Offer, m.SKU, i.Place.SubscriptionID) + ", and set plan: Image"
	case src.market && image.Properties.Plan == nil && planned:
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

// withCommand adds a command, if there is one.
func withCommand(command string) string {
	if command == "" {
		return ""
	}
	return " with " + command
}
