package step

import "slices"

// The reasons that a node gives for not joining. A name never changes: alerts and runbooks depend on it.
const (
	// ReasonWindowsNotSupported: Windows is older than Server 2019, or than 2022 if the mode needs that. Server 2019, an unknown
	// build or a Windows for clients joins with a warning.
	// Cause: an image that is too old or too new.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}`
	ReasonWindowsNotSupported = "WindowsNotSupported"

	// ReasonNodeFilesFailed: files or folders of kubeadm, the CNI, kube-proxy or flanneld could not be written.
	// Cause: disk C: is full or read-only, or a program removed the folder or its access.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonNodeFilesFailed = "NodeFilesFailed"

	// ReasonAddressesNotSet: an adapter did not get its addresses, or cannot use them.
	// Cause: another computer has the address (AddressState Duplicate), or the adapters were changed in the vCenter.
	// Run: `Get-NetIPAddress`
	ReasonAddressesNotSet = "AddressesNotSet"

	// ReasonContainerRuntimeNotReady: containerd does not run, or does not answer on its pipe.
	// Cause: an image without containerd, or with a broken configuration of it.
	// Run: `Get-Content C:\var\log\containerd\containerd.log -Tail 50`
	ReasonContainerRuntimeNotReady = "ContainerRuntimeNotReady"

	// ReasonKubeletServiceFailed: the kubelet's Windows service could not be created or stopped.
	// Cause: an image without C:\k\kubelet.exe, or another program that holds the service.
	// Run: `sc.exe qc kubelet`
	ReasonKubeletServiceFailed = "KubeletServiceFailed"

	// ReasonKubeletArgsNotApplied: the kubelet's service lacks the requested arguments.
	// Cause: a script of the image or config created the service again during the join.
	// Run: `reg.exe query HKLM\SYSTEM\CurrentControlSet\Services\kubelet /v ImagePath`
	ReasonKubeletArgsNotApplied = "KubeletArgsNotApplied"

	// ReasonAPIServerUnreachable: the API server does not answer the node.
	// Cause: a firewall, a missing route or DNS name, or an API server that is down.
	// Run: `Test-NetConnection HOST -Port 6443`
	ReasonAPIServerUnreachable = "ApiServerUnreachable"

	// ReasonAPIServerCAMismatch: this cluster's CA did not sign the API server's certificate.
	// Cause: another cluster behind the endpoint, or a proxy that intercepts TLS.
	// Run: `kubectl get secret CLUSTER-ca -o jsonpath='{.data.tls\.crt}' | base64 -d | openssl x509 -noout -subject -dates`
	ReasonAPIServerCAMismatch = "ApiServerCaMismatch"

	// ReasonTokenRejected: the cluster does not accept the bootstrap token.
	// Cause: the token was deleted, or expired before the node started.
	// Run: `kubectl delete machine NAME` (a new one gets a new token)
	ReasonTokenRejected = "TokenRejected"

	// ReasonClockWrong: the clocks of node and API server differ by over five minutes, or a certificate is not valid at the node's
	// time.
	// Cause: a wrong clock of the host or image.
	// Run: `w32tm /query /status`
	ReasonClockWrong = "ClockWrong"

	// ReasonPreflightFailed: kubeadm's preflight checks failed.
	// Cause: the last lines name each failed check.
	// Run: `describe`
	ReasonPreflightFailed = "PreflightFailed"

	// ReasonNodeNameTaken: the cluster already has a Ready Node of this name.
	// Cause: a VM that was not deleted, or another machine of this name.
	// Run: `kubectl get node NAME -o wide` (workload)
	ReasonNodeNameTaken = "NodeNameTaken"

	// ReasonTLSBootstrapFailed: the kubelet got no certificate.
	// Cause: the cluster does not approve or sign a new node's request.
	// Run: `kubectl get csr` (workload)
	ReasonTLSBootstrapFailed = "TLSBootstrapFailed"

	// ReasonKubeletNotHealthy: the kubelet does not run, or does not report healthy.
	// Cause: a kubelet configuration that this version refuses.
	// Run: `Get-Content C:\var\log\kubelet\kubelet.log -Tail 50`
	ReasonKubeletNotHealthy = "KubeletNotHealthy"

	// ReasonJoinFailed: kubeadm join failed or timed out.
	// Cause: kubeadm's last lines, in the message.
	// Run: `describe`
	ReasonJoinFailed = "JoinFailed"

	// ReasonNodeNotRegistered: the kubelet has its certificate, but its Node does not exist.
	// Cause: a label or taint that the API server or its admission refuses; or an image without C:\k\kubectl.exe.
	// Run: `Select-String register C:\var\log\kubelet\kubelet.log`
	ReasonNodeNotRegistered = "NodeNotRegistered"

	// ReasonWindowsTooOld: Windows got its last update over 6 months ago, or does not show when; only a warning.
	// Cause: an old image: bootstraps install no updates.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap.warnings}`
	ReasonWindowsTooOld = "WindowsTooOld"

	// ReasonWindowsPatchLevelTooLow: Windows lacks an update that the mode needs; Server 2019 before 17763.1817, and in `Overlay`
	// 2025 before 26100.6899, join with a warning.
	// Cause: an old image; the message has the update's build number.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.windowsBuild}`
	ReasonWindowsPatchLevelTooLow = "WindowsPatchLevelTooLow"

	// ReasonStaleNetworks: networks, endpoints or files of another CNI or machine remain.
	// Cause: HNS does not answer, or a program holds a file.
	// Run: `Get-HnsNetwork`
	ReasonStaleNetworks = "StaleNetworksNotRemoved"

	// ReasonNetworkSettingsFailed: dynamic ports or firewall rules could not be set; a warning on Azure: UDP port 65330 could not be
	// excluded.
	// Cause: a domain policy, or mpssvc is off in the image; the warning: a program has bound the port.
	// Run: `Get-Service mpssvc`
	ReasonNetworkSettingsFailed = "NetworkSettingsFailed"

	// ReasonNetworkNotReady: the adapter, HNS network, address or default route of the mode is missing; after the join: kube-proxy's
	// HNS network or a valid `C:\run\flannel\subnet.env`; as a warning: the CNI's vSwitch.
	// Cause: spec.network.interface; no DHCP on the new vSwitch, or an older one; the CNI's daemon does not run; or a wrong
	// `network.hnsNetworkName`.
	// Run: `Get-HnsNetwork`
	ReasonNetworkNotReady = "NetworkNotReady"

	// ReasonPodCIDRMissing: the Node has no pod CIDR of size /24.
	// Cause: a controller manager without --allocate-node-cidrs, --node-cidr-mask-size 24, or free CIDRs.
	// Run: `kubectl get node NAME -o jsonpath={.spec.podCIDRs}` (workload)
	ReasonPodCIDRMissing = "PodCidrMissing"

	// ReasonImageVersionMismatch: kubeadm, kubelet or kube-proxy of the image is missing or has another minor version than the
	// Machine; another patch version is a warning.
	// Cause: the Machine's spec.version was changed without a new image.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.version}`
	ReasonImageVersionMismatch = "ImageVersionMismatch"

	// ReasonCNIProgramMissing: a program of the CNI is not in C:\opt\cni\bin.
	// Cause: an image without the plug-ins of Flannel or AzureCNI, which no DaemonSet brings.
	// Run: `Get-ChildItem C:\opt\cni\bin`
	ReasonCNIProgramMissing = "CniProgramMissing"

	// ReasonNodeProgramMissing: kube-proxy.exe, flanneld.exe or nssm.exe is not in C:\k.
	// Cause: an image without the [programs for pods](images.md#programs-for-pods); or your pods run them, and
	// `network.kubeProxy.run` or `network.flannel.run` lacks it.
	// Run: `Get-ChildItem C:\k`
	ReasonNodeProgramMissing = "NodeProgramMissing"

	// ReasonNodeServiceFailed: the service kube-proxy or flanneld cannot be made, stopped or started, or kube-proxy has not set the
	// rules of Services.
	// Cause: the service is marked for deletion or does not stop; or kube-proxy ends repeatedly, has no rights, or gets no source
	// VIP.
	// Run: `Get-Content C:\var\log\kube-proxy\kube-proxy.log -Tail 50`
	ReasonNodeServiceFailed = "NodeServiceFailed"
)

