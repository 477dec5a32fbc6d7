package step

import "slices"

// The reasons that a node gives for not joining. A name never changes: alerts and runbooks depend on it.
const (
	// ReasonWindowsNotSupported: Windows is older than Server 2019, or than 2022 if the mode needs that. With Server 2019, an
	// unknown build or a Windows for clients the node joins with a warning.
	// Cause: an image that is too old or too new.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}`
	ReasonWindowsNotSupported = "WindowsNotSupported"

	// ReasonNodeFilesFailed: files or folders that kubeadm needs could not be written; in the background: those of the CNI,
	// kube-proxy or flanneld.
	// Cause: disk C: is full or read-only, or a program took away the folder or its access.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50` (on the node)
	ReasonNodeFilesFailed = "NodeFilesFailed"

	// ReasonAddressesNotSet: an adapter did not get its addresses, or cannot use them.
	// Cause: another computer has the address (AddressState Duplicate), or the adapters were changed in the vCenter.
	// Run: `Get-NetIPAddress` (on the node)
	ReasonAddressesNotSet = "AddressesNotSet"

	// ReasonContainerRuntimeNotReady: containerd does not run, or does not answer on its pipe.
	// Cause: an image without containerd, or with a broken containerd configuration.
	// Run: `Get-Content C:\var\log\containerd\containerd.log -Tail 50` (on the node)
	ReasonContainerRuntimeNotReady = "ContainerRuntimeNotReady"

	// ReasonKubeletServiceFailed: the kubelet's Windows service could not be created or stopped.
	// Cause: an image without C:\k\kubelet.exe, or another program that holds the service.
	// Run: `sc.exe qc kubelet` (on the node)
	ReasonKubeletServiceFailed = "KubeletServiceFailed"

	// ReasonKubeletArgsNotApplied: the kubelet's service does not have the requested arguments.
	// Cause: a script of the image or of the config created the service again during the join.
	// Run: `reg.exe query HKLM\SYSTEM\CurrentControlSet\Services\kubelet /v ImagePath` (on the node)
	ReasonKubeletArgsNotApplied = "KubeletArgsNotApplied"

	// ReasonAPIServerUnreachable: the API server does not answer the node.
	// Cause: a firewall, a missing route or DNS name in the node's network, or an API server that is down.
	// Run: `Test-NetConnection HOST -Port 6443` (on the node)
	ReasonAPIServerUnreachable = "ApiServerUnreachable"

	// ReasonAPIServerCAMismatch: the certificate of the API server is not signed by this cluster's CA.
	// Cause: another cluster behind the endpoint, or a proxy that intercepts TLS.
	// Run: `kubectl get secret CLUSTER-ca -o jsonpath='{.data.tls\.crt}' | base64 -d | openssl x509 -noout -subject -dates`
	ReasonAPIServerCAMismatch = "ApiServerCaMismatch"

	// ReasonTokenRejected: the cluster does not know the bootstrap token.
	// Cause: the token expired before the node started, or was deleted.
	// Run: `kubectl delete machine NAME` (its replacement gets a new token)
	ReasonTokenRejected = "TokenRejected"

	// ReasonClockWrong: the clocks of node and API server differ by more than five minutes, or a certificate is not valid at the
	// node's time.
	// Cause: the clock of the host or of the image is wrong; the message has the difference.
	// Run: `w32tm /query /status` (on the node)
	ReasonClockWrong = "ClockWrong"

	// ReasonPreflightFailed: kubeadm's preflight checks failed.
	// Cause: the last lines name each failed check.
	// Run: `kubectl describe windowsmachine NAME`
	ReasonPreflightFailed = "PreflightFailed"

	// ReasonNodeNameTaken: the cluster already has a Ready Node of this name.
	// Cause: a VM that was not deleted, or another machine of this name.
	// Run: `kubectl get node NAME -o wide` (workload cluster)
	ReasonNodeNameTaken = "NodeNameTaken"

	// ReasonTLSBootstrapFailed: the kubelet got no certificate.
	// Cause: the cluster does not approve or sign the request of a new node.
	// Run: `kubectl get csr` (workload cluster)
	ReasonTLSBootstrapFailed = "TLSBootstrapFailed"

	// ReasonKubeletNotHealthy: the kubelet does not run, or does not report that it is healthy.
	// Cause: a kubelet configuration that this version refuses.
	// Run: `Get-Content C:\var\log\kubelet\kubelet.log -Tail 50` (on the node)
	ReasonKubeletNotHealthy = "KubeletNotHealthy"

	// ReasonJoinFailed: kubeadm join failed, or did not finish in time.
	// Cause: the last lines are kubeadm's.
	// Run: `kubectl describe windowsmachine NAME`
	ReasonJoinFailed = "JoinFailed"

	// ReasonNodeNotRegistered: the kubelet has its certificate, but its Node does not exist.
	// Cause: a label or taint that the API server or its admission refuses; or an image without C:\k\kubectl.exe, which checks for
	// the Node.
	// Run: `Select-String register C:\var\log\kubelet\kubelet.log` (on the node)
	ReasonNodeNotRegistered = "NodeNotRegistered"

	// ReasonWindowsTooOld: Windows got its last update more than 6 months ago, or does not show when; the node joins with a
	// warning.
	// Cause: an old image: bootstraps install no updates.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap.warnings}`
	ReasonWindowsTooOld = "WindowsTooOld"

	// ReasonWindowsPatchLevelTooLow: Windows lacks an update that the mode needs; Server 2019 before 17763.1817, and in `Overlay`
	// 2025 before 26100.6899, join with a warning.
	// Cause: an old image; the message has the build number of the update.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}`
	ReasonWindowsPatchLevelTooLow = "WindowsPatchLevelTooLow"

	// ReasonStaleNetworks: networks, endpoints or files of another CNI or machine could not be removed.
	// Cause: the Host Networking Service does not answer, or a program holds a file.
	// Run: `Get-HnsNetwork` (on the node)
	ReasonStaleNetworks = "StaleNetworksNotRemoved"

	// ReasonNetworkSettingsFailed: dynamic ports or firewall rules could not be set; a warning on Azure: UDP port 65330 could not
	// be excluded.
	// Cause: a policy of the domain, or mpssvc is off in the image, which no node can be without; the warning: a program has bound
	// the port.
	// Run: `Get-Service mpssvc` (on the node)
	ReasonNetworkSettingsFailed = "NetworkSettingsFailed"

	// ReasonNetworkNotReady: the adapter, HNS network, address or default route of the mode is missing; in the background:
	// kube-proxy's HNS network or a valid `C:\run\flannel\subnet.env`; as a warning: the CNI's vSwitch.
	// Cause: spec.network.interface, no DHCP on the new vSwitch, or an older one; else the CNI's daemon does not run, or a wrong
	// `network.hnsNetworkName`.
	// Run: `Get-HnsNetwork` (on the node)
	ReasonNetworkNotReady = "NetworkNotReady"

	// ReasonPodCIDRMissing: the cluster gave the Node no pod CIDR of size /24.
	// Cause: a controller manager without --allocate-node-cidrs, with another --node-cidr-mask-size, or without free CIDRs.
	// Run: `kubectl get node NAME -o jsonpath={.spec.podCIDRs}` (workload cluster)
	ReasonPodCIDRMissing = "PodCidrMissing"

	// ReasonImageVersionMismatch: the image has another minor version than the Machine, of kubeadm, kubelet or kube-proxy, or
	// none; another patch version is a warning.
	// Cause: spec.version of the Machine was changed without a new image.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.version}`
	ReasonImageVersionMismatch = "ImageVersionMismatch"

	// ReasonCNIProgramMissing: a program of the CNI is not in C:\opt\cni\bin.
	// Cause: an image without the plug-ins of Flannel or AzureCNI, which no DaemonSet brings.
	// Run: `Get-ChildItem C:\opt\cni\bin` (on the node)
	ReasonCNIProgramMissing = "CniProgramMissing"

	// ReasonNodeProgramMissing: C:\k\kube-proxy.exe, or flanneld.exe or nssm.exe there, is missing.
	// Cause: an image without the [programs for pods](images.md#programs-for-pods); or your pods run them, and
	// `network.kubeProxy.run` or `network.flannel.run` lacks it.
	// Run: `Get-ChildItem C:\k` (on the node)
	ReasonNodeProgramMissing = "NodeProgramMissing"

	// ReasonNodeServiceFailed: the service kube-proxy or flanneld cannot be made, stopped or started; in the background:
	// kube-proxy has not set the rules of Services.
	// Cause: the service is marked for deletion or does not stop; in the background: kube-proxy ends again and again, has no
	// rights, or gets no source VIP.
	// Run: `Get-Content C:\var\log\kube-proxy\kube-proxy.log -Tail 50` (on the node)
	ReasonNodeServiceFailed = "NodeServiceFailed"
)

