package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsMachine. docs/conditions.md explains each condition and reason. make generate writes its
// rows of reasons from the comments here and in reasons.go: meaning, Cause and Run.
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
	// WaitingForOwnerReason: Cluster API has not set the object's Machine, 5 seconds after the object was created.
	// Cause: the object was made by hand, or the Cluster is gone.
	// Run: `kubectl get machines -l cluster.x-k8s.io/cluster-name=CLUSTER`
	WaitingForOwnerReason = "WaitingForOwner"

	// OwnerNotSupportedReason: the owner of the config is no worker Machine, or the Machine in ownerReferences uses another
	// object.
	// Cause: a MachinePool, a control plane, or another kind of infrastructure; or ownerReferences written by hand.
	// Run: `kubectl get windowsmachine,windowsbootstrapconfig NAME -o yaml | grep -A6 ownerReferences`
	OwnerNotSupportedReason = "OwnerNotSupported"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned.
	// Cause: the provider of the Cluster's infrastructure is working or stuck.
	// Run: `clusterctl describe cluster CLUSTER`
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForIPAddressReason: a pool has not provided an address yet.
	// Cause: no IPAM provider runs for the pool's kind, the pool does not exist, or it is used up.
	// Run: `kubectl get ipaddressclaims`
	WaitingForIPAddressReason = "WaitingForIPAddress"

	// WaitingForBootstrapDataReason: the user data does not exist yet.
	// Cause: the WindowsBootstrapConfig waits for this machine, or is another provider's; or your own bootstrap Secret lacks the
	// key `value`.
	// Run: `kubectl describe windowsbootstrapconfig NAME`
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// BootstrapDataRefusedReason: the Secret that the Machine names is not its bootstrap data, so no VM is made.
	// Cause: the Machine's config did not make the Secret; or, without a config, the Secret is not of the type `Opaque` or has the
	// name of a kubeconfig.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.bootstrap}`
	BootstrapDataRefusedReason = "BootstrapDataRefused"

	// BootstrapFormatMismatchReason: the image cannot run user data of this format, so no VM is made.
	// Cause: the Machine's bootstrap config is a KubeadmConfig, or its own Secret has a `format` other than `cloudbase-init`;
	// `image.setup` names what the image runs.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.bootstrap}`
	BootstrapFormatMismatchReason = "BootstrapFormatMismatch"

	// WaitingForControlPlaneReason: the control plane is not initialized, has no endpoint, or is younger than five minutes and
	// lacks a ConfigMap that `kubeadm join` reads.
	// Cause: its first machine is still starting.
	// Run: `clusterctl describe cluster CLUSTER`
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: the workload cluster has no [Linux Node](#what-windows-waits-for) that is Ready and that its
	// cloud provider knows.
	// Cause: no CNI there; no cloud provider took the taint `node.cloudprovider.kubernetes.io/uninitialized` off; no Linux pool
	// beside a hosted control plane; or its API server does not answer or refuses the kubeconfig.
	// Run: `kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key` (workload cluster)
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"

	// ControlPlaneNotKubeadmReason: five minutes after it was initialized, the control plane lacks `kubeadm-config` or
	// `kubelet-config` of kube-system or, without `discovery`, `cluster-info` of kube-public; the object is Stalled.
	// Cause: another program than kubeadm made it, such as k3s, RKE2, Talos or a cloud; or somebody deleted the ConfigMap.
	// Run: `kubectl get configmaps -A --field-selector metadata.name=kubeadm-config` (workload cluster)
	ControlPlaneNotKubeadmReason = "ControlPlaneNotKubeadm"

	// WaitingForPlacementReason: a Deployment of cluster DNS may run on a Windows Node; the object is Stalled.
	// Cause: CoreDNS lost its nodeSelector, or is your own, and tolerates the taint of Windows nodes, or
	// `node.taints` is empty; the message has the command that mends it.
	// Run: `kubectl get deployments -n kube-system -o wide` (workload cluster)
	WaitingForPlacementReason = "WaitingForPlacement"

	// WaitingForClusterDNSReason: the cluster has no Windows Node yet, and no replica of its DNS is available.
	// Cause: no CNI is installed there, or CoreDNS finds no Linux Node that takes its pods.
	// Run: `kubectl get pods -n kube-system -l k8s-app=kube-dns -o wide` (workload cluster)
	WaitingForClusterDNSReason = "WaitingForClusterDNS"

	// WaitingForCNIReason: no Windows Node of the Cluster has had a CNI in its first 15 minutes, and one of them is of the same
	// MachineSet.
	// Cause: the CNI's DaemonSet for Windows is missing or cannot run. Install it; or change the template, as the first machine of
	// another MachineSet does not wait.
	// Run: `kubectl get windowsmachines -l cluster.x-k8s.io/cluster-name=CLUSTER`
	WaitingForCNIReason = "WaitingForCNI"

	// WaitingForLinuxPoliciesReason: the policies that keep Linux workloads off Windows Nodes were just written, and do not act
	// yet.
	// Cause: the first machine of a Cluster; after a minute it goes on without.
	// Run: `kubectl get mutatingadmissionpolicies,validatingadmissionpolicies -l capwin.io/policies` (workload cluster)
	WaitingForLinuxPoliciesReason = "WaitingForLinuxPolicies"

	// KubeconfigRefusedReason: the manager does not use the workload cluster's kubeconfig; the message names the field.
	// Cause: it names a file, a program or a proxy, or has a password or no CA. Use an https server with embedded certificates,
	// keys and tokens.
	// Run: `kubectl describe windowsbootstrapconfig NAME`
	KubeconfigRefusedReason = "KubeconfigRefused"
)
