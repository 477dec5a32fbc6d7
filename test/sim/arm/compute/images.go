package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Image is what a VM can be made from. Name is one of:
//
//	publisher/offer/sku                                                 the marketplace
//	/CommunityGalleries/GALLERY/Images/NAME                             a community gallery
//	/subscriptions/.../galleries/GALLERY/images/NAME                    a gallery
//	/subscriptions/.../Microsoft.Compute/images/NAME                    a managed image
type Image struct {
	Name     string
	Versions []string // the last one is the latest
	SizeGB   int
	// Plan is what must be bought with the image, as publisher/product/name.
	Plan string
	// Security is the security type that a gallery image supports besides Standard: TrustedLaunch, ConfidentialVM, "".
	Security string
	// Regions are those of a gallery image; none means all.
	Regions []string
	// Generation is V1 or V2; empty starts in every size. Linux is an image of the other system.
	Generation string
	Linux      bool
}

// AddImage adds an image.
func (c *Compute) AddImage(i Image) { c.images = append(c.images, i) }

// AddVersion publishes a version of an image that has others.
func (c *Compute) AddVersion(name, version string) {
	for i := range c.images {
		if doc.Same(c.images[i].Name, name) {
			c.images[i].Versions = append(c.images[i].Versions, version)
		}
	}
}

func (c *Compute) image(name string) (Image, bool) {
	at := slices.IndexFunc(c.images, func(i Image) bool { return doc.Same(i.Name, strings.TrimSuffix(name, "/")) })
	if at < 0 {
		return Image{}, false
	}
	return c.images[at], true
}

// resolve finds the image and the version that a reference means.
func (c *Compute) resolve(reference doc.Object, location string) (Image, string, *reply.Error) {
	name, version, platform := split(reference)
	i, found := c.image(name)
	if platform {
		if exact, ok := i.version(version); found && ok {
			return i, exact, nil
		}
		// [V]
		return i, "", reply.New(http.StatusNotFound, "PlatformImageNotFound", "The platform image '%s:%s' is not available. Verify "+
			"that all "+
			"fields in the storage profile are correct. For more details about storage profile information, please refer to "+
			"https://aka.ms/storageprofile", strings.ReplaceAll(name, "/", ":"), version).At("imageReference")
	}
	if id, ok := doc.ParseID(name); ok && len(id.Types) == 1 { // a managed image has no versions
		if found {
			return i, "", nil
		}
		return i, "", reply.New(http.StatusNotFound, "NotFound", "The Image '%s' cannot be found in '%s' region.", name, location).
			At("imageReference")
	}
	exact, ok := i.version(version)
	if !found || !ok || (len(i.Regions) > 0 && !slices.Contains(i.Regions, location)) {
		return i, "", reply.New(http.StatusNotFound, "GalleryImageNotFound", "The gallery image %s is not available in %s region. "+
			"Please "+
			"contact image owner to replicate to this region, or change your requested region.", galleryID(name, version), location).
			At("imageReference")
	}
	return i, exact, nil
}

func galleryID(name, version string) string {
	if version == "" {
		return name
	}
	return name + "/versions/" + version
}

// split takes a reference apart into the image's name and its version.
func split(reference doc.Object) (name, version string, platform bool) {
	for _, field := range []string{"id", "communityGalleryImageId", "sharedGalleryImageId"} {
		if id := doc.Text(reference, field); id != "" {
			at := strings.LastIndex(strings.ToLower(id), "/versions/")
			if at < 0 {
				return id, "latest", false // a gallery image without a version means the latest
			}
			return id[:at], id[at+len("/versions/"):], false
		}
	}
	parts := []string{doc.Text(reference, "publisher"), doc.Text(reference, "offer"), doc.Text(reference, "sku")}
	return strings.Join(parts, "/"), doc.Text(reference, "version"), true
}

func (i Image) version(wanted string) (string, bool) {
	if len(i.Versions) == 0 {
		return "", false
	}
	if doc.Same(wanted, "latest") {
		return i.Versions[len(i.Versions)-1], true
	}
	return wanted, slices.Contains(i.Versions, wanted)
}

// plan refuses a plan that is missing, too much or another one [D].
func (i Image) plan(body doc.Object) *reply.Error {
	refuse := func(text string) *reply.Error {
		return reply.New(http.StatusBadRequest, "VMMarketplaceInvalidInput", "%s OS disk name is '%s'.", text,
			doc.Text(body, "properties", "storageProfile", "osDisk", "name"))
	}
	sent := ""
	if plan := doc.Of(body, "plan"); plan != nil {
		sent = doc.Text(plan, "publisher") + "/" + doc.Text(plan, "product") + "/" + doc.Text(plan, "name")
	}
	switch {
	case sent == i.Plan:
		return nil
	case sent == "":
		return refuse("Creating a virtual machine from Marketplace image or a custom image sourced from a Marketplace image " +
			"requires Plan information in the request.")
	case i.Plan == "":
		return refuse("Creating a virtual machine from a non Marketplace image does not need Plan information, please remove the " +
			"Plan information in the request.")
	}
	return refuse("The purchase information does not match. Unable to deploy from the Marketplace image.")
}

// Versions lists the versions of a marketplace image, as its list shows them, or nil.
func (c *Compute) Versions(subscription, location, name string) []doc.Object {
	i, found := c.image(name)
	if !found {
		return nil
	}
	parts := strings.Split(i.Name, "/")
	base := "/Subscriptions/" + subscription + "/Providers/Microsoft.Compute/Locations/" + location + "/Publishers/" + parts[0] +
		"/ArtifactTypes/VMImage/Offers/" + parts[1] + "/Skus/" + parts[2] + "/Versions/"
	var all []doc.Object
	for _, v := range i.Versions {
		all = append(all, doc.Object{"location": location, "name": v, "id": base + v})
	}
	return all
}
