package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Reasons about the VM.
const (
	// ProvisioningReason: the cloud is making the VM.
	// Cause: a clone takes minutes.
	// Run: `kubectl describe windowsmachine NAME`
	ProvisioningReason = "Provisioning"

	// RunningReason: the VM runs; of `Ready`: and its guest has not failed.
	// Cause: this is the normal state; a message may name a fault of the VM, such as VMware Tools that report no address.
	// Run: `kubectl get windowsmachine NAME -o wide`
	RunningReason = "Running"

	// AddressLostReason: an address in the user data no longer belongs to the machine, or has another prefix length or gateway.
	// Cause: its IPAddressClaim was deleted before the VM was made, or the pool changed.
	// Run: `kubectl delete machine NAME`
	AddressLostReason = "AddressLost"

	// MACTakenReason: another machine on the network, which the message names, has this machine's MAC.
	// Cause: pools of several subnets in one network whose addresses agree in their last 18 bits; with DHCP chance: a new Machine
	// has another MAC.
	// Run: `kubectl get windowsmachines -o jsonpath={.items[*].status.networkInterfaces}`
	MACTakenReason = "MACTaken"

	// VMNotRunningReason: the VM exists but does not run.
	// Cause: it was stopped by a user or by the cloud.
	// Run: `kubectl delete machine NAME`
	VMNotRunningReason = "VMNotRunning"

	// VMEvictedReason: the cloud took the spot VM's place for others.
	// Cause: the capacity is needed, or the price is above the limit. In Azure this may also be a deallocation by a user: `az
	// monitor activity-log list` tells them apart.
	// Run: `kubectl delete machine NAME`
	VMEvictedReason = "VMEvicted"

	// VMDeallocatedReason: the VM is stopped and has given its place in the cloud back.
	// Cause: a user or a schedule deallocated it.
	// Run: start the VM in the cloud, or `kubectl delete machine NAME`
	VMDeallocatedReason = "VMDeallocated"

	// VMVanishedReason: the VM existed and is gone; it is not made again.
	// Cause: it was deleted, or was a spot VM with `evictionPolicy: Delete`; with the [narrow
	// layout](vcenter.md#where-to-give-them) a host may have been added again: look for it before you delete the Machine.
	// Run: `kubectl delete machine NAME`
	VMVanishedReason = "VMVanished"

	// VMMovedReason: the VM was moved to another resource group, or one there has all tags of the machine; the machine is not let
	// go.
	// Cause: somebody moved or copied it by hand.
	// Run: `az resource move` it back, with its disks and network interfaces, or delete it there
	VMMovedReason = "VMMoved"

	// VMNotProvedReason: a VM has the machine's name or UUID, and nothing proves whose it is; the machine is held.
	// Cause: marks were removed after the status was lost; objects [restored without their Secrets](day-two.md#back-up); a
	// restored VM; or a `spec.providerID` written by hand.
	// Run: `az vm show --name COMPUTER --resource-group GROUP --query tags`; the message says what is missing
	VMNotProvedReason = "VMNotProved"

	// DeletingReason: the VM or the node's token is being deleted; a Machine without a VM gets none.
	// Cause: the cloud is working or refuses the deletion; or a `pre-terminate` hook keeps the Machine.
	// Run: `kubectl describe machine NAME`
	DeletingReason = "Deleting"
)

