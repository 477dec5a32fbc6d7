package v1beta1

// Custom is what users bring.
//
// +kubebuilder:validation:MinProperties=1
type Custom struct {
	// files are written before anything else is done.
	//
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(one, self.exists_one(other, other.path.lowerAscii() == one.path.lowerAscii()))",message="a path is there twice, Windows does not tell small from capital letters; leave one out"
	Files []CustomFile `json:"files,omitempty"`

	// preJoin scripts run in their order when Windows and its network are set up and before containerd and the kubelet are.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PreJoin []CustomScript `json:"preJoin,omitempty"`

	// postJoin scripts run in their order when the kubelet runs; the bootstrap has succeeded when they have.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PostJoin []CustomScript `json:"postJoin,omitempty"`
}

// FileAccess says who may read a file.
type FileAccess string

// FileAccessAdministrators lets in SYSTEM and Administrators only; FileAccessInherited those whom the folder lets in.
const (
	FileAccessAdministrators FileAccess = "Administrators"
	FileAccessInherited      FileAccess = "Inherited"
)

// CustomFile is a file on the node.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != has(self.contentFrom)",message="write either content or contentFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.access) || self.access != 'Inherited' || !has(self.contentFrom) || !has(self.contentFrom.secret)",message="a file with the content of a Secret is for Administrators only: leave access out, or take the content from a ConfigMap",fieldPath=".access"
type CustomFile struct {
	// path of the file on drive C:, such as C:\\etc\\app.conf.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:Pattern=`^[Cc]:(\\[^<>:"|?*/\\]*[^<>:"|?*/\\. ])+$`
	// +kubebuilder:validation:XValidation:rule=`![r'c:\run\kubeadm', r'c:\run\capwin', r'c:\etc\kubernetes', r'c:\var\lib\kubelet\pki', r'c:\var\lib\kubelet\config.yaml', r'c:\programdata\capwin', r'c:\run\cluster-api', r'c:\programdata\containerd\certs.d', r'c:\program files\containerd\conf.d', r'c:\k\azure.json', r'c:\programdata\vmware\vmware tools\tools.conf'].exists(place, self.lowerAscii() == place || self.lowerAscii().startsWith(place + '\\'))`,message="what is there is not for users; write another folder"
	Path string `json:"path,omitempty"`

	// content of the file.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Content string `json:"content,omitempty"`

	// contentFrom is where the content is.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`

	// access to the file: Administrators or Inherited. Left out, Administrators if the content comes from a Secret, else
	// Inherited.
	//
	// +optional
	// +kubebuilder:validation:Enum=Administrators;Inherited
	Access FileAccess `json:"access,omitempty"`
}

// ScriptType is what runs a script.
type ScriptType string

// The types of scripts.
const (
	ScriptPowerShell ScriptType = "PowerShell"
	ScriptCmd        ScriptType = "Cmd"
)

// CustomScript is a script that runs as SYSTEM. It must bear to run again: a machine may be cut off in the middle of it. The exit
// code 3010 means that it is done when Windows has restarted; any other but 0 ends the bootstrap.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != has(self.contentFrom)",message="write either content or contentFrom"
type CustomScript struct {
	// name of the script in reports.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// type of the script: PowerShell or Cmd; PowerShell when left out.
	//
	// +optional
	// +kubebuilder:validation:Enum=PowerShell;Cmd
	Type ScriptType `json:"type,omitempty"`

	// content of the script.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Content string `json:"content,omitempty"`

	// contentFrom is where the content is.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`

	// timeoutSeconds of the script; 300 when left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// ContentSource names what holds a content, in the namespace of the config. It is read once, when the user data is made.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.secret) != has(self.configMap)",message="write either secret or configMap"
type ContentSource struct {
	// secret that holds the content.
	//
	// +optional
	Secret KeyReference `json:"secret,omitempty,omitzero"`

	// configMap that holds the content.
	//
	// +optional
	ConfigMap KeyReference `json:"configMap,omitempty,omitzero"`
}

// KeyReference is a key of a Secret or ConfigMap.
type KeyReference struct {
	// name of the Secret or ConfigMap.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
