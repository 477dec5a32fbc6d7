package step

import "slices"

// The reasons that a node gives for not joining. A name never changes: alerts and runbooks depend on it.
const (
	ReasonWindowsNotSupported      = "WindowsNotSupported"
	ReasonNodeFilesFailed          = "NodeFilesFailed"
	ReasonAddressesNotSet          = "AddressesNotSet"
	ReasonContainerRuntimeNotReady = "ContainerRuntimeNotReady"
	ReasonKubeletServiceFailed     = "KubeletServiceFailed"
	ReasonKubeletArgsNotApplied    = "KubeletArgsNotApplied"
	ReasonPageFileFailed           = "PageFileFailed"
	ReasonPageFileMissing          = "PageFileMissing"
	ReasonAPIServerUnreachable     = "ApiServerUnreachable"
	ReasonAPIServerCAMismatch      = "ApiServerCaMismatch"
	ReasonTokenRejected            = "TokenRejected"
	ReasonClockWrong               = "ClockWrong"
	ReasonPreflightFailed          = "PreflightFailed"
	ReasonNodeNameTaken            = "NodeNameTaken"
	ReasonTLSBootstrapFailed       = "TLSBootstrapFailed"
	ReasonKubeletNotHealthy        = "KubeletNotHealthy"
	ReasonJoinFailed               = "JoinFailed"
	ReasonNodeNotRegistered        = "NodeNotRegistered"
	ReasonWindowsPatchLevelTooLow  = "WindowsPatchLevelTooLow"
	ReasonStaleNetworks            = "StaleNetworksNotRemoved"
	ReasonNetworkSettingsFailed    = "NetworkSettingsFailed"
	ReasonNetworkNotReady          = "NetworkNotReady"
	ReasonPodCIDRMissing           = "PodCidrMissing"
	ReasonFilesFailed              = "FilesFailed"
	ReasonPreJoinScriptFailed      = "PreJoinScriptFailed"
	ReasonPostJoinScriptFailed     = "PostJoinScriptFailed"
	ReasonImageVersionMismatch     = "ImageVersionMismatch"
	ReasonTrustFailed              = "TrustFailed"
	ReasonProxyFailed              = "ProxyFailed"
	ReasonTimeFailed               = "TimeFailed"
	ReasonFeatureFailed            = "FeatureFailed"
	ReasonUserFailed               = "UserFailed"
	ReasonDefenderFailed           = "DefenderFailed"
	ReasonVMwareToolsFailed        = "VMwareToolsFailed"
	ReasonContainerdConfigFailed   = "ContainerdConfigFailed"
	ReasonImagePullFailed          = "ImagePullFailed"
	ReasonCSIProxyFailed           = "CsiProxyFailed"
	ReasonDomainJoinFailed         = "DomainJoinFailed"
	ReasonGMSAPluginFailed         = "GmsaPluginFailed"
	ReasonContainerdTooOld         = "ContainerdTooOld"
	ReasonPauseImageMissing        = "PauseImageMissing"
	ReasonMachineTooSmall          = "MachineTooSmall"

	// Reasons of the interpreter itself, whatever the plan says.
	ReasonPlanNotUnderstood = "PlanNotUnderstood"
	ReasonBootstrapTimeout  = "BootstrapTimeout"
	ReasonTooManyReboots    = "TooManyReboots"
	ReasonFactsUnavailable  = "FactsUnavailable"
	ReasonInternalError     = "InternalError"
)

// Reason explains one reason to the person with kubectl.
type Reason struct {
	Name    string
	Meaning string
	Cause   string
	// Command shows more, or says what to do.
	Command string
}

// Reasons are all that a node may give for a failed bootstrap. docs/conditions.md lists them; a test compares.
func Reasons() []Reason { return slices.Clone(reasons) }

const (
	describe  = "kubectl describe windowsmachine NAME"
	onTheNode = `Get-Content C:\ProgramData\capwin\agent.log -Tail 50 (on the node)`
)

