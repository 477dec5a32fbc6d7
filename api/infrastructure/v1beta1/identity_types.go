package v1beta1

// IdentityKind is what an identity is kept in.
//
// +kubebuilder:validation:Enum=Secret;AzureClusterIdentity
type IdentityKind string

// The kinds of identities, all in the machine's namespace.
const (
	// IdentitySecret is a Secret with credentials.
	IdentitySecret IdentityKind = "Secret"
	// IdentityAzureCluster is an identity of Cluster API Provider Azure.
	IdentityAzureCluster IdentityKind = "AzureClusterIdentity"
)

// IdentityReference names the object with the rights to manage the VM.
//
// +kubebuilder:validation:XValidation:rule="has(self.kind) == has(self.name)",message="set kind and name, such as kind Secret and name vcenter"
type IdentityReference struct {
	// kind of the object that holds the identity: Secret, or in Azure also
	// AzureClusterIdentity.
	//
	// +optional
	Kind IdentityKind `json:"kind,omitempty"`

	// name of the object, such as vcenter. It is in the namespace of the machine.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of an object: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, such as vcenter"
	Name string `json:"name,omitempty"`
}

// ImageSetup is the program that sets up a copy of the image at its first
// start.
//
// +kubebuilder:validation:Enum=CloudbaseInit
type ImageSetup string

// ImageSetupCloudbaseInit is cloudbase-init, which image-builder puts into its images.
const ImageSetupCloudbaseInit ImageSetup = "CloudbaseInit"
