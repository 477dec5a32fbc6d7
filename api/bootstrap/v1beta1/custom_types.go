package v1beta1

// Custom has the user's own files and scripts.
type Custom struct {
	// files to write on the node, such as {path: C:\app\app.conf, content:
	// debug=1}. They are written before Windows, containerd and the kubelet are
	// set up. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="[self.map(one, one.path.lowerAscii())].all(paths, paths.all(path, paths.indexOf(path) == paths.lastIndexOf(path)))",message="two files have the same path (Windows ignores case); remove one of them"
	Files []CustomFile `json:"files,omitempty"`

	// preJoin scripts run in this order, after Windows and its network are set up
	// and before containerd and the kubelet are. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	PreJoin []CustomScript `json:"preJoin,omitempty"`

	// postJoin scripts run in this order, once the node has joined and the kubelet
	// runs. The bootstrap succeeds only if they do. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	PostJoin []CustomScript `json:"postJoin,omitempty"`

	// everyBoot scripts run in this order at each start of Windows after the
	// bootstrap, before the kubelet starts, such as a call of Antrea's
	// Prepare-AntreaAgent.ps1. If one fails, the others and the kubelet still
	// start, and status.bootstrap of the WindowsMachine has a warning. Default:
	// none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	EveryBoot []BootScript `json:"everyBoot,omitempty"`
}

// FileAccess is what may read a file.
type FileAccess string

// FileAccessAdministrators grants access to SYSTEM and Administrators only, FileAccessInherited to those who have access to
// the folder.
const (
	FileAccessAdministrators FileAccess = "Administrators"
	FileAccessInherited      FileAccess = "Inherited"
)

// CustomFile is one file on the node.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != (has(self.contentFrom) && (has(self.contentFrom.secret) && (has(self.contentFrom.secret.name) || has(self.contentFrom.secret.key)) || has(self.contentFrom.configMap) && (has(self.contentFrom.configMap.name) || has(self.contentFrom.configMap.key))))",message="set exactly one of content and contentFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.access) || self.access != 'Inherited' || !has(self.contentFrom) || !has(self.contentFrom.secret) || !has(self.contentFrom.secret.name)",message="a file with content from a Secret is for Administrators only; remove access, or take the content from a ConfigMap",fieldPath=".access"
type CustomFile struct {
	// path of the file on drive C:, such as C:\app\app.conf. Paths of the
	// bootstrap and of the node's programs are refused; docs/bootstrap.md lists
	// them.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])+$') && !self.matches(r'(?i)\\(con|prn|aux|nul|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}]|con(in|out)\$) *(\.[^\\]*)?(\\|$)')`,message=`must be a full path on drive C: with backslashes, such as C:\etc\app.conf, without wildcards, "..", short names such as PROGRA~1, names that end in a dot or blank, and devices such as NUL`
	// +kubebuilder:validation:XValidation:rule=`[self.lowerAscii() + '\\'].all(path, !path.matches(r'^(c:\\run\\kubeadm|c:\\run\\capwin|c:\\etc\\kubernetes|c:\\var\\lib\\kubelet\\pki|c:\\var\\lib\\kubelet\\config\.yaml|c:\\var\\lib\\kubelet\\instance-config\.yaml|c:\\var\\lib\\kubelet\\kubeadm-flags\.env|c:\\programdata\\capwin|c:\\run\\cluster-api|c:\\programdata\\containerd\\certs\.d|c:\\program files\\containerd)\\'))`,message="this path is reserved for the bootstrap and the programs of the node; use another one"
	// +kubebuilder:validation:XValidation:rule=`[self.lowerAscii() + '\\'].all(path, !path.matches(r'^(c:\\k\\kubeadm\.exe|c:\\k\\kubectl\.exe|c:\\k\\kubelet\.exe|c:\\k\\kube-log-runner\.exe|c:\\etc\\cni\\net\.d|c:\\opt\\cni\\bin|c:\\etc\\kube-proxy|c:\\etc\\kube-flannel|c:\\k\\azure\.json|c:\\programdata\\vmware\\vmware tools\\tools\.conf|c:\\documents and settings|c:\\users\\all users|c:\\users\\default user|c:\\programdata\\application data)\\'))`,message="this path is reserved for the bootstrap and the programs of the node; use another one"
	// +kubebuilder:validation:XValidation:rule=`[self.lowerAscii() + '\\'].all(path, !r'|c:\|c:\etc\|c:\etc\cni\|c:\k\|c:\opt\|c:\opt\cni\|c:\program files\|c:\programdata\|c:\programdata\containerd\|c:\programdata\vmware\|c:\programdata\vmware\vmware tools\|c:\run\|c:\users\|c:\var\|c:\var\lib\|c:\var\lib\kubelet\|'.contains('|' + path + '|'))`,message="this path is reserved for the bootstrap and the programs of the node; use another one"
	Path string `json:"path,omitempty"`

	// content of the file, as text. Set either content or contentFrom.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message=`must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom`,reason=FieldValueForbidden
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap that has the content of the file,
	// as text or bytes. Set either content or contentFrom.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`

	// access to the file: Administrators, or Inherited from its folder. Content
	// from a Secret is for Administrators only. Default: Administrators for a
	// Secret, otherwise Inherited.
	//
	// +optional
	// +kubebuilder:validation:Enum=Administrators;Inherited
	Access FileAccess `json:"access,omitempty"`
}