// Reasons of events that are no condition's.
const (
	// OrphanedVMReason: event of a Cluster: a VM of one of its WindowsMachines, which no longer exists; it is left alone.
	// Cause: a user removed the finalizer of a WindowsMachine, or restored a backup that is older than the VM; rarely, a lost
	// leadership.
	// Run: `kubectl get events --field-selector reason=OrphanedVM,involvedObject.name=CLUSTER`
	OrphanedVMReason = "OrphanedVM"
	// VMMayRemainReason: event of a deleted WindowsMachine that may have had a VM, and the cloud did not delete one. It has the
	// VM's IDs and place.
	// Cause: the VM was deleted by hand; or it runs on where the account does not see it, as after a host was added again.
	// Run: look in the cloud for what the event names
	VMMayRemainReason = "VMMayRemain"
	// OrphanedResourceReason: event: a disk, network interface or public IP address seems to be of a VM of ours and stays, because
	// nothing proves it.
	// Cause: its tags or name were changed or copied; it was made before `clusterctl move`; a user removed the finalizer of a
	// WindowsMachine.
	// Run: `kubectl get events -A --field-selector reason=OrphanedResource`
	OrphanedResourceReason = "OrphanedResource"
	// PlacementFindingReason: event of a Cluster: pods for Linux may come to Windows Nodes, a policy is missing, or a Windows Node
	// has no kube-proxy, two, or a wrong one.
	// Cause: a DaemonSet that tolerates every taint and selects nothing; a Windows pool without taints; a kube-proxy that an
	// upgrade left behind.
	// Run: `clusterctl windows check linux --kubeconfig FILE`
	PlacementFindingReason = "PlacementFinding"
	// LinuxNotCheckedReason: event of a WindowsMachine: it goes on although a read by which it [waits for
	// Linux](#what-windows-waits-for) was refused, or the policies are missing or do not act.
	// Cause: the kubeconfig has few rights; Kubernetes before 1.36; an object of ours by name is somebody else's; an admission
	// plug-in is off.
	// Run: `kubectl get events --field-selector reason=LinuxNotChecked`
	LinuxNotCheckedReason = "LinuxNotChecked"
	// ConsoleReadReason: the last lines of the VM's boot log that show how far the guest came.
	// Cause: 2 minutes after a failure, because Azure shows the log late; at once after a silence.
	// Run: `kubectl get events --field-selector reason=ConsoleRead`
	ConsoleReadReason = "ConsoleRead"
	// ConsoleNotReadReason: the boot log was not read, and why.
	// Cause: the identity lacks the action ([azure.md](azure.md#the-custom-role)), or the manager does not reach Azure's storage
	// service.
	// Run: `kubectl get events --field-selector reason=ConsoleNotRead`
	ConsoleNotReadReason = "ConsoleNotRead"
)

// Reasons about the user data in the VM.
const (
	// UserDataInUseReason: the guest still needs its user data, which every program in the VM can read.
	// Cause: this is the normal state until the Node joins.
	// Run: `kubectl describe windowsmachine NAME`
	UserDataInUseReason = "UserDataInUse"

	// RemovingUserDataReason: the Node has joined or the bootstrap has failed, and the cloud is taking the user data away.
	// Cause: this takes seconds.
	// Run: `kubectl describe windowsmachine NAME`
	RemovingUserDataReason = "RemovingUserData"

	// UserDataRemovedReason: the VM holds no user data that its guest or a user of the cloud can read.
	// Cause: this is the normal state of a joined machine.
	// Run: `kubectl get windowsmachine NAME`
	UserDataRemovedReason = "UserDataRemoved"
)