var reasons = []Reason{
	{
		ReasonWindowsNotSupported,
		"Windows is older than Server 2019, or than Server 2022 if the network mode needs that; with Server " +
			"2019, or with a version after 2025, the node joins with a warning",
		"an image that is too old or too new",
		"kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}",
	},
	{
		ReasonNodeFilesFailed, "files or folders that kubeadm needs could not be written",
		"disk C: is full or read-only",
		onTheNode,
	},
	{
		ReasonAddressesNotSet, "an adapter did not get its addresses, or cannot use them",
		"another computer has the address, or the VM's adapters were changed in the vCenter",
		"Get-NetIPAddress (on the node; AddressState Duplicate: another computer has the address)",
	},
	{
		ReasonContainerRuntimeNotReady, "containerd does not run, or does not answer on its pipe",
		"an image without containerd, or with a broken containerd configuration",
		`Get-Content C:\var\log\containerd\containerd.log -Tail 50 (on the node)`,
	},
	{
		ReasonKubeletServiceFailed, "the kubelet's Windows service could not be created or stopped",
		`an image without C:\k\kubelet.exe, or another program that holds the service`,
		"sc.exe qc kubelet (on the node)",
	},
	{
		ReasonKubeletArgsNotApplied, "the kubelet's service does not have the requested arguments",
		"a script of the image or of the config created the service again during the join",
		`reg.exe query HKLM\SYSTEM\CurrentControlSet\Services\kubelet /v ImagePath (on the node)`,
	},
	{
		ReasonPageFileFailed, "the page file could not be set",
		"a policy of the domain, or not enough space on the disk",
		onTheNode,
	},
	{
		ReasonPageFileMissing, "Windows has no page file, so programs would fail once all memory is committed",
		"the image's page file was turned off; set spec.pageFile.policy to Managed or Fixed",
		"kubectl get windowsbootstrapconfig NAME -o jsonpath={.spec.pageFile}",
	},
	{
		ReasonAPIServerUnreachable, "the API server does not answer the node",
		"a firewall, a missing route or DNS name in the node's network, or an API server that is down",
		"Test-NetConnection HOST -Port 6443 (on the node)",
	},
	{
		ReasonAPIServerCAMismatch, "the certificate of the API server is not signed by this cluster's CA",
		"another cluster behind the endpoint, a proxy that intercepts TLS, or a wrong clock",
		"kubectl get secret CLUSTER-ca -o yaml (tls.crt must be the API server's CA)",
	},
	{
		ReasonTokenRejected, "the cluster does not know the bootstrap token",
		"the token expired before the node started, or was deleted",
		"kubectl delete machine NAME (its replacement gets a new token)",
	},
	{
		ReasonClockWrong, "a certificate is not valid at the node's time",
		"the clock of the host or of the image is wrong",
		"w32tm /query /status (on the node)",
	},
	{
		ReasonPreflightFailed, "kubeadm's preflight checks failed",
		"the last lines name each failed check",
		describe,
	},
	{
		ReasonNodeNameTaken, "the cluster already has a Ready Node of this name",
		"a VM that was not deleted, or another machine of this name",
		"kubectl get node NAME -o wide (workload cluster)",
	},
	{
		ReasonTLSBootstrapFailed, "the kubelet got no certificate",
		"the cluster does not approve or sign the request of a new node",
		"kubectl get csr (workload cluster)",
	},
	{
		ReasonKubeletNotHealthy, "the kubelet does not run, or does not report that it is healthy",
		"a kubelet configuration that this version refuses",
		`Get-Content C:\var\log\kubelet\kubelet.log -Tail 50 (on the node)`,
	},
	{
		ReasonJoinFailed, "kubeadm join failed, or did not finish in time",
		"the last lines are kubeadm's",
		describe,
	},
	{
		ReasonNodeNotRegistered, "the kubelet runs and has its certificate, but its Node does not exist",
		"a label or taint that the API server or its admission refuses; or an image without " +
			`C:\k\kubectl.exe, which checks for the Node`,
		`Select-String register C:\var\log\kubelet\kubelet.log (on the node)`,
	},
	{
		ReasonWindowsPatchLevelTooLow, "Windows lacks an update that the network mode needs",
		"an old image; the message has the build number of the update",
		"kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}",
	},
	{
		ReasonStaleNetworks, "networks, endpoints or files of another CNI or machine could not be removed",
		"the Host Networking Service does not answer, or a program holds a file",
		"Get-HnsNetwork (on the node)",
	},
	{
		ReasonNetworkSettingsFailed, "dynamic ports or firewall rules could not be set",
		"a policy of the domain, or the firewall's service is disabled",
		"Get-Service mpssvc (on the node)",
	},
	{
		ReasonNetworkNotReady,
		"the HNS network of the mode could not be made or got no address, or there is no default route. As a " +
			"warning: its vSwitch has another address than the adapter of the default route",
		"spec.network.interface names a missing interface, or is empty although the node has several " +
			"adapters; DHCP does not answer on the new vSwitch; or the interface already has a vSwitch",
		"Get-HnsNetwork (on the node)",
	},
	{
		ReasonPodCIDRMissing, "the cluster gave the Node no pod CIDR of size /24",
		"a controller manager without --allocate-node-cidrs, with another --node-cidr-mask-size, or without free CIDRs",
		"kubectl get node NAME -o jsonpath={.spec.podCIDRs} (workload cluster)",
	},
	{
		ReasonFilesFailed, "a file of spec.custom.files could not be written",
		"a folder has the same path, or disk C: is full",
		onTheNode,
	},
	{
		ReasonPreJoinScriptFailed, "a script of spec.custom.preJoin failed, or did not finish in time",
		"the last lines are the script's",
		describe,
	},
	{
		ReasonPostJoinScriptFailed, "a script of spec.custom.postJoin failed, or did not finish in time",
		"the last lines are the script's",
		describe,
	},
	{
		ReasonImageVersionMismatch,
		"the image has another minor version of Kubernetes than the Machine wants, or has no kubeadm or " +
			"kubelet; with another patch version the node joins with a warning",
		"spec.version of the Machine was changed without a new image",
		"kubectl get machine NAME -o jsonpath={.spec.version}",
	},
	{
		ReasonTrustFailed, "a certificate of spec.windows.trustedCertificates could not be added to Windows' store",
		"a policy that locks the store",
		"certutil.exe -store Root (on the node)",
	},
	{
		ReasonProxyFailed, "the proxy variables could not be set",
		"a policy that locks the registry",
		onTheNode,
	},
	{
		ReasonTimeFailed, "the time zone or the time servers could not be set",
		"a time zone that this Windows does not know, or a disabled time service",
		"w32tm /query /configuration (on the node)",
	},
	{
		ReasonFeatureFailed, "a Windows feature could not be installed",
		"a name that Get-WindowsFeature does not list, or an image whose feature sources were removed",
		"Get-WindowsFeature (on the node)",
	},
	{
		ReasonUserFailed, "a user of spec.windows.users could not be created",
		"a policy for accounts",
		"Get-LocalUser (on the node)",
	},
	{
		ReasonDefenderFailed, "the exclusions of Microsoft Defender could not be set; the node joins with a warning",
		"a Windows without Defender, or with centrally managed Defender",
		"Get-MpPreference (on the node)",
	},
	{
		ReasonVMwareToolsFailed,
		"VMware Tools could not be configured to report the node's adapters; the node joins with a warning",
		"an image with other guest tools",
		"Get-Service VMTools (on the node)",
	},
	{
		ReasonContainerdConfigFailed,
		"containerd's configuration could not be written, or its service could not be configured",
		"disk C: is full or read-only",
		onTheNode,
	},
	{
		ReasonImagePullFailed,
		"an image of spec.containerd.prepullImages could not be pulled; the node joins with a warning",
		"a wrong name, or a registry that cannot be reached",
		describe,
	},
	{
		ReasonCSIProxyFailed, "csi-proxy does not exist or does not run",
		"a wrong path in spec.windows.csiProxy.path",
		"sc.exe qc csiproxy (on the node)",
	},
	{
		ReasonDomainJoinFailed, "the node could not join the domain of spec.windows.domain",
		"a DNS server that does not know the domain, or credentials that may not join machines",
		`Get-Content C:\Windows\debug\NetSetup.LOG -Tail 50 (on the node)`,
	},
	{
		ReasonGMSAPluginFailed,
		"the plug-in of spec.windows.gmsaPlugin is not installed, or could not be registered with Windows",
		"neither the image nor a preJoin script installed it, or a wrong classID",
		`reg.exe query HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses (on the node)`,
	},
	{
		ReasonContainerdTooOld,
		"the image's containerd is too old: HostProcess containers need 1.7; registries, drop-ins and the like need 2.0",
		"an old image, or settings in spec.containerd that its containerd does not support",
		`& 'C:\Program Files\containerd\containerd.exe' --version (on the node)`,
	},
	{
		ReasonPauseImageMissing, "the pause image is not in the image and could not be pulled",
		"a registry that cannot be reached; use an image that has the pause image, or set " +
			"spec.containerd.registries or spec.containerd.pauseImage",
		`& 'C:\Program Files\containerd\ctr.exe' -n k8s.io images list (on the node)`,
	},
	{
		ReasonMachineTooSmall,
		"the node's memory leaves Pods less than 2 GiB; with less than 8 GiB of memory or 20 GiB of free " +
			"disk space the node joins with a warning",
		"a small VM size or template; spec.reservations.lowMemory accepts it",
		"kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap.warnings}",
	},
	{
		ReasonPlanNotUnderstood, "the agent does not understand its plan",
		"a bug in this provider",
		describe,
	},
	{
		ReasonBootstrapTimeout, "the bootstrap did not finish within spec.deadlineSeconds",
		"a slow disk or network; the phase shows where the time went",
		describe,
	},
	{
		ReasonTooManyReboots, "steps needed more reboots than allowed",
		"a Windows feature or update that never finishes",
		onTheNode,
	},
	{
		ReasonFactsUnavailable, "Windows does not provide the facts about its machine",
		"a broken WMI repository in the image",
		"winmgmt /verifyrepository (on the node)",
	},
	{
		ReasonInternalError, "a failure without a reason of its own",
		"a bug in this provider",
		onTheNode,
	},
}
