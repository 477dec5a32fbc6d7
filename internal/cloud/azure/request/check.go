package request

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// MaxUserData is what Azure takes as custom data, before it is encoded.
const MaxUserData = 65535

// Check refuses what Azure would refuse or what VM cannot write, before any call. The API has no rules for it: a template may
// leave out what a machine needs, and the tags of an AzureCluster are not the machine's.
func Check(w Want) error {
	spec := w.Machine.Spec.Azure
	switch count := sources(spec.Image); {
	case count == 0:
		return cloud.Missing("spec.azure.image")
	case count > 1:
		return refuse("spec.azure.image has several images: set one of id, computeGallery, communityGallery and marketplace")
	}
	if wrong := arm.CheckTags(users(w)); wrong != "" {
		return refuse("spec.azure.additionalTags, together with the tags of the AzureCluster: %s", wrong)
	}
	for _, adapter := range spec.NetworkInterfaces {
		if adapter.PublicIP == infrav1.AzureEnabled && Separate(w) {
			return refuse("spec.azure.networkInterfaces: %s has a public IP, which no adapter can have if another has a privateAddress "+
				"or the cloud needs adapters made before their VM: remove the one or the other", adapter.Name)
		}
	}
	return CheckUserData(w.UserData)
}

// sources counts the images that a spec names.
func sources(image infrav1.AzureImage) (count int) {
	for _, name := range []string{image.ID, image.ComputeGallery.Name, image.CommunityGallery.Name, image.Marketplace.SKU} {
		if name != "" {
			count++
		}
	}
	return count
}

// CheckUserData refuses user data that Azure would refuse, before any call.
func CheckUserData(data cloud.UserData) error {
	if len(data) <= MaxUserData {
		return nil
	}
	return cloud.Errorf(cloud.Invalid, infrav1.BootstrapDataRefusedReason,
		"the user data have %d bytes, but Azure takes at most %d: remove files or commands from the WindowsBootstrapConfigTemplate",
		len(data), MaxUserData)
}

func refuse(format string, args ...any) error {
	return cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason, format, args...)
}
