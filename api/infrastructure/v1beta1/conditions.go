package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsMachine. docs/conditions.md explains each condition and reason, and a test compares that page
// with this file.
const (
	// ReadyCondition is True while the VM runs and its guest has not failed. It does not wait for the Node, of which Cluster
	// API tells in the Machine.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition is True when the machine or its Cluster is paused, and the controller does nothing.
	PausedCondition = clusterv1.PausedCondition

	// VMRunningCondition says whether the VM exists and runs.
	VMRunningCondition = "VMRunning"

	// BootstrapSucceededCondition says what the guest is doing and how that ended. It is Unknown until its Node has joined,
	// True from then on, and False when the guest failed, stopped reporting or brought no Node in time, or when the machine
	// lost its VM, its address or its name before that. A guest that reports a failure is believed even after its Node has
	// joined.
	BootstrapSucceededCondition = "BootstrapSucceeded"

	// LastBootSucceededCondition says how the node's last start went, and whether what the node does in the background after it,
	// such as the start of kube-proxy, has failed for long. It does not affect Ready, because Cluster API watches the Node itself.
	// It appears with the guest's first report of such a start or failure.
	LastBootSucceededCondition = "LastBootSucceeded"

	// CloudReachableCondition says whether the cloud answers for the machine's account. A running machine stays Ready when
	// it does not.
	CloudReachableCondition = "CloudReachable"

	// UserDataRemovedCondition is True when the VM no longer holds user data that its guest, or a user of the cloud, can
	// read: seconds after its Node has joined or its bootstrap has failed. No other condition depends on it.
	UserDataRemovedCondition = "UserDataRemoved"

	// CNIReadyCondition is False when the Node has had no CNI for 15 minutes, and True once it has one after that. It appears with
	// the first such lack, and Ready does not depend on it: the Node's own condition says that no pod can run there.
	CNIReadyCondition = "CNIReady"

	// StalledCondition is True when the machine cannot continue until a user changes something. GitOps tools then fail at
	// once.
	StalledCondition = "Stalled"
)

// Reasons while a machine waits for others.
const (
	// WaitingForOwnerReason: Cluster API has not set the owning Machine yet.
	WaitingForOwnerReason = "WaitingForOwner"

	// OwnerNotSupportedReason: the Machine in ownerReferences uses another WindowsMachine.
	OwnerNotSupportedReason = "OwnerNotSupported"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForIPAddressReason: a pool has not provided an address yet.
	WaitingForIPAddressReason = "WaitingForIPAddress"

	// WaitingForBootstrapDataReason: the user data does not exist yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// BootstrapDataRefusedReason: the Secret that the Machine names is not its bootstrap data.
	BootstrapDataRefusedReason = "BootstrapDataRefused"

	// BootstrapFormatMismatchReason: the image cannot run user data of this format.
	BootstrapFormatMismatchReason = "BootstrapFormatMismatch"

	// WaitingForControlPlaneReason: the control plane is not initialized, or has just been and lacks what kubeadm join reads.
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: the workload cluster has no Linux Node yet that is Ready and known to its cloud provider. It must
	// be one of the control plane, unless that is hosted elsewhere.
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"

	// ControlPlaneNotKubeadmReason: the workload cluster lacks a ConfigMap that kubeadm join reads, five minutes after its control
	// plane was initialized.
	ControlPlaneNotKubeadmReason = "ControlPlaneNotKubeadm"

	// WaitingForPlacementReason: cluster DNS may run on Windows. The message has the command that mends it.
	WaitingForPlacementReason = "WaitingForPlacement"

	// WaitingForClusterDNSReason: there is no Windows Node yet, and no replica of cluster DNS is available.
	WaitingForClusterDNSReason = "WaitingForClusterDNS"

	// WaitingForCNIReason: no Windows machine of the Cluster that has joined has ever had a CNI, and one of the same MachineSet is
	// among them. No VM is made that would have none either.
	WaitingForCNIReason = "WaitingForCNI"

	// WaitingForLinuxPoliciesReason: the policies that keep workloads for Linux off Windows Nodes have just been written to the
	// workload cluster, and do not act yet.
	WaitingForLinuxPoliciesReason = "WaitingForLinuxPolicies"

	// KubeconfigRefusedReason: the kubeconfig of the workload cluster names something that the manager must not use.
	KubeconfigRefusedReason = "KubeconfigRefused"
)

// Reasons about the VM.
const (
	// ProvisioningReason: the cloud is making the VM.
	ProvisioningReason = "Provisioning"

	// RunningReason: the VM runs; of Ready also: its guest has not failed.
	RunningReason = "Running"

	// AddressLostReason: an address in the user data no longer belongs to the machine.
	AddressLostReason = "AddressLost"

	// MACTakenReason: another machine on the same network has the MAC address that this machine would get.
	MACTakenReason = "MACTaken"

	// VMNotRunningReason: the VM exists but does not run.
	VMNotRunningReason = "VMNotRunning"

	// VMEvictedReason: the cloud took the VM's place for others, as it may do with a spot VM.
	VMEvictedReason = "VMEvicted"

	// VMDeallocatedReason: the VM is stopped and has given its place in the cloud back.
	VMDeallocatedReason = "VMDeallocated"

	// VMVanishedReason: the VM existed and is gone. It is not made again.
	VMVanishedReason = "VMVanished"

	// VMMovedReason: the VM was moved to where the controller does not look after it.
	VMMovedReason = "VMMoved"

	// VMNotProvedReason: there is a VM of the machine's name, and nothing proves that it is the machine's or that it is not.
	VMNotProvedReason = "VMNotProved"

	// DeletingReason: the VM is being deleted.
	DeletingReason = "Deleting"
)

