package v1beta1

// Windows has the settings of Windows itself.
type Windows struct {
	// proxy for Windows, containerd and the kubelet, such as {http:
	// http://proxy.example.com:3128}. Default: none.
	//
	// +optional
	Proxy Proxy `json:"proxy,omitempty,omitzero"`

	// trustedCertificates are CAs that Windows trusts, and with it containerd and
	// the kubelet, in addition to those of the image. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	TrustedCertificates []TrustedCertificate `json:"trustedCertificates,omitempty"`

	// timeZone by the name that Windows has for it, such as W. Europe Standard
	// Time for Europe/Berlin; `tzutil /l` lists all. Default: the image's.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^(UTC([+-][0-9]{2})?|Russia Time Zone [0-9]{1,2}|[A-Z][A-Za-z. -]* Standard Time( \(Mexico\))?)$')`,message=`must be Windows' name of a time zone, such as W. Europe Standard Time for Europe/Berlin; tzutil /l lists them`
	TimeZone string `json:"timeZone,omitempty"`

	// ntpServers from which the node gets the time, such as time.example.com. A
	// member of a domain gets it from the domain instead. Default: the image's.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || (self.matches(r'^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*$') ? !self.matches(r'^[\d.]+$') || isIP(self) : isIP(self))`,message=`must be a host name or an IP address, such as time.example.com, without scheme, port and flags`
	NTPServers []string `json:"ntpServers,omitempty"`

	// pageFile of Windows. A node must have one: if the image has none, set policy
	// to Managed or Fixed. Default: the image's.
	//
	// +optional
	PageFile PageFile `json:"pageFile,omitempty,omitzero"`

	// dataDrive is another drive than C:, for containerd's images and containers,
	// and for the page file if pageFile.policy is Managed or Fixed, such as
	// {letter: D, format: IfEmpty}. Its disk is one of the machine's own, and
	// stays with it. Images of containers that the template brings on C: are not
	// used. Default: none.
	//
	// +optional
	DataDrive DataDrive `json:"dataDrive,omitempty,omitzero"`

	// users that log on by SSH key, such as {name: ops, role: Administrator,
	// sshAuthorizedKeys: [ssh-ed25519 AAAA... ops]}. Their passwords are random
	// and not kept. The image must bring the SSH server. sshd of Windows reads the
	// keys of administrators in one file for all of them, which is replaced.
	// Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="[self.map(one, one.name.lowerAscii())].all(names, names.all(name, names.indexOf(name) == names.lastIndexOf(name)))",message="two users have the same name (Windows ignores case); remove one of them"
	Users []LocalUser `json:"users,omitempty"`

	// features of Windows to install, by their names in Get-WindowsFeature, such
	// as Containers. Windows restarts if they need it. Default: those of the
	// image.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$')`,message=`must be a feature by its name in Get-WindowsFeature, such as Containers or Web-Server`
	Features []string `json:"features,omitempty"`

	// defenderExclusions are not scanned by Microsoft Defender, like the folders
	// and programs of Kubernetes and containerd, which never are. Default: none.
	//
	// +optional
	DefenderExclusions DefenderExclusions `json:"defenderExclusions,omitempty,omitzero"`

	// csiProxy runs csi-proxy as a Windows service. CSI drivers in HostProcess
	// containers do not need it. Default: it does not run.
	//
	// +optional
	CSIProxy CSIProxy `json:"csiProxy,omitempty,omitzero"`

	// domain of Active Directory that the node joins, with a restart, before it
	// joins the cluster. Pods with a gMSA need a domain or gmsaPlugin. The
	// computer account stays in the directory when the node is deleted. Default:
	// none.
	//
	// +optional
	Domain Domain `json:"domain,omitempty,omitzero"`

	// gmsaPlugin gives pods with a gMSA their credentials on a node without a
	// domain. Default: none.
	//
	// +optional
	GMSAPlugin GMSAPlugin `json:"gmsaPlugin,omitempty,omitzero"`
}

