package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsBootstrapConfig. docs/conditions.md explains them and every reason; a test compares it with
// this file.
const (
	// ReadyCondition sums up: the user data is there.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition says that the config, or its Cluster, is paused and nothing is done.
	PausedCondition = clusterv1.PausedCondition

	// DataSecretAvailableCondition says whether the Secret with the user data is there, and what it waits for.
	DataSecretAvailableCondition = "DataSecretAvailable"

	// HasWarningsCondition is True when the user data was rendered, and something in it works only if others have done their
	// part. It stops nothing; False is the normal state.
	HasWarningsCondition = "HasWarnings"

	// StalledCondition is True when only a change by somebody can help: GitOps tools then fail at once.
	StalledCondition = "Stalled"
)

// Reasons while a config waits for others.
const (
	// WaitingForOwnerReason: Cluster API has not yet said which Machine this is for.
	WaitingForOwnerReason = "WaitingForOwner"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForControlPlaneReason: the control plane is not initialised, or has no endpoint.
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: no Ready Linux control-plane Node is seen in the workload cluster.
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"

	// WaitingForControlPlaneVersionReason: the Machine wants a newer Kubernetes than its control plane has.
	WaitingForControlPlaneVersionReason = "WaitingForControlPlaneVersion"

	// WaitingForClusterCAReason: the Secret with the cluster's CA is not there; nothing is rendered that trusts blindly.
	WaitingForClusterCAReason = "WaitingForClusterCA"

	// WaitingForSourcesReason: a Secret or ConfigMap that the config refers to is not there, or lacks the key.
	WaitingForSourcesReason = "WaitingForSources"

	// WaitingForMachineIdentityReason: the infrastructure machine has not said its provider ID and computer name.
	WaitingForMachineIdentityReason = "WaitingForMachineIdentity"

	// WaitingForMachineAddressesReason: pools have not given all addresses of the machine's adapters.
	WaitingForMachineAddressesReason = "WaitingForMachineAddresses"

	// WorkloadUnreachableReason: the workload cluster does not answer; it is asked again.
	WorkloadUnreachableReason = "WorkloadUnreachable"
)

// Reasons once there is something to say.
const (
	// DataSecretAvailableReason: the user data is there.
	DataSecretAvailableReason = "DataSecretAvailable"

	// WarningsGivenReason: the message says what may not work, and which field it comes from.
	WarningsGivenReason = "WarningsGiven"

	// NoWarningsReason: nothing in the config is known to need others.
	NoWarningsReason = "NoWarnings"

	// DataSecretLostReason: the Secret is gone though the VM was made with it; the node's token can no longer be kept.
	DataSecretLostReason = "DataSecretLost"

	// BootstrapTokenReplacedReason: the workload cluster has another token under the id of the node's; it is left alone.
	BootstrapTokenReplacedReason = "BootstrapTokenReplaced"

	// ConfigInvalidReason: no node can come of this config; the message names the field and what to write.
	ConfigInvalidReason = "ConfigInvalid"

	// OwnerNotSupportedReason: the config belongs to something that is not a worker Machine.
	OwnerNotSupportedReason = "OwnerNotSupported"

	// DeletingReason: the token is being removed.
	DeletingReason = "Deleting"

	// NotStalledReason: nothing is in the way that would not go away by itself.
	NotStalledReason = "NotStalled"

	// InternalErrorReason: something failed that has no reason of its own; the message is the error.
	InternalErrorReason = clusterv1.InternalErrorReason
)
