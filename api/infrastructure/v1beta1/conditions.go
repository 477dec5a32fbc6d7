package v1beta1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// The conditions of a WindowsMachine. docs/conditions.md explains each condition and reason. make generate writes its
// rows of reasons from the comments here and in reasons.go: meaning, Cause and Run.
const (
	// ReadyCondition is True while the VM runs and its guest has not failed. It does not wait for the Node, which Cluster API
	// reports in the Machine.
	ReadyCondition = clusterv1.ReadyCondition

	// PausedCondition is True when the machine or its Cluster is paused, and the controller does nothing.
	PausedCondition = clusterv1.PausedCondition

	// VMRunningCondition shows whether the VM exists and runs.
	VMRunningCondition = "VMRunning"

	// BootstrapSucceededCondition shows what the guest is doing and how that ended. It is Unknown until its Node has joined, True
	// from then on, and False when the guest failed, stopped reporting or brought no Node in time, or when the machine lost its VM,
	// its address or its name before that. A guest that reports a failure is believed even after its Node has joined.
	BootstrapSucceededCondition = "BootstrapSucceeded"

	// LastBootSucceededCondition shows how the node's last start went, and whether what the node does in the background after it,
	// such as the start of kube-proxy, has failed for long. It does not affect Ready, because Cluster API watches the Node itself.
	// It appears with the guest's first report of such a start or failure.
	LastBootSucceededCondition = "LastBootSucceeded"

	// CloudReachableCondition shows whether the cloud answers for the machine's account. A running machine stays Ready when it does
	// not.
	CloudReachableCondition = "CloudReachable"

	// UserDataRemovedCondition is True when the VM no longer holds user data that its guest, or a user of the cloud, can
	// read: seconds after its Node has joined or its bootstrap has failed. No other condition depends on it.
	UserDataRemovedCondition = "UserDataRemoved"

	// CNIReadyCondition is False when the Node has had no CNI for 15 minutes, and True once it has one after that. It appears with
	// the first such lack, and Ready does not depend on it: the Node's own condition shows that no pod can run there.
	CNIReadyCondition = "CNIReady"

	// StalledCondition is True when the machine cannot continue until a user changes something. GitOps tools then fail at
	// once.
	StalledCondition = "Stalled"
)