// GMSAPlugin is a plug-in of Windows' Container Credential Guard. The image or
// a preJoin script must install it and its COM class.
type GMSAPlugin struct {
	// classID of the plug-in's COM class, without braces, such as
	// CCC2A336-D7F3-4818-A213-272B7924213E for Azure Key Vault. The image or a
	// preJoin script must install the plug-in with its class; a node without it
	// does not join.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')`,message=`must be the ID of a COM class without braces, such as CCC2A336-D7F3-4818-A213-272B7924213E`
	ClassID string `json:"classID,omitempty"`
}

// Domain is a domain of Active Directory.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == (has(self.credentialsRef) && has(self.credentialsRef.name)) && (has(self.name) || !has(self.organizationalUnit))",message="a domain needs name and credentialsRef; set both, or leave out domain"
type Domain struct {
	// name of the domain in DNS, such as corp.example.com.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$')`,message=`must be the name of the domain in DNS, such as corp.example.com, not its short name`
	Name string `json:"name,omitempty"`

	// organizationalUnit of the node's computer account, such as
	// OU=Nodes,DC=corp,DC=example,DC=com. Default: the domain's.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'(?i)^(OU|CN)=([^\x00-\x1f,\\]|\\[^\x00-\x1f])*[^\x00-\x1f,\\ ](,(OU|CN)=([^\x00-\x1f,\\]|\\[^\x00-\x1f])*[^\x00-\x1f,\\ ])*(,DC=[a-z0-9_-]+)+$')`,message=`must be the full distinguished name of an organizational unit, such as OU=Nodes,DC=corp,DC=example,DC=com`
	OrganizationalUnit string `json:"organizationalUnit,omitempty"`

	// credentialsRef names a Secret with the keys username, such as CORP\joiner,
	// and password. The account needs only the right to join machines.
	//
	// +optional
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// Proxy is how the node reaches the networks behind a proxy.
//
// +kubebuilder:validation:XValidation:rule="has(self.http) || has(self.https) || ((!has(self.noProxy) || size(self.noProxy) == 0) && (!has(self.credentialsRef) || !has(self.credentialsRef.name)))",message="set http, https or both"
type Proxy struct {
	// http is the proxy for http, such as http://proxy.example.com:3128.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('@') || (self.matches(r'^https?://([A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?/?$') && isURL(self))`,message=`use scheme, host and port only, such as http://proxy.example.com:3128`,reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule=`!self.contains('@')`,message=`user and password do not belong in a URL, where everybody who can read the config sees them; write credentialsRef and remove them here`,reason=FieldValueForbidden
	HTTP string `json:"http,omitempty"`

	// https is the proxy for https, such as http://proxy.example.com:3128. Its own
	// scheme is usually http.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('@') || (self.matches(r'^https?://([A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?/?$') && isURL(self))`,message=`use scheme, host and port only, such as http://proxy.example.com:3128`,reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule=`!self.contains('@')`,message=`user and password do not belong in a URL, where everybody who can read the config sees them; write credentialsRef and remove them here`,reason=FieldValueForbidden
	HTTPS string `json:"https,omitempty"`

	// noProxy lists hosts, domains, IP addresses and CIDRs that are reached
	// without the proxy: example.com with all names below it, .example.com for
	// these alone. Those of the cluster, of the machine and of the cloud's
	// metadata service are always included. Default: only these.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.contains('*') || (self.matches(r'^\.?[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*(:(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}))?$') ? !self.matches(r'^[\d.:]+$') || isIP(self) : isIP(self) || (isCIDR(self) && string(cidr(self).masked()) == self))`,message=`must be a host, a domain such as .example.com, an IP address, or a CIDR with no bits set after the prefix, such as 10.0.0.0/8`,reason=FieldValueForbidden
	// +kubebuilder:validation:items:XValidation:rule=`!self.contains('*')`,message=`programs do not agree on what * means here; write .local instead of *.local`,reason=FieldValueForbidden
	NoProxy []string `json:"noProxy,omitempty"`

	// credentialsRef names a Secret with the keys username and password, which the
	// proxies in http and https ask for. Every user of the node, every script and
	// every HostProcess container can read them, so use a login that is good for
	// the proxy only. Default: none.
	//
	// +optional
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`
}

// TrustedCertificate has one or more CA certificates.
//
// +kubebuilder:validation:XValidation:rule="has(self.content) != (has(self.contentFrom) && (has(self.contentFrom.secret) && (has(self.contentFrom.secret.name) || has(self.contentFrom.secret.key)) || has(self.contentFrom.configMap) && (has(self.contentFrom.configMap.name) || has(self.contentFrom.configMap.key))))",message="set exactly one of content and contentFrom"
type TrustedCertificate struct {
	// name of the certificate in reports, such as company.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as company`
	Name string `json:"name,omitempty"`

	// content: one or more CA certificates in PEM. Set either content or
	// contentFrom.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`self == '' || (self.matches(r'(?m)^-----BEGIN CERTIFICATE-----[ \t\r]*$') && self.matches(r'(?m)^-----END CERTIFICATE-----[ \t\r]*$') && !self.contains('PRIVATE KEY'))`,message=`must be certificates in PEM and nothing secret: each begins with the line -----BEGIN CERTIFICATE----- and ends with the line -----END CERTIFICATE-----, both without indentation`,reason=FieldValueForbidden
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap that has the certificates in PEM,
	// such as {configMap: {name: company, key: ca.crt}}. Set either content or
	// contentFrom.
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

// LocalUser is one local user of the node.
type LocalUser struct {
	// name of the user, such as ops.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[A-Za-z0-9_][A-Za-z0-9_-]{0,19}$')`,message=`must be letters, digits, dashes and underscores, such as ops, without a domain`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['administrator', 'guest', 'defaultaccount', 'wdagutilityaccount', 'system', 'cloudbase-init'])",message="Windows itself uses this name; use another one"
	Name string `json:"name,omitempty"`

	// role of the user: Administrator or User. Default: User.
	//
	// +optional
	// +kubebuilder:validation:Enum=Administrator;User
	Role UserRole `json:"role,omitempty"`

	// sshAuthorizedKeys are the public keys with which the user logs on, each a
	// line such as ssh-ed25519 AAAA... name.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^(ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) ([A-Za-z0-9+/]+={0,2})( [\x20-\x7e]*)?$')`,message=`must be a public key on one line, as in id_ed25519.pub and without options, such as ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ops@example.com`,reason=FieldValueForbidden
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
}

// DefenderExclusions are excluded from Microsoft Defender.
type DefenderExclusions struct {
	// folders on drive C: with everything in them, such as C:\data.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=240
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])+$') && !self.matches(r'(?i)\\(con|prn|aux|nul|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}]|con(in|out)\$) *(\.[^\\]*)?(\\|$)')`,message=`must be a full path on drive C: with backslashes, such as C:\data, without wildcards, "..", short names such as PROGRA~1, names that end in a dot or blank, and devices such as NUL`
	Folders []string `json:"folders,omitempty"`

	// processes by the file names of their programs, such as app.exe.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule=`self == '' || self.matches(r'^[A-Za-z0-9_.-]{1,60}\.exe$')`,message=`must be the file name of a program without its folder, such as app.exe`
	Processes []string `json:"processes,omitempty"`
}

// CSIProxy is Kubernetes' helper for CSI drivers that do not run in
// HostProcess containers.
type CSIProxy struct {
	// path of csi-proxy.exe on drive C:, such as C:\k\csi-proxy.exe. The image or
	// a preJoin script must bring the program.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])*\\[^\x00-\x1f<>:"|?*/\\~]+\.[Ee][Xx][Ee]$') && !self.matches(r'(?i)\\(con|prn|aux|nul|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}]|con(in|out)\$) *(\.[^\\]*)?(\\|$)')`,message=`must be the full path of a program on drive C: with backslashes, such as C:\k\csi-proxy.exe, without wildcards, "..", short names such as PROGRA~1, and devices such as NUL`
	Path string `json:"path,omitempty"`
}