// ScriptType is which program runs a script.
type ScriptType string

// The types of scripts.
const (
	ScriptPowerShell ScriptType = "PowerShell"
	ScriptCmd        ScriptType = "Cmd"
)

// CustomScript is a script that runs as SYSTEM. It must be safe to run more
// than once, because Windows may restart while it runs. Exit code 0 means
// success, and 3010 means success and that Windows must restart. Any other
// exit code fails the bootstrap.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != (has(self.contentFrom) && (has(self.contentFrom.secret) && (has(self.contentFrom.secret.name) || has(self.contentFrom.secret.key)) || has(self.contentFrom.configMap) && (has(self.contentFrom.configMap.name) || has(self.contentFrom.configMap.key))))",message="set exactly one of content and contentFrom"
type CustomScript struct {
	// name of the script in reports, such as drivers.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as drivers`
	Name string `json:"name,omitempty"`

	// type of the script: PowerShell or Cmd. Default: PowerShell.
	//
	// +optional
	// +kubebuilder:validation:Enum=PowerShell;Cmd
	Type ScriptType `json:"type,omitempty"`

	// content of the script. Set either content or contentFrom.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message=`must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom`,reason=FieldValueForbidden
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap that has the content of the
	// script. Set either content or contentFrom.
	//
	// +optional
	ContentFrom ContentSource `json:"contentFrom,omitempty,omitzero"`

	// timeoutSeconds is how long the script may run. All scripts together must
	// take less than bootstrapDeadlineSeconds. Default: 300.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// BootScript is a script that stays on the node, where only administrators
// can read it, and runs as SYSTEM. Its content is plain text, because a Secret
// must not stay there; a longer script is one of files that it calls.
type BootScript struct {
	// name of the script in reports, such as prepare-agent.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as drivers`
	Name string `json:"name,omitempty"`

	// type of the script: PowerShell or Cmd. Default: PowerShell.
	//
	// +optional
	// +kubebuilder:validation:Enum=PowerShell;Cmd
	Type ScriptType `json:"type,omitempty"`

	// content of the script.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`!self.contains('\u0000')`,message=`must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom`,reason=FieldValueForbidden
	Content string `json:"content,omitempty"`

	// timeoutSeconds is how long the script may run. Default: 300.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// ContentSource names a key of a Secret or ConfigMap in the namespace of the
// config. It is read once, when the user data is rendered.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !has(self.secret.name) || !has(self.configMap) || !has(self.configMap.name)",message="set secret or configMap, not both"
type ContentSource struct {
	// secret in the namespace of the config, and the key in it, such as {name:
	// app, key: license}. Set either secret or configMap.
	//
	// +optional
	Secret KeyReference `json:"secret,omitempty,omitzero"`

	// configMap in the namespace of the config, and the key in it, such as {name:
	// company, key: ca.crt}. Set either secret or configMap.
	//
	// +optional
	ConfigMap KeyReference `json:"configMap,omitempty,omitzero"`
}

// KeyReference names a key of a Secret or ConfigMap.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(self.key)",message="set both name and key"
type KeyReference struct {
	// name of the Secret or ConfigMap, such as company.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of an object in the config's own namespace: lower-case letters, digits, '-' and '.', such as node-files"
	Name string `json:"name,omitempty"`

	// key in the Secret or ConfigMap, such as ca.crt.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret or ConfigMap: letters, digits, '-', '_' and '.', such as app.conf"
	Key string `json:"key,omitempty"`
}
