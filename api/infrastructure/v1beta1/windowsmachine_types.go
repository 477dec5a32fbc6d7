package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer stays on a machine until nothing of its VM is left in the cloud.
const MachineFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/vm"

// AddressFinalizer stays on the IPAddressClaims of a machine and on their IPAddresses as long as a VM with these addresses may
// exist.
const AddressFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/address"

// ServerAnnotation says which server has the VM: for vSphere it is the vCenter's instance UUID. The controller sets it before
// it asks the server for the VM, and it survives a move to another management cluster.
const ServerAnnotation = "windowsmachine.infrastructure.cluster.x-k8s.io/server"

// WindowsMachineSpec describes the VM. Fields marked Immutable cannot change after creation.
//
// +kubebuilder:validation:XValidation:rule="[has(self.vsphere), has(self.azure)].filter(c, c).size() == 1",message="set exactly one of spec.vsphere and spec.azure"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(self.providerID) || self.providerID.matches('^vsphere://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",message="providerID of a vSphere VM must be vsphere:// followed by a lowercase UUID; remove it: the controller sets it",fieldPath=".providerID"
// +kubebuilder:validation:XValidation:rule="has(self.vsphere) || !has(self.azure) || !has(self.providerID) || self.providerID.matches('^azure:///subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/virtualMachines/[-a-z0-9]+$')",message="providerID of an Azure VM must be azure:/// followed by the VM's resource ID with subscription, resource group and VM name in lowercase; remove it: the controller sets it",fieldPath=".providerID"
type WindowsMachineSpec struct {
	// providerID is the VM's identity, equal to spec.providerID of its Node. Leave it out: the controller sets it before it
	// asks the cloud for the VM, so that a VM is never made twice. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// vsphere makes the VM by cloning a template of a vCenter. The choice of the cloud is Immutable.
	//
	// +optional
	VSphere *VSphereVM `json:"vsphere,omitempty"`

	// azure makes the VM in an Azure subscription. The choice of the cloud is Immutable.
	//
	// +optional
	Azure *AzureVM `json:"azure,omitempty"`
}

// WindowsMachineStatus is what is known about the VM. The controller can rebuild it from the cloud and the Machine.
type WindowsMachineStatus struct {
	// conditions: Ready summarizes the others. docs/conditions.md lists every reason with its likely cause and what to do.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the conditions describe. It is -1 until the controller has seen the object.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization tells Cluster API whether the VM has been made.
	//
	// +optional
	Initialization WindowsMachineInitialization `json:"initialization,omitempty,omitzero"`

	// phase is a one-word summary of the machine for people: Pending, Provisioning, Bootstrapping, Running, Stopped, Failed or
	// Deleting. Later releases may add others, so programs should read the conditions instead.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Phase Phase `json:"phase,omitempty"`

	// computerName is the name of the VM, of the computer in it and of its Node. Windows allows at most 15 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	ComputerName string `json:"computerName,omitempty"`

	// nodeName is the name of the machine's Node. It is empty until the Node has joined, and while the Node is deleted.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// windowsBuild is the Windows build that the guest reports, such as 20348.2700.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WindowsBuild string `json:"windowsBuild,omitempty"`

	// addresses of the VM as reported by its cloud and its guest.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// networkInterfaces has the MACs, and the addresses from pools, for spec.vsphere.networkInterfaces, in the same order. It
	// is set once all of them are known and does not change after that. It is empty while the VM has at most one adapter and
	// that one uses DHCP.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	NetworkInterfaces []MachineNetworkInterface `json:"networkInterfaces,omitempty"`

	// failureDomain of the VM.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// azure is where in Azure the VM is, with the values that the spec left out. A node can read it in C:\k\azure.json, see
	// node.cloudConfigFile of the WindowsBootstrapConfig. Machines elsewhere do not have it.
	//
	// +optional
	Azure *AzurePlacement `json:"azure,omitempty"`

	// allocatable is what the Node will offer to pods, computed from the size in the spec and the reservations in the
	// WindowsBootstrapConfig. Resources of unknown size are omitted. The Node offers a few MiB less, because Windows sees a
	// few MiB less than the VM has.
	//
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// bootstrap is the guest's last report of its bootstrap.
	//
	// +optional
	Bootstrap *BootstrapProgress `json:"bootstrap,omitempty"`

	// lastBoot is the result of the node's last start after its bootstrap. At every start the node runs some steps, such as
	// the removal of stale networks.
	//
	// +optional
	LastBoot *BootResult `json:"lastBoot,omitempty"`
}

