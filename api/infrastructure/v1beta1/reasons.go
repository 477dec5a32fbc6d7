package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Reasons about the VM.
const (
	// ProvisioningReason: the cloud is making the VM.
	// Cause: a clone takes minutes.
	// Run: `describe`
	ProvisioningReason = "Provisioning"

	// RunningReason: the VM runs; of `Ready`: and its guest has not failed.
	// Cause: normal; a message may name a fault, such as VMware Tools that report no address.
	// Run: `kubectl get windowsmachine NAME -o wide`
	RunningReason = "Running"

	// AddressLostReason: an address in the user data no longer belongs to the machine, or has another prefix length or gateway.
	// Cause: its IPAddressClaim was deleted before the VM was made, or the pool changed.
	// Run: `kubectl delete machine NAME`
	AddressLostReason = "AddressLost"

	// MACTakenReason: another machine on the network, which the message names, has this MAC.
	// Cause: [pools of several subnets](networks.md#adapters-and-addresses-on-vsphere) in one network; with DHCP, chance: a new
	// Machine has another MAC.
	// Run: `kubectl get windowsmachines -o jsonpath={.items[*].status.networkInterfaces}`
	MACTakenReason = "MACTaken"

	// VMNotRunningReason: the VM exists but does not run.
	// Cause: a user or the cloud stopped it.
	// Run: `kubectl delete machine NAME`
	VMNotRunningReason = "VMNotRunning"

	// VMEvictedReason: the cloud took the spot VM's place.
	// Cause: no capacity, or a price above the limit; in Azure perhaps a user's deallocation: see `az monitor activity-log list`.
	// Run: `kubectl delete machine NAME`
	VMEvictedReason = "VMEvicted"

	// VMDeallocatedReason: the VM is stopped and has no place in the cloud.
	// Cause: a user or a schedule deallocated it.
	// Run: start the VM in the cloud, or `kubectl delete machine NAME`
	VMDeallocatedReason = "VMDeallocated"

	// VMVanishedReason: the VM existed and is gone; it is not made again.
	// Cause: it was deleted, or evicted with `evictionPolicy: Delete`; with the [narrow layout](vcenter.md#where-to-give-them),
	// perhaps a host was added again: look for the VM first.
	// Run: `kubectl delete machine NAME`
	VMVanishedReason = "VMVanished"

	// VMMovedReason: the VM was moved to another resource group, or a VM there has all tags of the machine; the machine stays.
	// Cause: it was moved or copied by hand.
	// Run: `az resource move` it back, with its disks and network interfaces, or delete it there
	VMMovedReason = "VMMoved"

	// VMNotProvedReason: a VM has the machine's name or UUID, but nothing [proves](security.md#what-is-ours) whose it is; the
	// machine stays.
	// Cause: marks removed after the status was lost; objects [restored without their Secrets](day-two.md#back-up); a restored VM;
	// or a `spec.providerID` written by hand.
	// Run: `az vm show --name COMPUTER --resource-group GROUP --query tags`; the message names what is missing
	VMNotProvedReason = "VMNotProved"

	// DeletingReason: the VM or the node's token is being deleted.
	// Cause: the cloud is working or refuses; or a `pre-terminate` hook keeps the Machine.
	// Run: `kubectl describe machine NAME`
	DeletingReason = "Deleting"
)