// Reasons of the interpreter itself, whatever the plan has.
const (
	// ReasonPlanNotUnderstood: the agent does not understand its plan.
	// Cause: a bug in this provider.
	// Run: `kubectl describe windowsmachine NAME`
	ReasonPlanNotUnderstood = "PlanNotUnderstood"

	// ReasonBootstrapTimeout: the bootstrap did not finish within spec.bootstrapDeadlineSeconds.
	// Cause: a slow disk or network; the phase shows where the time went.
	// Run: `kubectl describe windowsmachine NAME`
	ReasonBootstrapTimeout = "BootstrapTimeout"

	// ReasonTooManyReboots: steps needed more reboots than allowed.
	// Cause: a Windows feature or update that never finishes.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50` (on the node)
	ReasonTooManyReboots = "TooManyReboots"

	// ReasonFactsUnavailable: Windows does not provide the facts about its machine.
	// Cause: a broken WMI repository in the image.
	// Run: `winmgmt /verifyrepository` (on the node)
	ReasonFactsUnavailable = "FactsUnavailable"

	// ReasonRebootFailed: Windows does not restart; the message has shutdown.exe's exit code or answer.
	// Cause: a policy that forbids restarts, or a shutdown that hangs.
	// Run: `shutdown.exe /r /t 5` (on the node)
	ReasonRebootFailed = "RebootFailed"

	// ReasonStepHung: Windows does not answer a call of a step, such as one to the Host Networking Service.
	// Cause: the service hangs; a restart of the machine ends what hangs.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50` (on the node)
	ReasonStepHung = "StepHung"

	// ReasonAddressMissing: the adapter has no IPv4 address outside of 169.254.0.0/16, so no vSwitch is made; as a warning: this
	// was so at the last start.
	// Cause: DHCP does not answer, or the adapter is in another network.
	// Run: `Get-NetIPAddress -AddressFamily IPv4` (on the node)
	ReasonAddressMissing = "AddressMissing"

	// ReasonInternalError: a failure without a reason of its own.
	ReasonInternalError = "InternalError"
)

