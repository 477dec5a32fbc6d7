package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsBootstrapConfig. docs/conditions.md explains each condition and reason. make generate writes
// its rows of reasons from these comments: meaning, Cause and Run. A reason that a WindowsMachine has as well has them there.
const (
	// ReadyCondition is about how the machine becomes a node: Unknown while it waits or bootstraps, True once its Node has joined,
	// and False when its guest failed, stopped reporting or brought no Node in time, or can no longer exist. Only then does a new
	// Machine help, so a MachineHealthCheck may act on False.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition is True when the config or its Cluster is paused, and the controller does nothing.
	PausedCondition = clusterv1.PausedCondition

	// DataSecretAvailableCondition shows whether the Secret with the user data exists and, if not, what it waits for.
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

	// ObjectTooLargeReason: the config, its Machine or its Cluster is larger than what the manager keeps of an object.
	ObjectTooLargeReason = "ObjectTooLarge"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForControlPlaneReason: the control plane is not initialized, has no endpoint, or has just been initialized and lacks
	// what kubeadm join reads.
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: the workload cluster has no Linux Node yet that is Ready and initialized by its cloud provider. It
	// must be one of the control plane, unless that is hosted elsewhere.
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
	// Cause: the pool's version was raised before the control plane's.
	// Run: `kubectl get nodes -l node-role.kubernetes.io/control-plane` (workload)
	WaitingForControlPlaneVersionReason = "WaitingForControlPlaneVersion"

	// WaitingForGuestRightsReason: the rights and the policy by which guests report do not act yet.
	// Cause: the first machine of a cluster in Azure: a minute at most.
	// Run: nothing to do
	WaitingForGuestRightsReason = "WaitingForGuestRights"

	// GuestRightsNameTakenReason: event (config), also in `HasWarnings`: an object by which guests report is not ours, so none may
	// report.
	// Cause: others made or changed it: remove it, or set its label `app.kubernetes.io/managed-by=capwin` to have it replaced
	// ([why](security.md#what-a-node-holds)).
	// Run: `kubectl get roles,rolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings -n capwin-guests
	// --show-labels` (workload)
	GuestRightsNameTakenReason = "GuestRightsNameTaken"

	// DaemonRightsRefusedReason: nodes cannot get the ClusterRole `capwin-kube-proxy` or `capwin-flannel`; event (Cluster): the same
	// for joined nodes, or one cannot be removed.
	// Cause: the kubeconfig may not write RBAC: [apply both yourself](security.md#what-nodes-get-for-their-services); an admission
	// policy; or foreign objects of these names.
	// Run: `kubectl get clusterroles,clusterrolebindings capwin-kube-proxy capwin-flannel` (workload)
	DaemonRightsRefusedReason = "DaemonRightsRefused"

	// ObjectContestedReason: event (Cluster): [an object of ours](security.md#whose-an-object-is) was changed or removed three
	// times.
	// Cause: a GitOps tool, a person or another management cluster: end one, or give the object away by another value of its label
	// `app.kubernetes.io/managed-by`.
	// Run: `kubectl get KIND NAME --show-managed-fields -o yaml` (workload)
	ObjectContestedReason = "ObjectContested"

	// ClusterNetworkInvalidReason: no Windows node works with the Cluster's `spec.clusterNetwork`: [IP
	// families](network-details.md#addresses), overlapping or small CIDRs, or an address of the endpoint or machine in them;
	// Stalled.
	// Cause: the defaults of `POD_CIDR` and `SERVICE_CIDR`. CIDRs of a control plane are fixed: make the Cluster anew.
	// Run: `kubectl get cluster CLUSTER -o jsonpath={.spec.clusterNetwork}`
	ClusterNetworkInvalidReason = "ClusterNetworkInvalid"

	// FlannelMismatchReason: ConfigMap `kube-flannel-cfg` of `kube-flannel` or `kube-system` does not fit the config.
	// Cause: Flannel's manifest has VNI 1 and port 8472, which Windows refuses, or another backend than `mode` needs; the message
	// has the fix.
	// Run: `kubectl get configmap -n kube-flannel kube-flannel-cfg -o yaml` (workload)
	FlannelMismatchReason = "FlannelMismatch"

	// WaitingForClusterCAReason: the Secret with the cluster's CA does not exist; Stalled.
	// Cause: the control plane provider has not made it, or keeps the CA elsewhere: then set `spec.discovery`.
	// Run: `kubectl get secret CLUSTER-ca`
	WaitingForClusterCAReason = "WaitingForClusterCA"

	// WaitingForSourcesReason: a Secret or ConfigMap of the config is not there, or lacks the key (Stalled), or waits for its turn.
	// Cause: a wrong name, or not moved by `clusterctl move`.
	// Run: `kubectl get secrets,configmaps`
	WaitingForSourcesReason = "WaitingForSources"

	// WaitingForMachineIdentityReason: the WindowsMachine has no provider ID or computer name yet.
	// Cause: the infrastructure manager does not run.
	// Run: `kubectl get pods -n capwin-infrastructure-system`
	WaitingForMachineIdentityReason = "WaitingForMachineIdentity"

	// WaitingForMachineAddressesReason: the machine's adapters lack MACs, or addresses from their pools.
	// Cause: see `WaitingForIPAddress` of the WindowsMachine.
	// Run: `kubectl get ipaddressclaims`
	WaitingForMachineAddressesReason = "WaitingForMachineAddresses"

	// WaitingForMachinePlacementReason: the config has `node.cloudConfigFile`, and the WindowsMachine has no `status.azure` yet.
	// Cause: it is new, or its subscription or network was not found; see its Ready condition.
	// Run: `kubectl describe windowsmachine NAME`
	WaitingForMachinePlacementReason = "WaitingForMachinePlacement"

	// WorkloadUnreachableReason: the workload cluster does not answer, or refuses its kubeconfig; tried again.
	// Cause: a load balancer, the network between the clusters, or an expired token or certificate.
	// Run: `clusterctl get kubeconfig CLUSTER`
	WorkloadUnreachableReason = "WorkloadUnreachable"
)

