package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsMachine. docs/conditions.md explains them and every reason; a test compares it with this file.
const (
	// ReadyCondition sums up: the VM runs, its bootstrap succeeded and its Node has joined.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition says that the machine, or its Cluster, is paused and nothing is done.
	PausedCondition = clusterv1.PausedCondition

	// VMProvisionedCondition says that the VM is there and running.
	VMProvisionedCondition = "VMProvisioned"

	// BootstrapProgressCondition says what the guest does now. It is True while the guest is at work within its time, and
	// once it is done; False when it gave up or nothing more is heard of it; Unknown before it has told anything.
	BootstrapProgressCondition = "BootstrapProgress"

	// BootstrapSucceededCondition says how the bootstrap ended: True when the guest says that it is done, or its Node has
	// joined; False when the guest gave up or nothing more is heard of it; Unknown until then.
	BootstrapSucceededCondition = "BootstrapSucceeded"

	// EveryBootSucceededCondition says how the last start of the node after its bootstrap went. It has no part in Ready:
	// Cluster API watches the Node itself. It is there once the guest has told of such a start.
	EveryBootSucceededCondition = "EveryBootSucceeded"

	// CloudReachableCondition says whether the cloud answers for the machine's account. A running machine stays Ready
	// while it does not.
	CloudReachableCondition = "CloudReachable"

	// StalledCondition is True when only a change by somebody can help: GitOps tools then fail at once.
	StalledCondition = "Stalled"
)

// Reasons while a machine waits for others.
const (
	// WaitingForOwnerReason: Cluster API has not yet said which Machine this is for.
	WaitingForOwnerReason = "WaitingForOwner"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForIPAddressReason: a pool has not given its address yet.
	WaitingForIPAddressReason = "WaitingForIPAddress"

	// WaitingForBootstrapDataReason: there is no user data yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// WaitingForControlPlaneReason: the control plane is not initialised.
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: no Ready Linux control-plane Node is seen in the workload cluster.
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"
)

// Reasons on the way to a VM.
const (
	// ProvisioningReason: the cloud is making the VM.
	ProvisioningReason = "Provisioning"

	// ProvisionedReason: the VM runs.
	ProvisionedReason = "Provisioned"

	// AddressLostReason: an address that the user data was made of is no longer the machine's.
	AddressLostReason = "AddressLost"

	// MACTakenReason: the MAC that follows from an address is that of another machine on the same network.
	MACTakenReason = "MACTaken"

	// VMNotRunningReason: the VM is there but does not run.
	VMNotRunningReason = "VMNotRunning"

	// VMVanishedReason: the VM was there and is gone; no second one is made.
	VMVanishedReason = "VMVanished"

	// DeletingReason: the VM is being removed.
	DeletingReason = "Deleting"
)

// Reasons from the cloud.
const (
	// CloudNotSupportedReason: this release does not run machines in the cloud that the spec names.
	CloudNotSupportedReason = "CloudNotSupported"

	// CloudNotAskedReason: there was nothing to ask the cloud yet.
	CloudNotAskedReason = "CloudNotAsked"

	// CloudReachableReason: the cloud answers.
	CloudReachableReason = "CloudReachable"

	// CredentialsMissingReason: the Secret with the credentials is not there or not complete.
	CredentialsMissingReason = "CredentialsMissing"

	// CredentialsRejectedReason: the cloud does not let us in, or not do what is needed.
	CredentialsRejectedReason = "CredentialsRejected"

	// CloudUnreachableReason: the cloud does not answer, or not as it should; it is asked again.
	CloudUnreachableReason = "CloudUnreachable"

	// CloudThrottledReason: the cloud wants to be asked less often.
	CloudThrottledReason = "CloudThrottled"

	// CapacityExhaustedReason: quota or capacity is used up; it is tried again, slowly.
	CapacityExhaustedReason = "CapacityExhausted"

	// SpecInvalidReason: the cloud refuses the spec; only another spec helps.
	SpecInvalidReason = "SpecInvalid"

	// TemplateNotFoundReason: what the spec names as template is not in the cloud.
	TemplateNotFoundReason = "TemplateNotFound"

	// PlacementNotFoundReason: a place that the spec names (datacenter, folder, network...) is not in the cloud.
	PlacementNotFoundReason = "PlacementNotFound"

	// NameTakenReason: something that is not ours has the name that this VM must have; it is left alone.
	NameTakenReason = "NameTaken"
)

// Reasons while the guest bootstraps.
const (
	// BootstrappingReason: the guest is at work and reports its progress.
	BootstrappingReason = "Bootstrapping"

	// WaitingForGuestReason: the VM runs, its guest has not told anything yet.
	WaitingForGuestReason = "WaitingForGuest"

	// GuestSilentReason: the VM runs, and its guest has told nothing in all the time that it may take.
	GuestSilentReason = "GuestSilent"

	// BootstrapOverdueReason: the guest has told something, and then nothing more in all the time that it may take.
	BootstrapOverdueReason = "BootstrapOverdue"

	// WaitingForNodeReason: the guest says it is done, the Node is not seen yet.
	WaitingForNodeReason = "WaitingForNode"

	// BootstrapSucceededReason: the guest says it is done.
	BootstrapSucceededReason = "BootstrapSucceeded"

	// BootstrapFailedReason: the guest gave up without one of the reasons that are documented.
	BootstrapFailedReason = "BootstrapFailed"

	// EveryBootRunningReason: the node has started again and does what it does at every start.
	EveryBootRunningReason = "EveryBootRunning"

	// EveryBootSucceededReason: the node has done what it does at every start.
	EveryBootSucceededReason = "EveryBootSucceeded"

	// EveryBootFailedReason: a start of the node failed without one of the reasons that are documented.
	EveryBootFailedReason = "EveryBootFailed"

	// JoinedReason: the Node has joined; all is well.
	JoinedReason = "Joined"

	// NotStalledReason: nothing is in the way that would not go away by itself.
	NotStalledReason = "NotStalled"

	// InternalErrorReason: something failed that has no reason of its own; the message is the error.
	InternalErrorReason = clusterv1.InternalErrorReason
)
