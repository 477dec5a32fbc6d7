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
	ReasonWindowsTooOld            = "WindowsTooOld"
	ReasonWindowsPatchLevelTooLow  = "WindowsPatchLevelTooLow"
	ReasonStaleNetworks            = "StaleNetworksNotRemoved"
	ReasonNetworkSettingsFailed    = "NetworkSettingsFailed"
	ReasonNetworkNotReady          = "NetworkNotReady"
	ReasonPodCIDRMissing           = "PodCidrMissing"
	ReasonFilesFailed              = "FilesFailed"
	ReasonPreJoinScriptFailed      = "PreJoinScriptFailed"
	ReasonPostJoinScriptFailed     = "PostJoinScriptFailed"
	ReasonEveryBootScriptFailed    = "EveryBootScriptFailed"
	ReasonImageVersionMismatch     = "ImageVersionMismatch"
	ReasonTrustFailed              = "TrustFailed"
	ReasonProxyFailed              = "ProxyFailed"
	ReasonTimeFailed               = "TimeFailed"
	ReasonFeatureFailed            = "FeatureFailed"
	ReasonHypervisorNotRunning     = "HypervisorNotRunning"
	ReasonUserFailed               = "UserFailed"
	ReasonDefenderFailed           = "DefenderFailed"
	ReasonVMwareToolsFailed        = "VMwareToolsFailed"
	ReasonContainerdConfigFailed   = "ContainerdConfigFailed"
	ReasonContainerdConfigIgnored  = "ContainerdConfigIgnored"
	ReasonImagePullFailed          = "ImagePullFailed"
	ReasonCSIProxyFailed           = "CsiProxyFailed"
	ReasonDomainJoinFailed         = "DomainJoinFailed"
	ReasonGMSAPluginFailed         = "GmsaPluginFailed"
	ReasonContainerdTooOld         = "ContainerdTooOld"
	ReasonPauseImageMissing        = "PauseImageMissing"
	ReasonMachineTooSmall          = "MachineTooSmall"
	ReasonCNIProgramMissing        = "CniProgramMissing"
	ReasonDataDriveFailed          = "DataDriveFailed"
	ReasonNodeProgramMissing       = "NodeProgramMissing"
	ReasonNodeServiceFailed        = "NodeServiceFailed"

	// Reasons of the interpreter itself, whatever the plan says.
	ReasonPlanNotUnderstood = "PlanNotUnderstood"
	ReasonBootstrapTimeout  = "BootstrapTimeout"
	ReasonTooManyReboots    = "TooManyReboots"
	ReasonFactsUnavailable  = "FactsUnavailable"
	ReasonRebootFailed      = "RebootFailed"
	ReasonStepHung          = "StepHung"
	ReasonInternalError     = "InternalError"
)

// Reasons are all that a node may give for a failed bootstrap. docs/conditions.md says what each means, its likely cause and
// what to run next; a test compares.
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
	ReasonTooManyReboots, ReasonFactsUnavailable, ReasonRebootFailed, ReasonStepHung, ReasonInternalError,
}