// Reasons for an outcome. While the machine bootstraps, Ready has the reasons of the WindowsMachine's BootstrapSucceeded.
const (
	// NotYetReportedReason: no controller has seen the config yet.
	// Cause: the bootstrap manager does not run, or its watch filter leaves the config out.
	// Run: `kubectl get pods -n capwin-bootstrap-system`
	NotYetReportedReason = "NotYetReported"

	// JoinedReason: the machine's Node has joined the cluster.
	JoinedReason = "Joined"

	// DataSecretAvailableReason: the user data exists.
	// Cause: normal.
	// Run: `describe`
	DataSecretAvailableReason = "DataSecretAvailable"

	// WarningsGivenReason: the message has what may not work, and the field that causes it.
	// Cause: a mode or CNI that needs something of the machines' network, or a DaemonSet of a second kube-proxy.
	// Run: `describe`
	WarningsGivenReason = "WarningsGiven"

	// NoWarningsReason: nothing in the config was found that may not work.
	// Cause: normal.
	// Run: `describe`
	NoWarningsReason = "NoWarnings"

	// DataSecretLostReason: the Secret that the machine needs, for its VM or its node's token, is gone.
	// Cause: the Secret was deleted.
	// Run: `kubectl delete machine NAME`
	DataSecretLostReason = "DataSecretLost"

	// BootstrapTokenReplacedReason: the workload cluster has another token under the node's token ID; it stays.
	// Cause: the token's Secret was changed.
	// Run: `kubectl delete machine NAME`
	BootstrapTokenReplacedReason = "BootstrapTokenReplaced"

	// ConfigInvalidReason: no node can be made from this config; the message names the field and the fix.
	// Cause: a version or an endpoint that does not fit.
	// Run: `describe`
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