// WindowsMachineInitialization is part of Cluster API's contract: steps that happen only once.
//
// +kubebuilder:validation:MinProperties=1
type WindowsMachineInitialization struct {
	// provisioned is true once the VM exists and runs.
	//
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// BootstrapProgress is what the guest reports about itself. It is shown to users and never acted upon.
type BootstrapProgress struct {
	// state of the bootstrap: Running, Rebooting, Succeeded or Failed.
	//
	// +optional
	// +kubebuilder:validation:Enum=Running;Rebooting;Succeeded;Failed
	State string `json:"state,omitempty"`

	// phase of the bootstrap, or the one that failed, with its number, such as "3/5 join".
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// step within the phase.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Step string `json:"step,omitempty"`

	// reason of a failure, one of those in docs/conditions.md.
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

	// elapsedSeconds since the bootstrap began, without downtime.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ElapsedSeconds int32 `json:"elapsedSeconds,omitempty"`

	// lastLines of the failed program's output, without secrets.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	LastLines []string `json:"lastLines,omitempty"`

	// warnings of optional steps that failed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	Warnings []string `json:"warnings,omitempty"`

	// durations of the finished phases, in order. Each phase begins when the one before it ends.
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
	// phase by its name, without its number, such as "join".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Phase string `json:"phase,omitempty"`

	// seconds that the phase took, without downtime.
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

	// reason of a failure, one of those in docs/conditions.md.
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

// WindowsMachine is a Windows VM that becomes a node of a workload cluster. A Machine of Cluster API owns it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=windowsmachines,scope=Namespaced,shortName=winm,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster the machine belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the VM runs and its guest has not failed"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why the machine is Ready or not, see docs/conditions.md"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node of the machine"
// +kubebuilder:printcolumn:name="Build",type="string",JSONPath=".status.windowsBuild",description="Windows build that the guest reports"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Provider-ID",type="string",JSONPath=".spec.providerID",description="Identity of the VM",priority=10
// +kubebuilder:printcolumn:name="Computer-Name",type="string",JSONPath=".status.computerName",description="Name of the VM, the computer and the Node",priority=10
// +kubebuilder:printcolumn:name="IP",type="string",JSONPath=".status.addresses[?(@.type==\"InternalIP\")].address",description="Addresses of the VM",priority=10
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec['vsphere','azure'].image['template','id']",description="Image from which the VM is made",priority=10
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".status.failureDomain",description="Failure domain of the VM",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="One-word summary of the machine",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is happening, or what to do"
type WindowsMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The rules that compare the spec with the old one are here and not on its type, because templates share the type: they are
	// guarded by an admission policy that allows the dry-run of ClusterClass. A new field is mutable until it has a rule here.

	// spec describes the VM. Fields marked Immutable cannot change after creation.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",message="providerID identifies the machine's VM and cannot be changed; delete the Machine to get a new VM",fieldPath=".providerID"
	// +kubebuilder:validation:XValidation:rule="has(self.vsphere) == has(oldSelf.vsphere) && has(self.azure) == has(oldSelf.azure) || [has(self.vsphere), has(self.azure)].filter(c, c).size() != 1",message="the cloud of a machine cannot be changed; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.datacenter) == has(oldSelf.vsphere.datacenter) && (!has(self.vsphere.datacenter) || self.vsphere.datacenter == oldSelf.vsphere.datacenter)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.datacenter"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || (has(self.vsphere.image) && has(self.vsphere.image.template) ? self.vsphere.image.template : '') == (has(oldSelf.vsphere.image) && has(oldSelf.vsphere.image.template) ? oldSelf.vsphere.image.template : '') && (has(self.vsphere.image) && has(self.vsphere.image.setup) ? self.vsphere.image.setup : 'CloudbaseInit') == (has(oldSelf.vsphere.image) && has(oldSelf.vsphere.image.setup) ? oldSelf.vsphere.image.setup : 'CloudbaseInit')",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.image"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.folder) == has(oldSelf.vsphere.folder) && (!has(self.vsphere.folder) || self.vsphere.folder == oldSelf.vsphere.folder)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.folder"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.resourcePool) == has(oldSelf.vsphere.resourcePool) && (!has(self.vsphere.resourcePool) || self.vsphere.resourcePool == oldSelf.vsphere.resourcePool)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.resourcePool"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.datastore) == has(oldSelf.vsphere.datastore) && (!has(self.vsphere.datastore) || self.vsphere.datastore == oldSelf.vsphere.datastore)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.datastore"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || (has(self.vsphere.networkInterfaces) ? self.vsphere.networkInterfaces.map(one, one.name) : []) == (has(oldSelf.vsphere.networkInterfaces) ? oldSelf.vsphere.networkInterfaces.map(one, one.name) : []) && (!has(self.vsphere.networkInterfaces) || !has(oldSelf.vsphere.networkInterfaces) || self.vsphere.networkInterfaces == oldSelf.vsphere.networkInterfaces)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.networkInterfaces"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.cpus) == has(oldSelf.vsphere.cpus) && (!has(self.vsphere.cpus) || self.vsphere.cpus == oldSelf.vsphere.cpus)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.cpus"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.memoryMiB) == has(oldSelf.vsphere.memoryMiB) && (!has(self.vsphere.memoryMiB) || self.vsphere.memoryMiB == oldSelf.vsphere.memoryMiB)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.memoryMiB"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.subscriptionID) == has(oldSelf.azure.subscriptionID) && (!has(self.azure.subscriptionID) || self.azure.subscriptionID == oldSelf.azure.subscriptionID)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.subscriptionID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.resourceGroup) == has(oldSelf.azure.resourceGroup) && (!has(self.azure.resourceGroup) || self.azure.resourceGroup == oldSelf.azure.resourceGroup)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.resourceGroup"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.location) == has(oldSelf.azure.location) && (!has(self.azure.location) || self.azure.location == oldSelf.azure.location)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.location"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.vmSize) == has(oldSelf.azure.vmSize) && (!has(self.azure.vmSize) || self.azure.vmSize == oldSelf.azure.vmSize)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.vmSize"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || (has(self.azure.image) && has(self.azure.image.id) ? self.azure.image.id : '') == (has(oldSelf.azure.image) && has(oldSelf.azure.image.id) ? oldSelf.azure.image.id : '') && (has(self.azure.image) && has(self.azure.image.setup) ? self.azure.image.setup : 'CloudbaseInit') == (has(oldSelf.azure.image) && has(oldSelf.azure.image.setup) ? oldSelf.azure.image.setup : 'CloudbaseInit')",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.image"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || (has(self.azure.networkInterfaces) ? self.azure.networkInterfaces.map(one, one.name) : []) == (has(oldSelf.azure.networkInterfaces) ? oldSelf.azure.networkInterfaces.map(one, one.name) : []) && (!has(self.azure.networkInterfaces) || !has(oldSelf.azure.networkInterfaces) || self.azure.networkInterfaces == oldSelf.azure.networkInterfaces)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.networkInterfaces"
	Spec WindowsMachineSpec `json:"spec,omitempty"`
	// status is what is known about the VM. Its default makes GitOps tools wait until the controller has seen the object.
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