// Reasons from the cloud.
const (
	// CloudNotSupportedReason: this release cannot run machines in the cloud of the spec, or does not know the cloud.
	// Cause: CRDs that are newer than the manager.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec}`
	CloudNotSupportedReason = "CloudNotSupported"

	// CloudNotAskedReason: the controller has not had to call the cloud yet.
	// Cause: the machine waits for something else.
	// Run: `kubectl describe windowsmachine NAME`
	CloudNotAskedReason = "CloudNotAsked"

	// CloudReachableReason: the cloud answers.
	// Cause: this is normal.
	// Run: `kubectl describe windowsmachine NAME`
	CloudReachableReason = "CloudReachable"

	// CredentialsMissingReason: the Secret with the credentials does not exist or is incomplete; or an AzureClusterIdentity is
	// missing, does not allow the namespace, or is [not lent](azure-credentials.md#who-may-use-what) to it.
	// Cause: a wrong name in `identityRef`, a Secret that was not moved, or a missing entry of `--azure-identities`, which the
	// message has.
	// Run: `kubectl get secrets`
	CredentialsMissingReason = "CredentialsMissing"

	// CredentialsBeingDeletedReason: the Secret with the credentials is being deleted, and stays until no machine with a VM needs
	// it; no new VM is made with it.
	// Cause: `kubectl delete` of the Secret or namespace, or a VSphereCluster that takes its Secret along: [a new
	// Secret](#a-secret-that-is-being-deleted).
	// Run: `kubectl get windowsmachines -o custom-columns=NAME:.metadata.name,SECRET:.spec.identityRef.name`
	CredentialsBeingDeletedReason = "CredentialsBeingDeleted"

	// CredentialsTooLargeReason: the Secrets with credentials of the namespace have more than 4 MiB together.
	// Cause: a file that is not a credential in such a Secret.
	// Run: `kubectl get secrets`
	CredentialsTooLargeReason = "CredentialsTooLarge"

	// CredentialsRejectedReason: the cloud rejects the credentials, the account lacks a privilege, or the Secret is of a type that
	// nothing may hold.
	// Cause: a changed password, a changed certificate, or a missing privilege or Azure action, which the message names.
	// Run: `kubectl describe windowsmachine NAME`
	CredentialsRejectedReason = "CredentialsRejected"

	// IdentityMismatchReason: the Secret is for another server than the one that may have the VM; or another WindowsMachine has
	// the same `spec.providerID`. No VM is looked for or made.
	// Cause: `identityRef` or `server` was changed to another vCenter: compare `status.vsphere.server` with `govc about`; or a
	// provider ID written by hand.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.vsphere.server}{.metadata.annotations}`
	IdentityMismatchReason = "IdentityMismatch"

	// CloudUnreachableReason: the cloud does not answer, or answers incorrectly; the controller tries again.
	// Cause: a firewall, a name that does not resolve, or a vCenter that is restarting.
	// Run: `kubectl logs -n capwin-infrastructure-system deploy/capwin-infrastructure-controller-manager`
	CloudUnreachableReason = "CloudUnreachable"

	// TooManyAccountsReason: the machines of the namespace use 16 cloud accounts, its limit.
	// Cause: a Secret for each machine; Secrets with equal credentials share an account.
	// Run: `kubectl get windowsmachines -o custom-columns=NAME:.metadata.name,SECRET:.spec.identityRef.name`
	TooManyAccountsReason = "TooManyAccounts"

	// CloudThrottledReason: the cloud limits the rate of calls.
	// Cause: other users of the same account.
	// Run: `kubectl get windowsmachines -A`
	CloudThrottledReason = "CloudThrottled"

	// CapacityExhaustedReason: a quota or the capacity is used up; the controller tries again.
	// Cause: a full datastore or resource pool, or a quota.
	// Run: `kubectl describe windowsmachine NAME`
	CapacityExhaustedReason = "CapacityExhausted"

	// SizeNotOfferedReason: the cloud offers none of the sizes of the spec in this subscription, location and zone; the controller
	// looks again every hour.
	// Cause: a typing error, a restricted size, or a zone that does not have it.
	// Run: `az vm list-skus --location LOCATION --size SIZE --all --output table`
	SizeNotOfferedReason = "SizeNotOffered"

	// SizeUnsuitableReason: no size of the spec can do what the spec asks, such as an ephemeral disk; the message names the first.
	// Cause: a size of an older or cheaper series; fields that the message names.
	// Run: `az vm list-skus --location LOCATION --size SIZE --output json`
	SizeUnsuitableReason = "SizeUnsuitable"

	// CloudTaskFailedReason: the cloud could not make, start or remove the VM; the controller tries again after 30 seconds to 5
	// minutes.
	// Cause: the message has the cloud's own fault, such as a locked file, or a disk or network that a host cannot reach.
	// Run: `kubectl describe windowsmachine NAME`
	CloudTaskFailedReason = "CloudTaskFailed"

	// SpecInvalidReason: the cloud refuses the spec, or lacks a field that the message names.
	// Cause: a size or device that the template cannot have; the plan of an Azure image, or a disk below its size; a [resource
	// group](azure.md#a-resource-group-of-its-own) where the VM would not be found; a patch of a ClusterClass that did not set the
	// field.
	// Run: `kubectl describe windowsmachine NAME`
	SpecInvalidReason = "SpecInvalid"

	// TemplateNotFoundReason: the cloud does not have the template of the spec.
	// Cause: a typing error, another folder, or an image that was not uploaded or, in Azure, not replicated to the location.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec.vsphere.image}`
	TemplateNotFoundReason = "TemplateNotFound"

	// PlacementNotFoundReason: the cloud does not have a place of the spec, or has several of this name.
	// Cause: a typing error; a resource group, subnet or identity that does not exist yet; a name that is not unique: use the
	// inventory path.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec.vsphere}`
	PlacementNotFoundReason = "PlacementNotFound"

	// NameTakenReason: an object that this provider did not make has the name of the VM or of its network interface.
	// Cause: a VM that was made by hand or by another management cluster.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	NameTakenReason = "NameTaken"
)

