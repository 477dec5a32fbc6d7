package v1beta1

// AzureImage is an image with Windows, containerd and the Kubernetes programs. Set
// exactly one of id, computeGallery, communityGallery and marketplace.
//
// +kubebuilder:validation:XValidation:rule="[has(self.id), has(self.computeGallery) && has(self.computeGallery.name), has(self.communityGallery) && has(self.communityGallery.name), has(self.marketplace) && has(self.marketplace.sku)].filter(c, c).size() <= 1",message="set one of id, computeGallery, communityGallery and marketplace, not several"
type AzureImage struct {
	// id is the resource ID of an image, or of an image or image version in a
	// gallery, such as
	// /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/galleries/<name>/images/<name>/versions/1.0.0.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(?i)/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/(images/[-a-z0-9_.]+|galleries/[a-z0-9_.]+/images/[-a-z0-9_.]+(/versions/[a-z0-9.]+)?)$')",message="must be the resource ID of an image, such as /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/images/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0"
	ID string `json:"id,omitempty"`

	// computeGallery is an image in a gallery of your own, such as {gallery:
	// windows, name: ws2022, version: 1.36.2}.
	//
	// +optional
	ComputeGallery AzureGalleryImage `json:"computeGallery,omitempty,omitzero"`

	// communityGallery is an image in a public gallery, such as {gallery:
	// ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019, name:
	// capi-win-2022-containerd, version: 1.36.2}.
	//
	// +optional
	CommunityGallery AzureCommunityImage `json:"communityGallery,omitempty,omitzero"`

	// marketplace is an image of Azure's marketplace, such as {publisher:
	// cncf-upstream, offer: capi-windows, sku: windows-2022-containerd, version:
	// latest}.
	//
	// +optional
	Marketplace AzureMarketplaceImage `json:"marketplace,omitempty,omitzero"`

	// setup is the program in the image that runs the user data at the VM's first
	// start. The only value is CloudbaseInit, which runs that of a
	// WindowsBootstrapConfig. Default: CloudbaseInit.
	//
	// +optional
	// +kubebuilder:default=CloudbaseInit
	Setup ImageSetup `json:"setup,omitempty"`
}

// AzureGalleryImage is an image in a gallery.
//
// +kubebuilder:validation:XValidation:rule="has(self.gallery) && has(self.name) || !(has(self.gallery) || has(self.name) || has(self.version) || has(self.subscriptionID) || has(self.resourceGroup))",message="set gallery and name, such as gallery windows and name ws2022"
type AzureGalleryImage struct {
	// gallery is the name of the gallery, such as windows.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of a gallery: letters, digits, '-', '_' and '.', such as windows"
	Gallery string `json:"gallery,omitempty"`

	// name of the image in the gallery, such as ws2022.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of an image: letters, digits, '-', '_' and '.', such as ws2022"
	Name string `json:"name,omitempty"`

	// version of the image, such as 1.36.2, or latest. Default: latest.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(latest|[0-9]+[.][0-9]+[.][0-9]+)$')",message="must be a version of three numbers, such as 1.36.2, or latest"
	Version string `json:"version,omitempty"`

	// subscriptionID of the gallery. Default: that of the VM.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555"
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup of the gallery, such as images. Default: that of the VM.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-a-zA-Z0-9_.()]*[-a-zA-Z0-9_()]$')",message="must be the name of a resource group: letters, digits, '-', '_', '.', '(' and ')', not ending with '.', such as images"
	ResourceGroup string `json:"resourceGroup,omitempty"`
}

// AzureCommunityImage is an image in a public gallery.
//
// +kubebuilder:validation:XValidation:rule="has(self.gallery) && has(self.name) || !(has(self.gallery) || has(self.name) || has(self.version))",message="set gallery and name, such as name capi-win-2022-containerd"
type AzureCommunityImage struct {
	// gallery is the public name of the gallery, such as
	// ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of a gallery: letters, digits, '-', '_' and '.', such as ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"
	Gallery string `json:"gallery,omitempty"`

	// name of the image in the gallery, such as capi-win-2022-containerd.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of an image: letters, digits, '-', '_' and '.', such as capi-win-2022-containerd"
	Name string `json:"name,omitempty"`

	// version of the image, such as 1.36.2, or latest. Default: latest.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(latest|[0-9]+[.][0-9]+[.][0-9]+)$')",message="must be a version of three numbers, such as 1.36.2, or latest"
	Version string `json:"version,omitempty"`
}

// AzureMarketplaceImage is an image of Azure's marketplace.
//
// +kubebuilder:validation:XValidation:rule="has(self.publisher) && has(self.offer) && has(self.sku) || !(has(self.publisher) || has(self.offer) || has(self.sku) || has(self.version))",message="set publisher, offer and sku, such as publisher cncf-upstream, offer capi-windows and sku windows-2022-containerd"
type AzureMarketplaceImage struct {
	// publisher of the image, such as cncf-upstream.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of a publisher: letters, digits, '-', '_' and '.', such as cncf-upstream"
	Publisher string `json:"publisher,omitempty"`

	// offer of the publisher, such as capi-windows.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of an offer: letters, digits, '-', '_' and '.', such as capi-windows"
	Offer string `json:"offer,omitempty"`

	// sku of the offer, such as windows-2022-containerd.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of a SKU: letters, digits, '-', '_' and '.', such as windows-2022-containerd"
	SKU string `json:"sku,omitempty"`

	// version of the image, such as 136.3.20261001, or latest. Default: latest.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(latest|[0-9]+[.][0-9]+[.][0-9]+)$')",message="must be a version of three numbers, such as 1.36.2, or latest"
	Version string `json:"version,omitempty"`

	// plan that is bought with the image: Image if publisher, offer and sku are
	// the plan as well, or None. The subscription must have accepted its terms.
	// Default: None.
	//
	// +optional
	Plan AzureImagePlan `json:"plan,omitempty"`
}

// AzureImagePlan is whether a plan is bought with an image.
//
// +kubebuilder:validation:Enum=None;Image
type AzureImagePlan string

// The values of AzureImagePlan.
const (
	AzureImagePlanNone  AzureImagePlan = "None"
	AzureImagePlanImage AzureImagePlan = "Image"
)
