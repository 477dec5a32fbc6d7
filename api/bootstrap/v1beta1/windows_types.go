package v1beta1

// Windows is what can be said of Windows itself.
//
// +kubebuilder:validation:MinProperties=1
type Windows struct {
	// proxy of the machine, of containerd and of the kubelet.
	//
	// +optional
	Proxy Proxy `json:"proxy,omitempty,omitzero"`

	// trustedCertificates are CAs that Windows, and so containerd and the kubelet, trusts.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	TrustedCertificates []TrustedCertificate `json:"trustedCertificates,omitempty"`

	// timeZone by Windows' own names, such as W. Europe Standard Time; left out, the image's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(UTC([+-][0-9]{2})?|Russia Time Zone [0-9]{1,2}|[A-Z][A-Za-z. -]* Standard Time( \(Mexico\))?)$`
	TimeZone string `json:"timeZone,omitempty"`

	// ntpServers tell the time; left out, what the image asks.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9][A-Za-z0-9.:-]*$`
	NTPServers []string `json:"ntpServers,omitempty"`

	// users may log on by SSH key. Nobody knows their passwords.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(one, self.exists_one(other, other.name.lowerAscii() == one.name.lowerAscii()))",message="a name is there twice, Windows does not tell small from capital letters; leave one out"
	Users []LocalUser `json:"users,omitempty"`

	// features of Windows that are installed, by the names of Get-WindowsFeature.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9][A-Za-z0-9-]*$`
	Features []string `json:"features,omitempty"`

	// defenderExclusions are left alone by Microsoft Defender, besides the folders and programs of Kubernetes and containerd.
	//
	// +optional
	DefenderExclusions DefenderExclusions `json:"defenderExclusions,omitempty,omitzero"`

	// csiProxy is run as a service. Drivers that run in HostProcess containers do not need it.
	//
	// +optional
	CSIProxy CSIProxy `json:"csiProxy,omitempty,omitzero"`

	// azureCloudConfig is written to C:\k\azure.json, where CSI drivers of Azure look. It holds no secrets: the node has a
	// managed identity.
	//
	// +optional
	AzureCloudConfig AzureCloudConfig `json:"azureCloudConfig,omitempty,omitzero"`

	// domain of Active Directory that the node joins, with a restart, before it joins the cluster. Pods with a gMSA need it where no
	// plugin gives them credentials. Its accounts stay in the directory when a node is deleted.
	//
	// +optional
	Domain Domain `json:"domain,omitempty,omitzero"`

	// gmsaPlugin gives pods with a gMSA their credentials on a node that is in no domain.
	//
	// +optional
	GMSAPlugin GMSAPlugin `json:"gmsaPlugin,omitempty,omitzero"`
}

// GMSAPlugin is a plug-in of Windows' Container Credential Guard. The image or a preJoin script installs it and its COM class.
type GMSAPlugin struct {
	// classID of its COM class, without braces, such as CCC2A336-D7F3-4818-A213-272B7924213E for that of Azure Key Vault. The
	// node joins only where that class is installed, and lets Windows use it.
	//
	// +required
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	ClassID string `json:"classID,omitempty"`
}

// Domain of Active Directory.
type Domain struct {
	// name of the domain in DNS, such as corp.example.com.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`
	Name string `json:"name,omitempty"`

	// organizationalUnit for the node's account, such as OU=Nodes,DC=corp,DC=example,DC=com; left out, the domain's default.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(OU|CN|ou|cn)=.+$`
	OrganizationalUnit string `json:"organizationalUnit,omitempty"`

	// credentialsRef names a Secret with the keys username, such as CORP\joiner, and password. The account needs no more than
	// the right to join machines.
	//
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// Proxy is how the node reaches what is not near.
//
// +kubebuilder:validation:XValidation:rule="has(self.http) || has(self.https)",message="write http, https or both"
// +kubebuilder:validation:MinProperties=1
type Proxy struct {
	// http is the proxy for http, such as http://proxy.example.com:3128.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/?#\s]+/?$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != ''",message="write scheme, host and port only, such as http://proxy.example.com:3128"
	HTTP string `json:"http,omitempty"`

	// https is the proxy for https; its own scheme is mostly http as well.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/?#\s]+/?$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != ''",message="write scheme, host and port only, such as http://proxy.example.com:3128"
	HTTPS string `json:"https,omitempty"`

	// noProxy are hosts, domains and CIDRs that are reached without the proxy, besides those of the cluster, of the machine and of
	// the cloud's metadata.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9.*:/_-]+$`
	NoProxy []string `json:"noProxy,omitempty"`
}

// TrustedCertificate is one or several CAs.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != has(self.contentFrom)",message="write either content or contentFrom"
type TrustedCertificate struct {
	// name in reports.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// content in PEM.
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

// UserRole is what a user may do.
type UserRole string

// The roles of users.
const (
	UserRoleAdministrator UserRole = "Administrator"
	UserRoleUser          UserRole = "User"
)

// LocalUser is a user of the node.
type LocalUser struct {
	// name of the user.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_-]*$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['administrator', 'guest', 'defaultaccount', 'wdagutilityaccount', 'system', 'cloudbase-init'])",message="the name is taken by Windows itself; write another one"
	Name string `json:"name,omitempty"`

	// role: Administrator or User; User when left out.
	//
	// +optional
	// +kubebuilder:validation:Enum=Administrator;User
	Role UserRole `json:"role,omitempty"`

	// sshKeys that let the user in, as in authorized_keys.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:Pattern=`^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) [A-Za-z0-9+/]+={0,2}( [ -~]*)?$`
	SSHKeys []string `json:"sshKeys,omitempty"`
}

// DefenderExclusions are left alone by Microsoft Defender.
//
// +kubebuilder:validation:MinProperties=1
type DefenderExclusions struct {
	// folders on drive C:, with all that is in them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=240
	// +kubebuilder:validation:items:Pattern=`^[Cc]:(\\[^<>:"|?*/\\]*[^<>:"|?*/\\. ])+$`
	Folders []string `json:"folders,omitempty"`

	// processes by the names of their programs, such as app.exe.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.-]+[.]exe$`
	Processes []string `json:"processes,omitempty"`
}

// CSIProxy is Kubernetes' helper for CSI drivers that run in containers of their own.
type CSIProxy struct {
	// path of csi-proxy.exe on drive C:; the image or a preJoin script brings it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:Pattern=`^[Cc]:(\\[^<>:"|?*/\\]*[^<>:"|?*/\\. ])*\\[^<>:"|?*/\\]+[.]exe$`
	Path string `json:"path,omitempty"`
}

// AzureCloud is one of Azure's clouds.
type AzureCloud string

// AzureCloudConfig is what the spec of the machine does not say of Azure.
type AzureCloudConfig struct {
	// cloud: AzurePublicCloud, AzureUSGovernmentCloud or AzureChinaCloud; AzurePublicCloud when left out.
	//
	// +optional
	// +kubebuilder:validation:Enum=AzurePublicCloud;AzureUSGovernmentCloud;AzureChinaCloud
	Cloud AzureCloud `json:"cloud,omitempty"`

	// tenantID of the subscription.
	//
	// +required
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	TenantID string `json:"tenantID,omitempty"`

	// userAssignedIdentityID is the client ID of the managed identity of the node; left out, the machine's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	UserAssignedIdentityID string `json:"userAssignedIdentityID,omitempty"`

	// securityGroupName of the subnet.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	SecurityGroupName string `json:"securityGroupName,omitempty"`

	// routeTableName of the subnet.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	RouteTableName string `json:"routeTableName,omitempty"`
}
