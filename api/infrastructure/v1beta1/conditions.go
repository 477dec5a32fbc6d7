package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsMachine. docs/conditions.md explains each condition and reason, and a test compares that page
// with this file.
const (
	// ReadyCondition summarizes the others: it is True when the VM runs, its bootstrap succeeded and its Node has joined.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition is True when the machine or its Cluster is paused, and the controller does nothing.
	PausedCondition = clusterv1.PausedCondition

	// VMProvisionedCondition says whether the VM exists and runs.
	VMProvisionedCondition = "VMProvisioned"

	// BootstrapProgressCondition says what the guest is doing. It is True while the guest works within its time limit and
	// after it has finished, False when the guest gave up or stopped reporting, and Unknown before its first report.
	BootstrapProgressCondition = "BootstrapProgress"

	// BootstrapSucceededCondition says how the bootstrap ended. It is True when the guest reports success or its Node has
	// joined, False when the guest gave up or stopped reporting, and Unknown until then.
	BootstrapSucceededCondition = "BootstrapSucceeded"

	// EveryBootSucceededCondition says how the node's last start after its bootstrap went. It does not affect Ready, because
	// Cluster API watches the Node itself. It appears with the guest's first report of such a start.
	EveryBootSucceededCondition = "EveryBootSucceeded"

	// CloudReachableCondition says whether the cloud answers for the machine's account. A running machine stays Ready when
	// it does not.
	CloudReachableCondition = "CloudReachable"

	// StalledCondition is True when the machine cannot continue until a user changes something. GitOps tools then fail at
	// once.
	StalledCondition = "Stalled"
)

// Reasons while a machine waits for others.
const (
	// WaitingForOwnerReason: Cluster API has not set the owning Machine yet.
	WaitingForOwnerReason = "WaitingForOwner"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForIPAddressReason: a pool has not provided an address yet.
	WaitingForIPAddressReason = "WaitingForIPAddress"

	// WaitingForBootstrapDataReason: the user data does not exist yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// BootstrapFormatMismatchReason: the image cannot run user data of this format.
	BootstrapFormatMismatchReason = "BootstrapFormatMismatch"

	// WaitingForControlPlaneReason: the control plane is not initialized.
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: the workload cluster has no Ready Linux control-plane Node yet.
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"
)

// Reasons about the VM.
const (
	// ProvisioningReason: the cloud is making the VM.
	ProvisioningReason = "Provisioning"

	// ProvisionedReason: the VM runs.
	ProvisionedReason = "Provisioned"

	// AddressLostReason: an address in the user data no longer belongs to the machine.
	AddressLostReason = "AddressLost"

	// MACTakenReason: another machine on the same network has the MAC address that this machine would get.
	MACTakenReason = "MACTaken"

	// VMNotRunningReason: the VM exists but does not run.
	VMNotRunningReason = "VMNotRunning"

	// VMVanishedReason: the VM existed and is gone. It is not made again.
	VMVanishedReason = "VMVanished"

	// DeletingReason: the VM is being deleted.
	DeletingReason = "Deleting"
)

// Reasons from the cloud.
const (
	// CloudNotSupportedReason: this release cannot run machines in the cloud of the spec, or does not know it.
	CloudNotSupportedReason = "CloudNotSupported"

	// CloudNotAskedReason: the controller has not had to call the cloud yet.
	CloudNotAskedReason = "CloudNotAsked"

	// CloudReachableReason: the cloud answers.
	CloudReachableReason = "CloudReachable"

	// CredentialsMissingReason: the Secret with the credentials does not exist or is incomplete.
	CredentialsMissingReason = "CredentialsMissing"

	// CredentialsRejectedReason: the cloud rejects the credentials, or the account lacks a privilege.
	CredentialsRejectedReason = "CredentialsRejected"

	// IdentityMismatchReason: the identity is for another server than the one that has the VM, or may have it.
	IdentityMismatchReason = "IdentityMismatch"

	// CloudUnreachableReason: the cloud does not answer, or answers incorrectly. The controller tries again.
	CloudUnreachableReason = "CloudUnreachable"

	// CloudThrottledReason: the cloud limits the rate of calls.
	CloudThrottledReason = "CloudThrottled"

	// CapacityExhaustedReason: a quota or the capacity is used up. The controller tries again at long intervals.
	CapacityExhaustedReason = "CapacityExhausted"

	// SpecInvalidReason: the cloud refuses the spec, or the spec lacks a field; it must be changed.
	SpecInvalidReason = "SpecInvalid"

	// TemplateNotFoundReason: the cloud does not have the template that the spec names.
	TemplateNotFoundReason = "TemplateNotFound"

	// PlacementNotFoundReason: the cloud does not have a place that the spec names, such as a datacenter, folder or network.
	PlacementNotFoundReason = "PlacementNotFound"

	// NameTakenReason: an object that this provider did not make already has the VM's name. The controller does not touch it.
	NameTakenReason = "NameTaken"
)

// Reasons while the guest bootstraps.
const (
	// BootstrappingReason: the guest is working and reports its progress.
	BootstrappingReason = "Bootstrapping"

	// WaitingForGuestReason: the VM runs, but its guest has not reported yet.
	WaitingForGuestReason = "WaitingForGuest"

	// GuestSilentReason: the VM runs, but its guest has not reported anything within its time limit.
	GuestSilentReason = "GuestSilent"

	// BootstrapOverdueReason: the guest stopped reporting before it finished, and its time limit has passed.
	BootstrapOverdueReason = "BootstrapOverdue"

	// WaitingForNodeReason: the guest reports success, but Cluster API has not seen the Node yet.
	WaitingForNodeReason = "WaitingForNode"

	// BootstrapSucceededReason: the guest reports success.
	BootstrapSucceededReason = "BootstrapSucceeded"

	// BootstrapFailedReason: the guest gave up without a documented reason.
	BootstrapFailedReason = "BootstrapFailed"

	// EveryBootRunningReason: the node has started again and runs the steps of every start.
	EveryBootRunningReason = "EveryBootRunning"

	// EveryBootSucceededReason: the steps of the node's last start succeeded.
	EveryBootSucceededReason = "EveryBootSucceeded"

	// EveryBootFailedReason: the steps of the node's last start failed without a documented reason.
	EveryBootFailedReason = "EveryBootFailed"

	// JoinedReason: the Node has joined the cluster.
	JoinedReason = "Joined"

	// NotStalledReason: the machine can continue without a change by a user.
	NotStalledReason = "NotStalled"

	// InternalErrorReason: a failure without a reason of its own; the message is the error.
	InternalErrorReason = clusterv1.InternalErrorReason
)
