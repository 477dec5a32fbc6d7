package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer is held until nothing of the VM is left in its cloud.
const MachineFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/vm"

// AddressFinalizer is held on the IPAddressClaims of a machine, and on the addresses that they were given, for as long as
// there may be a VM with these.
const AddressFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/address"

// WindowsMachineSpec says in which cloud the VM is made and how.
//
// +kubebuilder:validation:XValidation:rule="has(self.vsphere) != has(self.azure)",message="write exactly one cloud: either spec.vsphere or spec.azure"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(self.providerID) || self.providerID.matches('^vsphere://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",message="providerID of a VM in vSphere is vsphere:// and a UUID in small letters; leave it out, the controller writes it",fieldPath=".providerID"
type WindowsMachineSpec struct {
	// providerID is the VM's identity, equal to spec.providerID of its Node. The controller writes it before it asks the
	// cloud for the VM, so that a VM is never made twice; leave it empty.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// vsphere makes the VM by cloning a template of a vCenter.
	//
	// +optional
	VSphere *VSphereVM `json:"vsphere,omitempty"`

	// azure makes the VM in an Azure subscription.
	//
	// +optional
	Azure *AzureVM `json:"azure,omitempty"`
}

// WindowsMachineStatus is what is known of the VM. All of it can be found again from the cloud and the Machine.
type WindowsMachineStatus struct {
	// conditions: Ready sums up the others; docs/conditions.md has every reason with its likely cause and what to do.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the conditions speak of; -1 until the controller has seen the object.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization tells Cluster API how far the machine is.
	//
	// +optional
	Initialization WindowsMachineInitialization `json:"initialization,omitempty,omitzero"`

	// phase is the short answer to "how far is it": Pending, Provisioning, Bootstrapping, Running, Failed or Deleting.
	//
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Bootstrapping;Running;Failed;Deleting
	Phase Phase `json:"phase,omitempty"`

	// computerName is the name of the VM, of the computer in it and of its Node: at most 15 characters, as Windows wants.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	ComputerName string `json:"computerName,omitempty"`

	// nodeName is the Node that the machine has become.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// windowsBuild is the build that the guest reports, such as 20348.2700.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WindowsBuild string `json:"windowsBuild,omitempty"`

	// addresses of the VM as its cloud and its guest report them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// networks has what was found for spec.vsphere.networks, in their order, once all of it is there: it never changes after.
	// Empty where no adapter has addresses of a pool.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Networks []MachineNetwork `json:"networks,omitempty"`

	// failureDomain the VM runs in.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// allocatable is what the Node will offer to pods, computed from the size in the spec and the reservations of the
	// WindowsBootstrapConfig; a resource of unknown size is left out. Windows sees some MiB less than the VM has, and the
	// Node offers that much less.
	//
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// bootstrap is the last that the guest told of its bootstrap.
	//
	// +optional
	Bootstrap *BootstrapProgress `json:"bootstrap,omitempty"`
}