// Reasons of events that are no condition's.
const (
	// OrphanedVMReason: a VM was made for a machine of the Cluster that is gone.
	OrphanedVMReason = "OrphanedVM"
	// VMMayRemainReason: a machine is let go, and the cloud did not delete a VM
	// of it at the controller's request. It may run elsewhere.
	VMMayRemainReason = "VMMayRemain"
	// OrphanedResourceReason: a disk, network interface or public IP address without a VM stays in the cloud.
	OrphanedResourceReason = "OrphanedResource"
	// PlacementFindingReason: pods of the workload cluster may come to Windows Nodes and cannot run there, or a Windows Node has no
	// kube-proxy or a wrong one.
	PlacementFindingReason = "PlacementFinding"
	// LinuxNotCheckedReason: a VM is made although the workload cluster does not show all that it should wait for, or although the
	// policies that keep workloads for Linux off Windows Nodes cannot be there.
	LinuxNotCheckedReason = "LinuxNotChecked"
	// ConsoleReadReason: the guest has failed or is silent, and its console says something.
	ConsoleReadReason = "ConsoleRead"
	// ConsoleNotReadReason: the guest has failed or is silent, and the cloud does not show its console.
	ConsoleNotReadReason = "ConsoleNotRead"
)

// Reasons about the user data in the VM.
const (
	// UserDataInUseReason: the guest still needs its user data.
	UserDataInUseReason = "UserDataInUse"

	// RemovingUserDataReason: the user data is being taken out of the VM.
	RemovingUserDataReason = "RemovingUserData"

	// UserDataRemovedReason: the VM holds no user data that its guest, or a user of the cloud, can read.
	UserDataRemovedReason = "UserDataRemoved"
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

	// CredentialsBeingDeletedReason: the Secret with the credentials is being deleted. It stays until the machines are gone
	// that may have a VM, and no new VM is made with it. Those keep it as the reason of CloudReachable, which stays True.
	CredentialsBeingDeletedReason = "CredentialsBeingDeleted"

	// CredentialsTooLargeReason: the Secrets with credentials of the namespace hold more than the controller keeps.
	CredentialsTooLargeReason = "CredentialsTooLarge"

	// CredentialsRejectedReason: the cloud rejects the credentials, or the account lacks a privilege.
	CredentialsRejectedReason = "CredentialsRejected"

	// IdentityMismatchReason: the identity is for another server than the one that has the VM, or may have it.
	IdentityMismatchReason = "IdentityMismatch"

	// CloudUnreachableReason: the cloud does not answer, or answers incorrectly. The controller tries again.
	CloudUnreachableReason = "CloudUnreachable"

	// TooManyAccountsReason: the machines of the namespace already use as many cloud accounts as one namespace may.
	TooManyAccountsReason = "TooManyAccounts"

	// CloudThrottledReason: the cloud limits the rate of calls.
	CloudThrottledReason = "CloudThrottled"

	// CapacityExhaustedReason: a quota or the capacity is used up. The controller tries again at long intervals.
	CapacityExhaustedReason = "CapacityExhausted"

	// SizeNotOfferedReason: the cloud does not offer any of the sizes of the spec at its place.
	SizeNotOfferedReason = "SizeNotOffered"

	// SizeUnsuitableReason: none of the sizes of the spec can do what the spec asks.
	SizeUnsuitableReason = "SizeUnsuitable"

	// CloudTaskFailedReason: the cloud could not make, start or remove the VM now. The controller tries again after a pause.
	CloudTaskFailedReason = "CloudTaskFailed"

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
	// WaitingForGuestReason: the guest has not reported yet. Its VM may still be made.
	WaitingForGuestReason = "WaitingForGuest"

	// WaitingForVMReason: the VM ran and does not run now, so its guest does nothing.
	WaitingForVMReason = "WaitingForVM"

	// BootstrappingReason: the guest is working and reports its progress.
	BootstrappingReason = "Bootstrapping"

	// GuestSilentReason: the VM runs, but its guest has not reported anything within its time limit.
	GuestSilentReason = "GuestSilent"

	// BootstrapOverdueReason: the guest stopped reporting before it finished, and its time limit has passed.
	BootstrapOverdueReason = "BootstrapOverdue"

	// BootstrapFailedReason: the guest gave up without a documented reason.
	BootstrapFailedReason = "BootstrapFailed"

	// WaitingForNodeReason: the guest reports success, but Cluster API has not seen the Node yet.
	WaitingForNodeReason = "WaitingForNode"

	// NodeMissingReason: the guest reported success a while ago, and Cluster API does not find its Node.
	NodeMissingReason = "NodeMissing"

	// JoinedReason: the Node has joined the cluster.
	JoinedReason = "Joined"

	// NodeDeletedReason: the Node had joined and was deleted while its Machine still exists.
	NodeDeletedReason = "NodeDeleted"

	// CNINotReadyReason: the Node has had no CNI for 15 minutes. The message names what brings it.
	CNINotReadyReason = "CNINotReady"

	// CNIReadyReason: the Node has its CNI, which it lacked for long.
	CNIReadyReason = "CNIReady"

	// LastBootRunningReason: the node has started again and runs the steps of every start.
	LastBootRunningReason = "LastBootRunning"

	// LastBootSucceededReason: the steps of the node's last start succeeded, and no later one has failed for long.
	LastBootSucceededReason = "LastBootSucceeded"

	// LastBootFailedReason: the steps of the node's last start, or those behind it, failed without a documented reason.
	LastBootFailedReason = "LastBootFailed"

	// NotStalledReason: the machine can continue without a change by a user.
	NotStalledReason = "NotStalled"

	// InternalErrorReason: a failure without a reason of its own; the message is the error.
	InternalErrorReason = clusterv1.InternalErrorReason
)
