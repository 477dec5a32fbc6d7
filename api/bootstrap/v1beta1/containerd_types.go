package v1beta1

// Containerd has the settings of containerd. They become drop-in files, which containerd 2 merges into its configuration.
type Containerd struct {
	// registries that have mirrors or a CA of their own, or need credentials.
	//
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MaxItems=16
	Registries []Registry `json:"registries,omitempty"`

	// pauseImage of all pods. Default: the one in the image's containerd configuration.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|[a-z0-9]([-a-z0-9]*[a-z0-9])?:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})|localhost)(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$')`,message=`must be the full name of an image including its registry, such as registry.k8s.io/pause:3.10.2`
	PauseImage string `json:"pauseImage,omitempty"`

	// prepullImages are pulled before the node joins. All pulls together get half of bootstrapDeadlineSeconds, and each image must
	// get at least 60 s of it. An image that cannot be pulled is a warning.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|[a-z0-9]([-a-z0-9]*[a-z0-9])?:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})|localhost)(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$')`,message=`must be the full name of an image including its registry, such as registry.k8s.io/pause:3.10.2`
	PrepullImages []string `json:"prepullImages,omitempty"`

	// hyperVIsolation: Enabled installs the Windows feature Hyper-V and adds the runtime handler runhcs-wcow-hypervisor, for
	// use in a RuntimeClass. The VM needs nested virtualization. Default: Disabled.
	//
	// +optional
	// +kubebuilder:validation:Enum=Enabled;Disabled
	HyperVIsolation HyperVIsolation `json:"hyperVIsolation,omitempty"`

	// dropIns are further files of containerd's configuration, in format version 3.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	DropIns []ContainerdDropIn `json:"dropIns,omitempty"`
}

// HyperVIsolation says whether a pod can run in a virtual machine of its own.
type HyperVIsolation string

// The values of HyperVIsolation.
const (
	HyperVIsolationEnabled  HyperVIsolation = "Enabled"
	HyperVIsolationDisabled HyperVIsolation = "Disabled"
)

// Registry is how containerd reaches one registry.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mirrors) && size(self.mirrors) > 0) || (has(self.caFrom) && (has(self.caFrom.secret) && has(self.caFrom.secret.name) || has(self.caFrom.configMap) && has(self.caFrom.configMap.name))) || (has(self.credentialsRef) && has(self.credentialsRef.name))",message="set at least one of mirrors, caFrom and credentialsRef"
// +kubebuilder:validation:XValidation:rule="self.host != '_default' || !has(self.credentialsRef) || !has(self.credentialsRef.name)",message="credentials for _default would be sent to every registry; set host to the registry that they are for",fieldPath=".credentialsRef"
type Registry struct {
	// host of the registry as in image names, such as docker.io or registry.example.com:5000. _default applies to all
	// registries that are not listed.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|_default)$')`,message=`must be a registry as in image names, without scheme and path, such as docker.io or registry.example.com:5000; _default stands for all others`
	Host string `json:"host,omitempty"`

	// mirrors are tried in order, before the registry itself. If the host of a mirror is listed in registries too, its CA
	// and credentials are taken from there.
	//
	// +optional
	// +listType=map
	// +listMapKey=url
	// +kubebuilder:validation:MaxItems=8
	Mirrors []RegistryMirror `json:"mirrors,omitempty"`

	// caFrom names the Secret or ConfigMap with the CA that signed the registry's certificate, in PEM. Default: Windows' own CAs.
	//
	// +optional
	CAFrom ContentSource `json:"caFrom,omitempty,omitzero"`

	// credentialsRef names a Secret with the keys username and password. They are sent by HTTP basic authentication.
	//
	// +optional
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// RegistryMirror is another source of a registry's images.
type RegistryMirror struct {
	// url of the mirror, such as https://mirror.example.com. If it has a path, that must be the whole path in front of the
	// image name, such as https://harbor.example.com/v2/docker-hub.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^https?://[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?(/[A-Za-z0-9._~-]+)*$')`,message=`must be http:// or https:// with a host, and port and path if needed, such as https://mirror.example.com, without user, query, and slash at the end; for a user, list the host in registries with credentialsRef`
	URL string `json:"url,omitempty"`
}

// SecretReference names a Secret in the namespace of the config.
type SecretReference struct {
	// name of the Secret, such as harbor.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret in the config's own namespace: lower-case letters, digits, '-' and '.', such as harbor"
	Name string `json:"name,omitempty"`
}

// ContainerdDropIn is one file of containerd's configuration.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != (has(self.contentFrom) && (has(self.contentFrom.secret) && has(self.contentFrom.secret.name) || has(self.contentFrom.configMap) && has(self.contentFrom.configMap.name)))",message="set exactly one of content and contentFrom"
type ContainerdDropIn struct {
	// name of the drop-in. containerd reads drop-ins in the order of their names.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as limits`
	Name string `json:"name,omitempty"`

	// content of the file, in TOML.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message=`must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom`
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap that has the content.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`
}
