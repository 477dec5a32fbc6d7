package step

// Reasons about what a config sets on the node, and about what such settings need of the image.
const (
	// ReasonPageFileFailed: the page file could not be set.
	// Cause: a domain policy, or too little disk space.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonPageFileFailed = "PageFileFailed"

	// ReasonPageFileMissing: Windows has no page file, so programs fail once all memory is committed.
	// Cause: the image has none; set `spec.windows.pageFile.policy` to Managed or Fixed.
	// Run: `kubectl get windowsbootstrapconfig NAME -o jsonpath={.spec.windows.pageFile}`
	ReasonPageFileMissing = "PageFileMissing"

	// ReasonFilesFailed: a file of spec.custom.files could not be written.
	// Cause: a folder has the same path, or disk C: is full.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonFilesFailed = "FilesFailed"

	// ReasonPreJoinScriptFailed: a script of spec.custom.preJoin failed or timed out.
	// Cause: the script's last lines, in the message.
	// Run: `describe`
	ReasonPreJoinScriptFailed = "PreJoinScriptFailed"

	// ReasonPostJoinScriptFailed: a script of spec.custom.postJoin failed or timed out.
	// Cause: the script's last lines, in the message.
	// Run: `describe`
	ReasonPostJoinScriptFailed = "PostJoinScriptFailed"

	// ReasonEveryBootScriptFailed: a script of spec.custom.everyBoot failed or timed out; only a warning.
	// Cause: the script's last lines, in the message.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonEveryBootScriptFailed = "EveryBootScriptFailed"

	// ReasonTrustFailed: a certificate of spec.windows.trustedCertificates could not be added to Windows' store.
	// Cause: a policy that locks the store.
	// Run: `certutil.exe -store Root`
	ReasonTrustFailed = "TrustFailed"

	// ReasonProxyFailed: the proxy variables could not be set.
	// Cause: a policy that locks the registry.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonProxyFailed = "ProxyFailed"

	// ReasonTimeFailed: the time zone or the time servers could not be set.
	// Cause: a time zone that this Windows lacks, or a disabled time service.
	// Run: `w32tm /query /configuration`
	ReasonTimeFailed = "TimeFailed"

	// ReasonFeatureFailed: a Windows feature could not be installed.
	// Cause: a name that Get-WindowsFeature does not list, or an image without feature sources.
	// Run: `Get-WindowsFeature`
	ReasonFeatureFailed = "FeatureFailed"

	// ReasonHypervisorNotRunning: spec.containerd.hyperVIsolation is Enabled, but Windows runs no hypervisor.
	// Cause: a VM without nested virtualization, or an image with disable_hypervisor of image-builder.
	// Run: `sc.exe query vid; bcdedit.exe /enum {current}`
	ReasonHypervisorNotRunning = "HypervisorNotRunning"

	// ReasonUserFailed: a user of spec.windows.users could not be created.
	// Cause: a policy for accounts.
	// Run: `Get-LocalUser`
	ReasonUserFailed = "UserFailed"

	// ReasonDefenderFailed: the exclusions of Microsoft Defender could not be set; only a warning.
	// Cause: a Windows without Defender, or with centrally managed Defender.
	// Run: `Get-MpPreference`
	ReasonDefenderFailed = "DefenderFailed"

	// ReasonVMwareToolsFailed: VMware Tools could not be configured; a warning, but vSphere's cloud controller manager [may leave
	// its taint](network-details.md#the-vswitch-and-its-adapter).
	// Cause: an image with other guest tools, or whose `VMwareToolboxCmd.exe` has no command `config`.
	// Run: `Get-Service VMTools`
	ReasonVMwareToolsFailed = "VMwareToolsFailed"

	// ReasonContainerdConfigFailed: containerd's configuration could not be written, or its service not configured.
	// Cause: disk C: is full or read-only.
	// Run: `Get-Content C:\ProgramData\capwin\agent.log -Tail 50`
	ReasonContainerdConfigFailed = "ContainerdConfigFailed"

	// ReasonContainerdConfigIgnored: containerd does not use spec.containerd, or reads the CNI from other folders than
	// `C:\etc\cni\net.d` and `C:\opt\cni\bin`.
	// Cause: config.toml does not import `C:\Program Files\containerd\conf.d\*.toml`, has version 2 or no conf_dir and bin_dir, or
	// another file has the key.
	// Run: `& 'C:\Program Files\containerd\containerd.exe' config dump`
	ReasonContainerdConfigIgnored = "ContainerdConfigIgnored"

	// ReasonImagePullFailed: an image of spec.containerd.prepullImages could not be pulled; only a warning.
	// Cause: a wrong name, or an unreachable registry.
	// Run: `describe`
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonCSIProxyFailed: csi-proxy does not exist or does not run.
	// Cause: a wrong path in spec.windows.csiProxy.path.
	// Run: `sc.exe qc csiproxy`
	ReasonCSIProxyFailed = "CsiProxyFailed"

	// ReasonDomainJoinFailed: the node could not join the domain of spec.windows.domain.
	// Cause: a DNS server without the domain, or credentials that may not join machines.
	// Run: `Get-Content C:\Windows\debug\NetSetup.LOG -Tail 50`
	ReasonDomainJoinFailed = "DomainJoinFailed"

	// ReasonGMSAPluginFailed: the plug-in of spec.windows.gmsaPlugin is not installed, or could not be registered.
	// Cause: neither the image nor a preJoin script installed it, or a wrong classID.
	// Run: `reg.exe query HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses`
	ReasonGMSAPluginFailed = "GmsaPluginFailed"

	// ReasonContainerdTooOld: containerd is too old: HostProcess containers need 1.7; registries, drop-ins and kubelets from 1.38 on
	// need 2.0; 1.x with Kubernetes 1.36 or 1.37 is a warning.
	// Cause: an old image, or settings in spec.containerd that need a newer one.
	// Run: `& 'C:\Program Files\containerd\containerd.exe' --version`
	ReasonContainerdTooOld = "ContainerdTooOld"

	// ReasonPauseImageMissing: the pause image is not in the image and could not be pulled.
	// Cause: an unreachable registry: set spec.containerd.registries or pauseImage.
	// Run: `& 'C:\Program Files\containerd\ctr.exe' -n k8s.io images list`
	ReasonPauseImageMissing = "PauseImageMissing"

	// ReasonMachineTooSmall: the memory leaves Pods less than 2 GiB; only a warning below 8 GiB, or 100 GB of free disk.
	// Cause: a small VM size or template; `spec.reservations.lowMemoryPolicy` accepts it.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap.warnings}`
	ReasonMachineTooSmall = "MachineTooSmall"

	// ReasonDataDriveFailed: the drive of `spec.windows.dataDrive` does not exist or cannot be made.
	// Cause: no or several disks without partitions; one that has no `UniqueId`, or is gone; a CD-ROM drive of this letter; or
	// another file system than NTFS.
	// Run: `Get-Disk; Get-Volume`
	ReasonDataDriveFailed = "DataDriveFailed"
)