// Reasons of events that are no condition's.
const (
	// OrphanedVMReason: event (Cluster): a VM of a WindowsMachine that no longer exists; the VM stays.
	// Cause: a removed finalizer of a WindowsMachine, or a restored backup older than the VM.
	// Run: `kubectl get events --field-selector reason=OrphanedVM,involvedObject.name=CLUSTER`
	OrphanedVMReason = "OrphanedVM"
	// VMMayRemainReason: event (WindowsMachine): the deleted machine may have had a VM, which the cloud did not delete.
	// Cause: the VM was deleted by hand; or the account does not see it, as after a host was added again.
	// Run: look in the cloud for what the event names
	VMMayRemainReason = "VMMayRemain"
	// OrphanedResourceReason: event: a disk, network interface or public IP address seems to be of a VM of ours, but nothing proves
	// it; it stays.
	// Cause: tags or name changed or copied; made before `clusterctl move`; or a removed finalizer of a WindowsMachine.
	// Run: `kubectl get events -A --field-selector reason=OrphanedResource`
	OrphanedResourceReason = "OrphanedResource"
	// PlacementFindingReason: event (Cluster): pods for Linux may land on Windows Nodes, a policy is missing, or a Windows Node has
	// no kube-proxy, two, or a wrong one.
	// Cause: [a DaemonSet that tolerates every taint](placement.md#what-can-go-wrong); a Windows pool without taints; a kube-proxy
	// left by an upgrade.
	// Run: `clusterctl windows check linux --kubeconfig FILE`
	PlacementFindingReason = "PlacementFinding"
	// NamespaceNearLimitReason: event: the namespace has three quarters of [what it
	// may](security.md#what-a-namespace-may-have).
	// Cause: many Secrets, identities or Clusters.
	// Run: `kubectl get events --field-selector reason=NamespaceNearLimit`
	NamespaceNearLimitReason = "NamespaceNearLimit"
	// NamespaceAtLimitReason: event: it has all of that.
	// Cause: the same; the operator can lift it.
	// Run: `kubectl get events --field-selector reason=NamespaceAtLimit`
	NamespaceAtLimitReason = "NamespaceAtLimit"
	// LinuxNotCheckedReason: event (WindowsMachine): it does not [wait for Linux](#what-windows-waits-for), as a read was refused,
	// or policies do not act.
	// Cause: few rights of the kubeconfig; Kubernetes before 1.36; a foreign object of our name; or an admission plug-in that is
	// off.
	// Run: `kubectl get events --field-selector reason=LinuxNotChecked`
	LinuxNotCheckedReason = "LinuxNotChecked"
	// ConsoleReadReason: the last lines of the VM's boot log that show how far the guest came.
	// Cause: a failure 2 minutes ago, or a silence.
	// Run: `kubectl get events --field-selector reason=ConsoleRead`
	ConsoleReadReason = "ConsoleRead"
	// ConsoleNotReadReason: why the boot log was not read.
	// Cause: the identity lacks [the action](azure.md#the-custom-role), or the manager does not reach Azure's storage service.
	// Run: `kubectl get events --field-selector reason=ConsoleNotRead`
	ConsoleNotReadReason = "ConsoleNotRead"
)

// Reasons about the user data in the VM.
const (
	// UserDataInUseReason: the guest still needs its user data, which every program in the VM can read.
	// Cause: normal until the Node joins.
	// Run: `describe`
	UserDataInUseReason = "UserDataInUse"

	// RemovingUserDataReason: the Node has joined or the bootstrap has failed, and the cloud is removing the user data.
	// Cause: this takes seconds.
	// Run: `describe`
	RemovingUserDataReason = "RemovingUserData"

	// UserDataRemovedReason: the VM holds no user data that its guest or a user of the cloud can read.
	// Cause: normal for a joined machine.
	// Run: `describe`
	UserDataRemovedReason = "UserDataRemoved"
)