// Reasons while the guest bootstraps.
const (
	// WaitingForGuestReason: the guest has not reported yet, or in a form that the controller does not understand.
	// Cause: its VM is being made, or Windows is starting; if it takes long: an image without cloudbase-init.
	// Run: `kubectl describe windowsmachine NAME`
	WaitingForGuestReason = "WaitingForGuest"

	// WaitingForVMReason: the VM ran and does not run now, so its guest does nothing.
	// Cause: see the reason of `VMRunning`.
	// Run: `kubectl describe windowsmachine NAME`
	WaitingForVMReason = "WaitingForVM"

	// BootstrappingReason: the guest is working and reports its progress.
	// Cause: this is normal.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap}`
	BootstrappingReason = "Bootstrapping"

	// GuestSilentReason: the VM runs, but its guest reported nothing in `bootstrapDeadlineSeconds` plus 15 minutes; the machine is
	// Stalled until it does or its Node joins.
	// Cause: an image without cloudbase-init, a guest that cannot reach its host (VMware Tools,
	// `isolation.tools.setInfo.disable`), a Windows that does not start, or another release.
	// Run: the console of the VM `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	GuestSilentReason = "GuestSilent"

	// BootstrapOverdueReason: the guest stopped reporting for the rest of `bootstrapDeadlineSeconds` plus 15 minutes; the machine
	// is Stalled until it reports or its Node joins.
	// Cause: the VM hangs, was reset to a snapshot, or lost its host; a reboot that does not end; or another program that writes
	// reports.
	// Run: the console of the VM `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	BootstrapOverdueReason = "BootstrapOverdue"

	// BootstrapFailedReason: the guest gave up without one of the reasons below.
	// Cause: a guest from another release.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap}`
	BootstrapFailedReason = "BootstrapFailed"

	// WaitingForNodeReason: the guest reports success, but Cluster API has not seen the Node.
	// Cause: the connection of Cluster API to the workload cluster.
	// Run: `kubectl get nodes -o wide` (workload cluster)
	WaitingForNodeReason = "WaitingForNode"

	// NodeMissingReason: 10 minutes after the guest's success, no Node has the machine's provider ID; the machine is Stalled until
	// one has.
	// Cause: the Node was deleted, or a script changed the kubelet's configuration, so that it has no `spec.providerID`.
	// Run: `kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID` (workload cluster)
	NodeMissingReason = "NodeMissing"

	// JoinedReason: the Node has joined.
	// Cause: this is normal.
	// Run: `kubectl get windowsmachine NAME`
	JoinedReason = "Joined"

	// NodeDeletedReason: the Node had joined and was deleted while its Machine exists.
	// Cause: `kubectl delete node`, or a cloud controller that did not find the VM; the kubelet registers its Node again when it
	// starts.
	// Run: `kubectl delete machine NAME`
	NodeDeletedReason = "NodeDeleted"

	// CNINotReadyReason: the Node has had no CNI for 15 minutes, so no pod starts on it; the machine stays Ready, and [a health
	// check](health.md#what-is-replaced) replaces it.
	// Cause: the CNI's DaemonSet for Windows is missing or cannot pull its image; or flanneld does not run.
	// Run: `kubectl describe node NAME` (workload cluster)
	CNINotReadyReason = "CNINotReady"

	// CNIReadyReason: the Node has its CNI, which it lacked for long.
	// Cause: this is normal.
	// Run: `kubectl describe node NAME` (workload cluster)
	CNIReadyReason = "CNIReady"

	// LastBootRunningReason: the node has started again and runs the steps of every start.
	// Cause: this is normal.
	// Run: `kubectl get windowsmachine NAME`
	LastBootRunningReason = "LastBootRunning"

	// LastBootSucceededReason: the steps of the node's last start succeeded, and no step behind it has failed for long.
	// Cause: this is normal.
	// Run: `kubectl get windowsmachine NAME`
	LastBootSucceededReason = "LastBootSucceeded"

	// LastBootFailedReason: the steps of the node's last start, or those in the background, failed without one of the reasons
	// below.
	// Cause: a guest from another release.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.lastBoot}`
	LastBootFailedReason = "LastBootFailed"

	// NotStalledReason: the object can continue without a change by a user.
	// Cause: this is normal.
	// Run: `kubectl describe windowsmachine NAME`
	NotStalledReason = "NotStalled"

	// InternalErrorReason: a failure without a reason of its own; the message is the error, or the first of several.
	// Cause: a bug in this provider, or a conflict that resolves itself.
	// Run: `kubectl logs -n capwin-infrastructure-system deploy/capwin-infrastructure-controller-manager`
	InternalErrorReason = clusterv1.InternalErrorReason
)
