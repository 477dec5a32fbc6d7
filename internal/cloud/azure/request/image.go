package request

import (
	"cmp"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// latest is the version that Azure itself looks up.
const latest = "latest"

// Image is what the VM is made from. A gallery is in the VM's group unless the spec names another.
func Image(w Want) *armcompute.ImageReference {
	image := w.Machine.Spec.Azure.Image
	switch {
	case image.ComputeGallery.Name != "":
		return &armcompute.ImageReference{ID: new(galleryID(image.ComputeGallery, w.group()))}
	case image.CommunityGallery.Name != "":
		g := image.CommunityGallery
		return &armcompute.ImageReference{CommunityGalleryImageID: new(
			"/CommunityGalleries/" + g.Gallery + "/Images/" + g.Name + "/Versions/" + cmp.Or(g.Version, latest))}
	case image.Marketplace.SKU != "":
		m := image.Marketplace
		return &armcompute.ImageReference{
			Publisher: &m.Publisher, Offer: &m.Offer, SKU: &m.SKU, Version: new(cmp.Or(m.Version, latest)),
		}
	}
	return &armcompute.ImageReference{ID: &image.ID}
}

func galleryID(g infrav1.AzureGalleryImage, home arm.ID) string {
	group := arm.GroupID(cmp.Or(g.SubscriptionID, home.Subscription), cmp.Or(g.ResourceGroup, home.Group))
	return group.String() + "/providers/Microsoft.Compute/galleries/" + g.Gallery + "/images/" + g.Name +
		"/versions/" + cmp.Or(g.Version, latest)
}

// plan is bought with an image of the marketplace.
func plan(image infrav1.AzureMarketplaceImage) *armcompute.Plan {
	return &armcompute.Plan{Publisher: &image.Publisher, Product: &image.Offer, Name: &image.SKU}
}