// Reasons from the cloud.
const (
	// CloudNotSupportedReason: this release cannot run machines in the cloud of the spec.
	// Cause: CRDs that are newer than the manager.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec}`
	CloudNotSupportedReason = "CloudNotSupported"

	// CloudNotAskedReason: the controller has not called the cloud yet.
	// Cause: the machine waits for something else.
	// Run: `describe`
	CloudNotAskedReason = "CloudNotAsked"

	// CloudReachableReason: the cloud answers.
	// Cause: normal.
	// Run: `describe`
	CloudReachableReason = "CloudReachable"

	// CredentialsMissingReason: the Secret with the credentials is missing or incomplete; or an AzureClusterIdentity is missing, or
	// [not allowed or lent](azure-credentials.md#who-may-use-what) to the namespace.
	// Cause: a wrong name in `identityRef`, a Secret that was not moved, or a missing entry of `--azure-identities`, which the
	// message has.
	// Run: `kubectl get secrets`
	CredentialsMissingReason = "CredentialsMissing"

	// CredentialsBeingDeletedReason: the Secret with the credentials is being deleted, and stays while a machine with a VM needs it.
	// Cause: `kubectl delete` of the Secret or namespace, or a VSphereCluster that takes its Secret along: [a new
	// Secret](#a-secret-that-is-being-deleted).
	// Run: `kubectl get windowsmachines -o custom-columns=NAME:.metadata.name,SECRET:.spec.identityRef.name`
	CredentialsBeingDeletedReason = "CredentialsBeingDeleted"

	// CredentialsTooLargeReason: the namespace's Secrets with credentials exceed 4 MiB together.
	// Cause: one contains a file that is no credential.
	// Run: `kubectl get secrets`
	CredentialsTooLargeReason = "CredentialsTooLarge"

	// CredentialsRejectedReason: the cloud rejects the credentials, the account lacks a privilege, or the Secret has a type that
	// nothing may hold.
	// Cause: a changed password or certificate, or a missing right, which the message names.
	// Run: `describe`
	CredentialsRejectedReason = "CredentialsRejected"

	// IdentityMismatchReason: the Secret is for another server than the VM's, or another WindowsMachine has the same
	// `spec.providerID`.
	// Cause: `identityRef` or `server` names another vCenter: compare `status.vsphere.server` with `govc about`; or a provider ID
	// written by hand.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.vsphere.server}{.metadata.annotations}`
	IdentityMismatchReason = "IdentityMismatch"

	// CloudUnreachableReason: the cloud does not answer, or answers incorrectly; tried again.
	// Cause: a firewall, a name that does not resolve, or a vCenter that restarts.
	// Run: `kubectl logs -n capwin-infrastructure-system deploy/capwin-infrastructure-controller-manager`
	CloudUnreachableReason = "CloudUnreachable"

	// TooManyAccountsReason: the namespace's machines use 16 cloud accounts or AzureClusterIdentities, its limit.
	// Cause: a login for each machine.
	// Run: `kubectl get windowsmachines -o custom-columns=NAME:.metadata.name,SECRET:.spec.identityRef.name`
	TooManyAccountsReason = "TooManyAccounts"

	// TooManyPlacesReason: the namespace's machines use 64 resource groups or locations of a cloud account, its limit.
	// Cause: a resource group for each machine.
	// Run: `kubectl get windowsmachines -o custom-columns=NAME:.metadata.name,ID:.spec.providerID`
	TooManyPlacesReason = "TooManyPlaces"

	// CloudThrottledReason: the cloud limits calls.
	// Cause: other users of the account.
	// Run: `kubectl get windowsmachines -A`
	CloudThrottledReason = "CloudThrottled"

	// CapacityExhaustedReason: a quota or the capacity is used up; tried again.
	// Cause: a full datastore or resource pool, or a quota.
	// Run: `describe`
	CapacityExhaustedReason = "CapacityExhausted"

	// SizeNotOfferedReason: the cloud offers none of the spec's sizes in this subscription, location and zone; checked again every
	// hour.
	// Cause: a typing error, a restricted size, or a zone without it.
	// Run: `az vm list-skus --location LOCATION --size SIZE --all --output table`
	SizeNotOfferedReason = "SizeNotOffered"

	// SizeUnsuitableReason: no size of the spec can do what it asks, such as an ephemeral disk; the message names the first.
	// Cause: a size of an older or cheaper series; fields that the message names.
	// Run: `az vm list-skus --location LOCATION --size SIZE --output json`
	SizeUnsuitableReason = "SizeUnsuitable"

	// CloudTaskFailedReason: the cloud could not make, start or remove the VM; tried again after 30 seconds to 5 minutes.
	// Cause: the cloud's fault in the message, such as a locked file, or a disk or network that a host cannot reach.
	// Run: `describe`
	CloudTaskFailedReason = "CloudTaskFailed"

	// SpecInvalidReason: the cloud refuses the spec, or the spec lacks a field that the message names.
	// Cause: a size or device that the template cannot have; an Azure image's plan, or a disk smaller than it; a [resource
	// group](azure.md#a-resource-group-of-its-own) that no label can name; a ClusterClass patch that set no field.
	// Run: `describe`
	SpecInvalidReason = "SpecInvalid"

	// TemplateNotFoundReason: the cloud lacks the template of the spec.
	// Cause: a typing error, another folder, or an image not uploaded or, in Azure, not replicated to the location.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec.vsphere.image}`
	TemplateNotFoundReason = "TemplateNotFound"

	// PlacementNotFoundReason: the cloud lacks a place of the spec, or has several of this name.
	// Cause: a typing error; a missing resource group, subnet or identity; a name that is not unique: use the inventory path.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.spec.vsphere}`
	PlacementNotFoundReason = "PlacementNotFound"

	// NameTakenReason: an object that this provider did not make has the name of the VM or its network interface.
	// Cause: a VM made by hand or by another management cluster.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	NameTakenReason = "NameTaken"
)