// Reasons while a machine waits for others.
const (
	// WaitingForOwnerReason: the object has no Machine from Cluster API, 30 seconds after its creation.
	// Cause: the object was made by hand, or the Cluster is gone.
	// Run: `kubectl get machines -l cluster.x-k8s.io/cluster-name=CLUSTER`
	WaitingForOwnerReason = "WaitingForOwner"

	// OwnerNotSupportedReason: the config's owner is not a worker Machine, or the Machine in ownerReferences uses another object.
	// Cause: a MachinePool, a control plane, other infrastructure, or ownerReferences written by hand.
	// Run: `kubectl get windowsmachine,windowsbootstrapconfig NAME -o yaml | grep -A6 ownerReferences`
	OwnerNotSupportedReason = "OwnerNotSupported"

	// ObjectTooLargeReason: the object, its Machine or its Cluster has more than 128 KiB; only a deletion goes on.
	// Cause: annotations or labels that a program adds; an object of an earlier release.
	// Run: `kubectl get KIND NAME -o json | jq '.metadata.annotations | map_values(length)'`
	ObjectTooLargeReason = "ObjectTooLarge"

	// WaitingForClusterInfrastructureReason: the Cluster's own infrastructure is not provisioned.
	// Cause: its provider is working or stuck.
	// Run: `clusterctl describe cluster CLUSTER`
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// WaitingForIPAddressReason: a pool has not provided an address yet.
	// Cause: the pool does not exist or is used up, or no IPAM provider runs for its kind.
	// Run: `kubectl get ipaddressclaims`
	WaitingForIPAddressReason = "WaitingForIPAddress"

	// WaitingForBootstrapDataReason: the user data does not exist yet.
	// Cause: the WindowsBootstrapConfig waits; or your own bootstrap Secret lacks the key `value`.
	// Run: `kubectl describe windowsbootstrapconfig NAME`
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// BootstrapDataRefusedReason: the Secret that the Machine names is not its bootstrap data.
	// Cause: the Machine's config did not make it; or, without a config, its type is not `Opaque` or its name is a kubeconfig's.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.bootstrap}`
	BootstrapDataRefusedReason = "BootstrapDataRefused"

	// BootstrapFormatMismatchReason: the image cannot run user data of this format.
	// Cause: a KubeadmConfig, or your own Secret, has a `format` other than `cloudbase-init`; `image.setup` names the image's.
	// Run: `kubectl get machine NAME -o jsonpath={.spec.bootstrap}`
	BootstrapFormatMismatchReason = "BootstrapFormatMismatch"

	// WaitingForControlPlaneReason: the control plane is not initialized, has no endpoint, or, for five minutes, lacks a ConfigMap
	// that `kubeadm join` reads.
	// Cause: its first machine starts.
	// Run: `clusterctl describe cluster CLUSTER`
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// WaitingForLinuxNodeReason: the workload cluster has no [Linux Node](#what-windows-waits-for) that is Ready and initialized by
	// its cloud provider.
	// Cause: no CNI; no cloud provider that removes the taint `node.cloudprovider.kubernetes.io/uninitialized`; a hosted control
	// plane without a Linux pool; or an API server that does not answer.
	// Run: `kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key` (workload)
	WaitingForLinuxNodeReason = "WaitingForLinuxNode"

	// ControlPlaneNotKubeadmReason: five minutes after its initialization the control plane lacks `kubeadm-config` or
	// `kubelet-config` of kube-system or, without `discovery`, `cluster-info` of kube-public; Stalled.
	// Cause: kubeadm did not make it (k3s, RKE2, Talos, a cloud), or the ConfigMap was deleted.
	// Run: `kubectl get configmaps -A --field-selector metadata.name=kubeadm-config` (workload)
	ControlPlaneNotKubeadmReason = "ControlPlaneNotKubeadm"

	// WaitingForPlacementReason: a Deployment of cluster DNS may run on a Windows Node; Stalled.
	// Cause: CoreDNS lost its nodeSelector or is your own, and tolerates the taint of Windows nodes, or `node.taints` is empty; the
	// message has the fix.
	// Run: `kubectl get deployments -n kube-system -o wide` (workload)
	WaitingForPlacementReason = "WaitingForPlacement"

	// WaitingForClusterDNSReason: the cluster has no Windows Node yet, and no available replica of its DNS.
	// Cause: no CNI, or no Linux Node for CoreDNS's pods.
	// Run: `kubectl get pods -n kube-system -l k8s-app=kube-dns -o wide` (workload)
	WaitingForClusterDNSReason = "WaitingForClusterDNS"

	// WaitingForCNIReason: no Windows Node of the Cluster had a CNI in its first 15 minutes, and one is of this MachineSet.
	// Cause: the CNI's DaemonSet for Windows is missing or cannot run. Install it, or change the template.
	// Run: `kubectl get windowsmachines -l cluster.x-k8s.io/cluster-name=CLUSTER`
	WaitingForCNIReason = "WaitingForCNI"

	// WaitingForLinuxPoliciesReason: the policies that keep Linux workloads off Windows Nodes do not act yet.
	// Cause: a Cluster's first machine: a minute at most.
	// Run: `kubectl get mutatingadmissionpolicies,validatingadmissionpolicies -l capwin.io/policies` (workload)
	WaitingForLinuxPoliciesReason = "WaitingForLinuxPolicies"

	// KubeconfigRefusedReason: the manager does not use the workload cluster's kubeconfig; the message names the field.
	// Cause: a file, program, proxy or password, or no CA: embed certificates, keys and tokens, for an https server.
	// Run: `kubectl describe windowsbootstrapconfig NAME`
	KubeconfigRefusedReason = "KubeconfigRefused"
)