// Reasons of the interpreter itself, whatever the plan has.
const (
	// ReasonPlanNotUnderstood: the agent does not understand its plan.
	// Cause: a bug in this provider.
	// Run: `describe`
	ReasonPlanNotUnderstood = "PlanNotUnderstood"

	// ReasonBootstrapTimeout: the bootstrap exceeded spec.bootstrapDeadlineSeconds.
	// Cause: a slow disk or network; the phase shows where.
	// Run: `describe`
	ReasonBootstrapTimeout = "BootstrapTimeout"

	// ReasonTooManyReboots: steps needed more reboots than allowed.
	// Cause: a Windows feature or update that never finishes.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonTooManyReboots = "TooManyReboots"

	// ReasonFactsUnavailable: Windows does not provide facts about its machine.
	// Cause: a broken WMI repository in the image.
	// Run: `winmgmt /verifyrepository`
	ReasonFactsUnavailable = "FactsUnavailable"

	// ReasonRebootFailed: Windows does not restart; the message has shutdown.exe's exit code or answer.
	// Cause: a policy that forbids restarts, or a shutdown that hangs.
	// Run: `shutdown.exe /r /t 5`
	ReasonRebootFailed = "RebootFailed"

	// ReasonStepHung: Windows does not answer a call of a step, such as one to the Host Networking Service.
	// Cause: the service hangs; restart the machine.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonStepHung = "StepHung"

	// ReasonAddressMissing: the adapter has no IPv4 address outside 169.254.0.0/16, so no vSwitch is made; as a warning: so at the
	// last start.
	// Cause: DHCP does not answer, or the adapter is in another network.
	// Run: `Get-NetIPAddress -AddressFamily IPv4`
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
