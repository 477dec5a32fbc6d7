package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsBootstrapConfig. docs/conditions.md explains each condition and reason, and a test compares
// that page with this file.
const (
	// ReadyCondition tells how the machine becomes a node: Unknown while it waits or bootstraps, True once its Node has joined,
	// and False when its guest failed, stopped reporting or brought no Node in time, or can no longer exist. Only then does a
	// new Machine help, so a MachineHealthCheck may act on False.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition is True when the config or its Cluster is paused, and the controller does nothing.
	PausedCondition = clusterv1.PausedCondition

	// DataSecretAvailableCondition says whether the Secret with the user data exists and, if not, what it waits for.
	DataSecretAvailableCondition = "DataSecretAvailable"

	// HasWarningsCondition is True when the user data was rendered but something in it may not work, for example because it
	// needs a certain network for the machines. It stops nothing; False is the normal state.
	HasWarningsCondition = "HasWarnings"

	// StalledCondition is True when the config cannot continue until a user changes something. GitOps tools then fail at
	// once.
	StalledCondition = "Stalled"
)

// Reasons while a config waits for others.
const (
	// WaitingForOwnerReason: Cluster API has not set the owning Machine yet.
	WaitingForOwnerReason = "WaitingForOwner"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForControlPlaneReason: the control plane is not initialized, has no endpoint, or has just been initialized and lacks
	// what kubeadm join reads.
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
	// among them. No user data is made for one that would have none either.
	WaitingForCNIReason = "WaitingForCNI"

	// KubeconfigRefusedReason: the kubeconfig of the workload cluster names something that the manager must not use.
	KubeconfigRefusedReason = "KubeconfigRefused"

	// WaitingForControlPlaneVersionReason: the Machine wants a newer Kubernetes than its control plane has.
	WaitingForControlPlaneVersionReason = "WaitingForControlPlaneVersion"

	// WaitingForGuestRightsReason: the workload cluster has just been given the rights and the policy by which guests report, and
	// does not enforce them yet.
	WaitingForGuestRightsReason = "WaitingForGuestRights"

	// GuestRightsNameTakenReason is of an event: the workload cluster has an object with the name of one of those by which guests
	// report, and it is somebody else's. The machine goes on without reports of its guest.
	GuestRightsNameTakenReason = "GuestRightsNameTaken"

	// DaemonRightsRefusedReason: the workload cluster does not let the controller give nodes what kube-proxy or flanneld need on
	// them. No VM is made whose Services or pods would not work.
	DaemonRightsRefusedReason = "DaemonRightsRefused"

	// ObjectContestedReason is of an event about a Cluster: somebody changes or removes an object of capwin's in the workload
	// cluster again and again.
	ObjectContestedReason = "ObjectContested"

	// ClusterNetworkInvalidReason: no node of the config works with the CIDRs of the Cluster's spec.clusterNetwork, such as those
	// that overlap or have IPv6 alone. Nothing is made, and nothing waited for, until the Cluster or the config is changed.
	ClusterNetworkInvalidReason = "ClusterNetworkInvalid"

	// FlannelMismatchReason: the settings of Flannel on the Linux nodes do not fit the config, so that pods on Linux and on
	// Windows would not reach each other. The message has the command that mends them.
	FlannelMismatchReason = "FlannelMismatch"

	// WaitingForClusterCAReason: the Secret with the cluster's CA does not exist. Without it a node cannot verify the API
	// server, so nothing is rendered.
	WaitingForClusterCAReason = "WaitingForClusterCA"

	// WaitingForSourcesReason: a Secret or ConfigMap that the config refers to does not exist, or lacks the key.
	WaitingForSourcesReason = "WaitingForSources"

	// WaitingForMachineIdentityReason: the infrastructure machine has no provider ID or computer name yet.
	WaitingForMachineIdentityReason = "WaitingForMachineIdentity"

	// WaitingForMachineAddressesReason: the machine's adapters have no MACs yet, or have not received all
	// addresses from their pools.
	WaitingForMachineAddressesReason = "WaitingForMachineAddresses"

	// WaitingForMachinePlacementReason: the machine on Azure has no status.azure yet, from which cloudConfigFile is written.
	WaitingForMachinePlacementReason = "WaitingForMachinePlacement"

	// WorkloadUnreachableReason: the workload cluster does not answer; the controller tries again.
	WorkloadUnreachableReason = "WorkloadUnreachable"
)

// Reasons for an outcome. While the machine bootstraps, Ready has the reasons of the WindowsMachine's BootstrapSucceeded.
const (
	// NotYetReportedReason: no controller has seen the config yet.
	NotYetReportedReason = "NotYetReported"

	// JoinedReason: the machine's Node has joined the cluster.
	JoinedReason = "Joined"

	// DataSecretAvailableReason: the user data exists.
	DataSecretAvailableReason = "DataSecretAvailable"

	// WarningsGivenReason: the message says what may not work, and which field causes it.
	WarningsGivenReason = "WarningsGiven"

	// NoWarningsReason: the rendering found nothing in the config that may not work.
	NoWarningsReason = "NoWarnings"

	// DataSecretLostReason: the Secret is gone although the machine needs it: to make its VM, or to renew its node's token.
	DataSecretLostReason = "DataSecretLost"

	// BootstrapTokenReplacedReason: the workload cluster has a different token under the node's token ID. The controller does
	// not touch it.
	BootstrapTokenReplacedReason = "BootstrapTokenReplaced"

	// ConfigInvalidReason: no node can be made from this config. The message names the field and the fix.
	ConfigInvalidReason = "ConfigInvalid"

	// OwnerNotSupportedReason: the owner of the config is not a worker Machine, or that Machine uses another config.
	OwnerNotSupportedReason = "OwnerNotSupported"

	// DeletingReason: the token is being removed.
	DeletingReason = "Deleting"

	// NotStalledReason: the config can continue without a change by a user.
	NotStalledReason = "NotStalled"

	// InternalErrorReason: a failure without a reason of its own; the message is the error.
	InternalErrorReason = clusterv1.InternalErrorReason
)