// Reasons are all that a node may give for a failed bootstrap. docs/conditions.md is made from their comments.
func Reasons() []string { return slices.Clone(reasons) }

var reasons = []string{
	ReasonWindowsNotSupported, ReasonNodeFilesFailed, ReasonAddressesNotSet, ReasonContainerRuntimeNotReady,
	ReasonKubeletServiceFailed, ReasonKubeletArgsNotApplied, ReasonPageFileFailed, ReasonPageFileMissing,
	ReasonAPIServerUnreachable, ReasonAPIServerCAMismatch, ReasonTokenRejected, ReasonClockWrong, ReasonPreflightFailed,
	ReasonNodeNameTaken, ReasonTLSBootstrapFailed, ReasonKubeletNotHealthy, ReasonJoinFailed, ReasonNodeNotRegistered,
	ReasonWindowsTooOld, ReasonWindowsPatchLevelTooLow, ReasonStaleNetworks, ReasonNetworkSettingsFailed, ReasonNetworkNotReady,
	ReasonPodCIDRMissing, ReasonFilesFailed, ReasonPreJoinScriptFailed, ReasonPostJoinScriptFailed,
	ReasonEveryBootScriptFailed,
	ReasonImageVersionMismatch, ReasonTrustFailed, ReasonProxyFailed, ReasonTimeFailed, ReasonFeatureFailed,
	ReasonHypervisorNotRunning, ReasonUserFailed, ReasonDefenderFailed, ReasonVMwareToolsFailed, ReasonContainerdConfigFailed,
	ReasonContainerdConfigIgnored, ReasonImagePullFailed, ReasonCSIProxyFailed, ReasonDomainJoinFailed, ReasonGMSAPluginFailed,
	ReasonContainerdTooOld, ReasonPauseImageMissing, ReasonMachineTooSmall, ReasonCNIProgramMissing,
	ReasonDataDriveFailed, ReasonNodeProgramMissing, ReasonNodeServiceFailed, ReasonPlanNotUnderstood, ReasonBootstrapTimeout,
	ReasonTooManyReboots, ReasonFactsUnavailable, ReasonRebootFailed, ReasonStepHung, ReasonAddressMissing, ReasonInternalError,
}