// WindowsMachineInitialization is Cluster API's contract: what only ever happens once.
//
// +kubebuilder:validation:MinProperties=1
type WindowsMachineInitialization struct {
	// provisioned is true once the VM is there and running.
	//
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// BootstrapProgress is the guest's own word: shown, never acted upon.
type BootstrapProgress struct {
	// state of the bootstrap: running, rebooting, succeeded or failed.
	//
	// +optional
	// +kubebuilder:validation:Enum=running;rebooting;succeeded;failed
	State string `json:"state,omitempty"`

	// phase that the guest is in, or failed in, with its number: "3/5 join".
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// step within the phase.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Step string `json:"step,omitempty"`

	// reason of a failure, one of docs/conditions.md.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message of a failure.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// exitCode of the program that failed.
	//
	// +optional
	ExitCode int32 `json:"exitCode,omitempty"`

	// elapsedSeconds since the bootstrap began, down time not counted.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ElapsedSeconds int32 `json:"elapsedSeconds,omitempty"`

	// lastLines of the program that failed, without secrets.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	LastLines []string `json:"lastLines,omitempty"`

	// warnings of steps that failed but may.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	Warnings []string `json:"warnings,omitempty"`

	// durations of the phases that are over, in their order: each begins when the one before ends.
	//
	// +optional
	// +listType=map
	// +listMapKey=phase
	// +kubebuilder:validation:MaxItems=16
	Durations []PhaseDuration `json:"durations,omitempty"`

	// everyBoot is the result of the last start of the node after its bootstrap: there are things that a node does at
	// every start, such as removing stale networks.
	//
	// +optional
	EveryBoot *BootResult `json:"everyBoot,omitempty"`

	// lastReportTime is when the controller first saw what stands here.
	//
	// +optional
	LastReportTime metav1.Time `json:"lastReportTime,omitempty,omitzero"`
}

// PhaseDuration is how long one phase of a bootstrap took.
type PhaseDuration struct {
	// phase by its name, without its number: "join".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// seconds that it took, down time not counted.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Seconds *int32 `json:"seconds,omitempty"`
}

// BootResult is how a start of a node ended.
type BootResult struct {
	// state of the start: running, succeeded or failed.
	//
	// +optional
	// +kubebuilder:validation:Enum=running;succeeded;failed
	State string `json:"state,omitempty"`

	// reason of a failure, one of docs/conditions.md.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message of a failure, with the step that failed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Phase is the short answer to "how far is it".
type Phase string

// The phases of a machine's life.
const (
	PhasePending       Phase = "Pending"
	PhaseProvisioning  Phase = "Provisioning"
	PhaseBootstrapping Phase = "Bootstrapping"
	PhaseRunning       Phase = "Running"
	PhaseFailed        Phase = "Failed"
	PhaseDeleting      Phase = "Deleting"
)

// WindowsMachine is one Windows VM that becomes a node: Cluster API's InfraMachine.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=windowsmachines,scope=Namespaced,shortName=winm,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster the machine belongs to"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="How far the machine is"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="VM runs and its node has joined"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is Ready or not, see docs/conditions.md"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node that the machine has become"
// +kubebuilder:printcolumn:name="Build",type="string",JSONPath=".status.windowsBuild",description="Windows build that the guest reports"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is going on, or what to do"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Identity of the VM",priority=10
// +kubebuilder:printcolumn:name="Computer Name",type="string",JSONPath=".status.computerName",description="Name of VM, computer and node",priority=10
// +kubebuilder:printcolumn:name="IP",type="string",JSONPath=".status.addresses[?(@.type==\"InternalIP\")].address",description="Addresses of the VM",priority=10
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="VM is there and running",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation is paused",priority=10
type WindowsMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is the wanted VM. The rules that compare with the past stand here and not at the type, which templates share:
	// a template is guarded by an admission policy that lets the dry-run of ClusterClass through.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",message="providerID names the VM that was made and cannot be changed; delete the Machine to get another VM",fieldPath=".providerID"
	// +kubebuilder:validation:XValidation:rule="has(self.vsphere) == has(oldSelf.vsphere) && (!has(self.vsphere) || self.vsphere == oldSelf.vsphere)",message="a VM is never edited: write a new WindowsMachineTemplate and name it in the MachineDeployment, then the machines are replaced",fieldPath=".vsphere"
	// +kubebuilder:validation:XValidation:rule="has(self.azure) == has(oldSelf.azure) && (!has(self.azure) || self.azure == oldSelf.azure)",message="a VM is never edited: write a new WindowsMachineTemplate and name it in the MachineDeployment, then the machines are replaced",fieldPath=".azure"
	Spec WindowsMachineSpec `json:"spec,omitempty"`
	// status is what is known of the VM. The default makes GitOps tools wait for the first look of the controller.
	//
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status WindowsMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the machine.
func (m *WindowsMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the machine.
func (m *WindowsMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// WindowsMachineList is a list of machines.
//
// +kubebuilder:object:root=true
type WindowsMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WindowsMachine `json:"items"`
}
