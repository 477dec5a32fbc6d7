package v1beta1

// Containerd has the settings of containerd. They become drop-in files, which
// containerd 2 merges into its configuration if config.toml of the image has
// version 3 and imports them. A node whose containerd ignores them does not
// join.
type Containerd struct {
	// registries that have mirrors or a CA of their own, or need credentials, such
	// as {host: docker.io, mirrors: [{url: https://mirror.example.com}]}. They
	// need containerd 2.0. Default: registries are used directly.
	//
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MaxItems=16
	Registries []Registry `json:"registries,omitempty"`

	// pauseImage is the pause image of all pods, such as
	// registry.k8s.io/pause:3.10.2. It must fit the build of Windows, and needs
	// containerd 2.0. If the VM's image does not have it, it is pulled before the
	// node joins. Default: the one in the configuration of the image's containerd.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|[a-z0-9]([-a-z0-9]*[a-z0-9])?:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})|localhost)(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$')`,message=`must be the full name of an image including its registry, such as registry.k8s.io/pause:3.10.2`
	PauseImage string `json:"pauseImage,omitempty"`

	// prepullImages are pulled before the node joins, such as
	// mcr.microsoft.com/windows/nanoserver:ltsc2022. Together they get half of
	// bootstrapDeadlineSeconds; so many that each would get less than 60 s are
	// refused. If one cannot be pulled, that is a warning. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|[a-z0-9]([-a-z0-9]*[a-z0-9])?:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})|localhost)(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$')`,message=`must be the full name of an image including its registry, such as registry.k8s.io/pause:3.10.2`
	PrepullImages []string `json:"prepullImages,omitempty"`

	// hyperVIsolation: Enabled installs the Windows feature Hyper-V and adds the
	// runtime handler runhcs-wcow-hypervisor, for use in a RuntimeClass. It needs
	// containerd 2.0 and a VM with nested virtualization. Default: Disabled.
	//
	// +optional
	// +kubebuilder:validation:Enum=Enabled;Disabled
	HyperVIsolation HyperVIsolation `json:"hyperVIsolation,omitempty"`

	// dropIns are more files of containerd's configuration, in TOML and version 3
	// of its format. They win over what the bootstrap writes, and need containerd
	// 2.0. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	DropIns []ContainerdDropIn `json:"dropIns,omitempty"`
}

// HyperVIsolation is whether a pod can run in a virtual machine of its own.
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
	// host of the registry as in image names, such as docker.io or
	// registry.example.com:5000. _default applies to all registries that are not
	// listed, and takes no credentials.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?|_default)$')`,message=`must be a registry as in image names, without scheme and path, such as docker.io or registry.example.com:5000; _default stands for all others`
	Host string `json:"host,omitempty"`

	// mirrors are tried in this order, before the registry itself. If a mirror
	// needs a CA or credentials, list its host in registries, too. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=url
	// +kubebuilder:validation:MaxItems=8
	Mirrors []RegistryMirror `json:"mirrors,omitempty"`

	// caFrom names the Secret or ConfigMap with the CA of the registry's
	// certificate, in PEM, such as {configMap: {name: company, key: ca.crt}}.
	// Default: the CAs that Windows trusts.
	//
	// +optional
	CAFrom ContentSource `json:"caFrom,omitempty,omitzero"`

	// credentialsRef names a Secret with the keys username and password, such as
	// {name: harbor}. They are sent by HTTP basic authentication, to the registry
	// and, from containerd 2.1 on, to the token service that it names, as
	// docker.io, ghcr.io, GitLab and Harbor do. Default: anonymous access.
	//
	// +optional
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// RegistryMirror is one other source of the registry's images.
type RegistryMirror struct {
	// url of the mirror, such as https://mirror.example.com. If it has a path,
	// that must be the whole path in front of the image name, such as
	// https://harbor.example.com/v2/docker-hub.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^https?://[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?(/[A-Za-z0-9._~-]+)*$')`,message=`must be http:// or https:// with a host, and port and path if needed, such as https://mirror.example.com, without user, query, and slash at the end; for a user, list the host in registries with credentialsRef`,reason=FieldValueForbidden
	URL string `json:"url,omitempty"`
}

// SecretReference names a Secret in the namespace of the config.
type SecretReference struct {
	// name of the Secret, such as harbor. It is in the namespace of the config.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret in the config's own namespace: lower-case letters, digits, '-' and '.', such as harbor"
	Name string `json:"name,omitempty"`
}

// ContainerdDropIn is one file of containerd's configuration.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != (has(self.contentFrom) && (has(self.contentFrom.secret) && (has(self.contentFrom.secret.name) || has(self.contentFrom.secret.key)) || has(self.contentFrom.configMap) && (has(self.contentFrom.configMap.name) || has(self.contentFrom.configMap.key))))",message="set exactly one of content and contentFrom"
type ContainerdDropIn struct {
	// name of the file, such as limits. containerd reads the files in the order of
	// their names.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as limits`
	Name string `json:"name,omitempty"`

	// content of the file, in TOML. Set either content or contentFrom.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message=`must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom`,reason=FieldValueForbidden
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap that has the content of the file.
	// Set either content or contentFrom.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`
}
