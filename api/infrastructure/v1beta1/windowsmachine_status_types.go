package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// WindowsMachineStatus is the observed state of the VM. The controller can rebuild
// it from the cloud and the Machine.
type WindowsMachineStatus struct {
	// conditions are the state of the machine: Ready, VMRunning, BootstrapSucceeded,
	// LastBootSucceeded, UserDataRemoved, CloudReachable, Stalled and Paused. Ready is
	// True while the VM runs and its guest has not failed; it does not wait for the
	// Node. docs/conditions.md lists every reason with its likely cause and what to
	// do.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the conditions describe.
	// It is -1 until the controller has seen the object.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization shows Cluster API whether the VM has been made.
	//
	// +optional
	Initialization WindowsMachineInitialization `json:"initialization,omitempty,omitzero"`

	// phase is one word about the machine, for people: Pending, Provisioning,
	// Bootstrapping, Running, Stopped, Failed or Deleting. Later releases may add
	// others, so programs should read the conditions instead.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Phase Phase `json:"phase,omitempty"`

	// computerName is the name of the VM, of Windows in it and of its Node, such
	// as win-je4s7b7jn2: the beginning of the machine's name, and letters and
	// digits of its own. Windows allows at most 15 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	ComputerName string `json:"computerName,omitempty"`

	// nodeName is the name of the machine's Node. It is left out until the Node
	// has joined, and after the Node was deleted.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// windowsBuild is the build of Windows that the guest reports, such as
	// 20348.2700.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WindowsBuild string `json:"windowsBuild,omitempty"`

	// windowsUpdated is the day of the last update that Windows had when the guest
	// bootstrapped, as the guest reports it, such as 2026-09-18: how old its image
	// is.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10
	WindowsUpdated string `json:"windowsUpdated,omitempty"`

	// addresses of the VM: its name, its addresses from pools, and then those that
	// its guest reports, without any that a pool gave to another machine and
	// without that of the Cluster's endpoint. If all adapters have their addresses
	// from pools, there are no others. The guest can report any other address: do
	// not sign a certificate for an address that no pool gave.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// networkInterfaces has the MAC of each adapter in spec.vsphere.networkInterfaces,
	// in the same order, and its addresses from pools. It is set before the VM is
	// made, once it is complete, and does not change after that. It is left out if the
	// spec has one adapter at most and no pools: vCenter then chooses the MAC.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	NetworkInterfaces []MachineNetworkInterface `json:"networkInterfaces,omitempty"`

	// failureDomain is the failure domain in which the VM runs, if its cloud
	// reports one. vSphere does not.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// azure is the place of the VM in Azure, with the values that the spec left
	// out. The file C:\k\azure.json of its node is written from it, see
	// node.cloudConfigFile of the WindowsBootstrapConfig. Machines elsewhere do
	// not have it.
	//
	// +optional
	Azure *AzurePlacement `json:"azure,omitempty"`

	// vsphere has the vCenter's references to the VM and its folder. Machines
	// elsewhere do not have it.
	//
	// +optional
	VSphere VSphereRecord `json:"vsphere,omitempty,omitzero"`

	// allocatable is what the Node will offer to pods: the size of the VM without the
	// reservations of the WindowsBootstrapConfig. Resources whose size the spec does
	// not have are left out. The Node offers a few MiB less, because Windows does not
	// see all memory of the VM.
	//
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// bootstrap is the guest's last report on its way to become a node. The condition
	// BootstrapSucceeded has it in a sentence.
	//
	// +optional
	Bootstrap *BootstrapProgress `json:"bootstrap,omitempty"`

	// lastGuestTime is when this status last changed because of something new
	// from the guest: its report or its addresses. It does so at most once in 10
	// seconds, and at most once a minute after the node has joined or the
	// bootstrap has ended. Only a first report, and the end of a bootstrap or of
	// a start of Windows, are shown at once.
	//
	// +optional
	LastGuestTime metav1.Time `json:"lastGuestTime,omitempty,omitzero"`

	// lastBoot is how the node's last start went. At every start after its bootstrap
	// it runs some steps, such as the removal of stale pod networks, and after each it
	// waits in the background for what the CNI brings: what fails there for five
	// minutes or more is a failure until it is done. The condition LastBootSucceeded
	// has it in a sentence. It is left out until the guest has reported one.
	//
	// +optional
	LastBoot *BootResult `json:"lastBoot,omitempty"`
}

// WindowsMachineInitialization is part of Cluster API's contract: steps that
// happen only once.
//
// +kubebuilder:validation:MinProperties=1
type WindowsMachineInitialization struct {
	// provisioned is true once the VM has run. It stays true when the VM is off
	// later.
	//
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// BootstrapProgress is what the guest reports about itself. It is shown to
// users and never acted upon.
type BootstrapProgress struct {
	// state of the bootstrap: Running, Rebooting, Succeeded or Failed.
	//
	// +optional
	// +kubebuilder:validation:Enum=Running;Rebooting;Succeeded;Failed
	State string `json:"state,omitempty"`

	// phase of the bootstrap, or the one that failed: its number, the number of
	// phases, and its name, such as 7/8 join.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// step within the phase, such as kubeadm-join.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Step string `json:"step,omitempty"`

	// reason of the failure, such as ImageVersionMismatch; docs/conditions.md
	// lists all with their likely causes. It is left out unless state is Failed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message that explains the failure in a sentence.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// exitCode of the program that failed, such as 1. It is left out if there is
	// none.
	//
	// +optional
	ExitCode int32 `json:"exitCode,omitempty"`

	// elapsedSeconds is how long the bootstrap had taken at the time of this
	// report, without the time of restarts.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ElapsedSeconds int32 `json:"elapsedSeconds,omitempty"`

	// lastLines are the last lines of output of the program that failed, without
	// secrets.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	LastLines []string `json:"lastLines,omitempty"`

	// warnings are the failures of optional steps, with which the bootstrap went
	// on.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	Warnings []string `json:"warnings,omitempty"`

	// durations of the finished phases, in their order. Each phase begins when the
	// one before it ends.
	//
	// +optional
	// +listType=map
	// +listMapKey=phase
	// +kubebuilder:validation:MaxItems=16
	Durations []PhaseDuration `json:"durations,omitempty"`

	// lastReportTime is when the controller first saw this report.
	//
	// +optional
	LastReportTime metav1.Time `json:"lastReportTime,omitempty,omitzero"`
}

// PhaseDuration is how long one phase of a bootstrap took.
type PhaseDuration struct {
	// phase by its name alone, such as join.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// seconds that the phase took, without the time of restarts.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Seconds *int32 `json:"seconds,omitempty"`
}

// BootResult is the result of a start of the node.
type BootResult struct {
	// state of the start: Running, Succeeded or Failed.
	//
	// +optional
	// +kubebuilder:validation:Enum=Running;Succeeded;Failed
	State string `json:"state,omitempty"`

	// reason of the failure; docs/conditions.md lists all with their likely
	// causes. It is left out unless state is Failed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message that explains the failure in a sentence.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Phase is a one-word summary of a machine.
type Phase string

// The phases of a machine's life.
const (
	PhasePending       Phase = "Pending"
	PhaseProvisioning  Phase = "Provisioning"
	PhaseBootstrapping Phase = "Bootstrapping"
	PhaseRunning       Phase = "Running"
	PhaseStopped       Phase = "Stopped"
	PhaseFailed        Phase = "Failed"
	PhaseDeleting      Phase = "Deleting"
)