// Reasons while the guest bootstraps.
const (
	// WaitingForGuestReason: the guest has not reported yet, or not in a form that the controller understands.
	// Cause: its VM is being made, or Windows starts; if it takes long: an image without cloudbase-init.
	// Run: `describe`
	WaitingForGuestReason = "WaitingForGuest"

	// WaitingForVMReason: the VM ran and is off now, so its guest does nothing.
	// Cause: see the reason of `VMRunning`.
	// Run: `describe`
	WaitingForVMReason = "WaitingForVM"

	// BootstrappingReason: the guest works and reports its progress.
	// Cause: normal.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap}`
	BootstrappingReason = "Bootstrapping"

	// GuestSilentReason: the VM runs, but its guest reported nothing in `bootstrapDeadlineSeconds` plus 15 minutes; Stalled until it
	// does or its Node joins.
	// Cause: an image without cloudbase-init, a guest that cannot reach its host (VMware Tools, `isolation.tools.setInfo.disable`),
	// or a Windows that does not start.
	// Run: VM console of `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	GuestSilentReason = "GuestSilent"

	// BootstrapOverdueReason: the guest stopped reporting for the rest of `bootstrapDeadlineSeconds` plus 15 minutes; Stalled until
	// it reports or its Node joins.
	// Cause: the VM hangs, was reset to a snapshot, or lost its host; or a reboot that does not end.
	// Run: VM console of `kubectl get windowsmachine NAME -o jsonpath={.status.computerName}`
	BootstrapOverdueReason = "BootstrapOverdue"

	// BootstrapFailedReason: the guest gave up without one of the reasons below.
	// Cause: a guest of another release.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.bootstrap}`
	BootstrapFailedReason = "BootstrapFailed"

	// WaitingForNodeReason: the guest reports success, but Cluster API has not seen the Node.
	// Cause: Cluster API's connection to the workload cluster.
	// Run: `kubectl get nodes -o wide` (workload)
	WaitingForNodeReason = "WaitingForNode"

	// NodeMissingReason: 10 minutes after the guest's success, no Node has the machine's provider ID; Stalled until one has.
	// Cause: the Node was deleted, or lacks `spec.providerID` because a script changed the kubelet's configuration.
	// Run: `kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID` (workload)
	NodeMissingReason = "NodeMissing"

	// JoinedReason: the Node has joined.
	// Cause: normal.
	// Run: `describe`
	JoinedReason = "Joined"

	// NodeDeletedReason: the Node had joined and was deleted while its Machine exists.
	// Cause: `kubectl delete node`, or a cloud controller that did not find the VM; a restarted kubelet registers its Node again.
	// Run: `kubectl delete machine NAME`
	NodeDeletedReason = "NodeDeleted"

	// CNINotReadyReason: the Node has had no CNI for 15 minutes, so no pod starts on it; [a health
	// check](health.md#what-is-replaced) replaces the machine.
	// Cause: the CNI's DaemonSet for Windows is missing or cannot pull its image; or flanneld does not run.
	// Run: `kubectl describe node NAME` (workload)
	CNINotReadyReason = "CNINotReady"

	// CNIReadyReason: the Node has a CNI again.
	// Cause: normal.
	// Run: `kubectl describe node NAME` (workload)
	CNIReadyReason = "CNIReady"

	// LastBootRunningReason: the node has started again and runs the steps of every start.
	// Cause: normal.
	// Run: `describe`
	LastBootRunningReason = "LastBootRunning"

	// LastBootSucceededReason: the steps of the node's last start succeeded.
	// Cause: normal.
	// Run: `describe`
	LastBootSucceededReason = "LastBootSucceeded"

	// LastBootFailedReason: steps of the node's last start failed without one of the reasons below.
	// Cause: a guest of another release.
	// Run: `kubectl get windowsmachine NAME -o jsonpath={.status.lastBoot}`
	LastBootFailedReason = "LastBootFailed"

	// NotStalledReason: the object can continue without a change by a user.
	// Cause: normal.
	// Run: `describe`
	NotStalledReason = "NotStalled"

	// InternalErrorReason: a failure without a reason of its own; the message has the first error.
	// Cause: a bug in this provider, or a conflict that resolves itself.
	// Run: `kubectl logs -n capwin-infrastructure-system deploy/capwin-infrastructure-controller-manager`
	InternalErrorReason = clusterv1.InternalErrorReason
)
