package v1beta1

// Containerd is what can be said of containerd. Its configuration is changed by drop-ins, which containerd 2 merges.
//
// +kubebuilder:validation:MinProperties=1
type Containerd struct {
	// registries that have mirrors, a CA of their own, or want credentials.
	//
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Registries []Registry `json:"registries,omitempty"`

	// pauseImage of all pods; left out, the image's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9-]+([.][a-z0-9-]+)+(:[0-9]{1,5})?|[a-z0-9-]+:[0-9]{1,5}|localhost)/[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$')",message="write the full name of an image, with its registry, such as registry.k8s.io/pause:3.10.2"
	PauseImage string `json:"pauseImage,omitempty"`

	// prepullImages are pulled before the node joins, in half of deadlineSeconds at most, of which each needs 60 s. One that
	// can not be pulled is a warning.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$`
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^([a-z0-9-]+([.][a-z0-9-]+)+(:[0-9]{1,5})?|[a-z0-9-]+:[0-9]{1,5}|localhost)/[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$')",message="write the full name of an image, with its registry, such as registry.k8s.io/pause:3.10.2"
	PrepullImages []string `json:"prepullImages,omitempty"`

	// hyperVIsolation: Enabled adds the runtime handler runhcs-wcow-hypervisor, for a RuntimeClass, and the Windows feature
	// Hyper-V. The VM needs nested virtualization. Disabled when left out.
	//
	// +optional
	// +kubebuilder:validation:Enum=Enabled;Disabled
	HyperVIsolation HyperVIsolation `json:"hyperVIsolation,omitempty"`

	// dropIns are more of containerd's configuration, in its format of version 3.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	DropIns []ContainerdDropIn `json:"dropIns,omitempty"`
}

// HyperVIsolation says whether pods can have a virtual machine each.
type HyperVIsolation string

// Whether there is isolation by Hyper-V.
const (
	HyperVIsolationEnabled  HyperVIsolation = "Enabled"
	HyperVIsolationDisabled HyperVIsolation = "Disabled"
)

// Registry is how containerd reaches one registry.
//
// +kubebuilder:validation:XValidation:rule="has(self.mirrors) || has(self.ca) || has(self.credentialsRef)",message="write mirrors, ca or credentialsRef"
// +kubebuilder:validation:XValidation:rule="self.host != '_default' || !has(self.credentialsRef)",message="credentials for _default would go to every registry; write the host of the one they are for",fieldPath=".credentialsRef"
type Registry struct {
	// host of the registry as it stands in the names of images, such as docker.io or registry.example.com:5000; _default is for all
	// that are not named.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?|_default)$`
	Host string `json:"host,omitempty"`

	// mirrors are asked in their order, before the registry itself. A mirror whose host is in registries too has the CA and
	// credentials from there.
	//
	// +optional
	// +listType=map
	// +listMapKey=url
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Mirrors []RegistryMirror `json:"mirrors,omitempty"`

	// ca has signed the certificate of the registry: PEM.
	//
	// +optional
	CA ContentSource `json:"ca,omitempty,omitzero"`

	// credentialsRef names a Secret with the keys username and password. They are sent as HTTP basic authentication.
	//
	// +optional
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// RegistryMirror is another place for the images of a registry.
type RegistryMirror struct {
	// url of the mirror, such as https://mirror.example.com. With a path, it is the whole path before the name of an image, such
	// as https://harbor.example.com/v2/docker-hub.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*$`
	URL string `json:"url,omitempty"`
}

// SecretReference names a Secret in the namespace of the config.
type SecretReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ContainerdDropIn is a piece of containerd's configuration.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != has(self.contentFrom)",message="write either content or contentFrom"
type ContainerdDropIn struct {
	// name of the drop-in; they count in the order of their names.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// content in TOML.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Content string `json:"content,omitempty"`

	// contentFrom is where the content is.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`
}
