package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MachineFinalizer stays on a machine until nothing of its VM is left in the cloud.
const MachineFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/vm"

// AddressFinalizer stays on the IPAddressClaims of a machine and on their IPAddresses as long as a VM with these addresses may
// exist.
const AddressFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/address"

// CredentialsFinalizer stays on the Secret that identityRef names as long
// as a machine with it may have a VM.
const CredentialsFinalizer = "windowsmachine.infrastructure.cluster.x-k8s.io/credentials"

// ServerAnnotation is which server has the VM: for vSphere it is the vCenter's instance UUID. The controller sets it before it
// asks the server for the VM, and it survives a move to another management cluster.
const ServerAnnotation = "windowsmachine.infrastructure.cluster.x-k8s.io/server"

// RemovedAnnotation marks that nothing is left of the VM of a machine that is
// being deleted. It is set, to the time of that deletion, before a Secret goes
// without which nothing could find that out again.
const RemovedAnnotation = "windowsmachine.infrastructure.cluster.x-k8s.io/removed"

// LinuxPolicyAnnotation of a Cluster is what becomes of the admission policies in its workload cluster that keep workloads for
// Linux off Windows Nodes. With LinuxPolicyOff all of them are removed; with LinuxPolicyWarn the one that changes workloads is,
// and the API server warns instead.
const (
	LinuxPolicyAnnotation = "capwin.io/linux-policy"
	LinuxPolicyOff        = "off"
	LinuxPolicyWarn       = "warn"
)

// WindowsMachineSpec describes the VM. Fields marked Immutable cannot change
// after creation.
//
// +kubebuilder:validation:XValidation:rule="[has(self.vsphere), has(self.azure)].filter(c, c).size() == 1",message="set exactly one of spec.vsphere and spec.azure"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(self.providerID) || self.providerID.matches('^vsphere://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",message="providerID of a vSphere VM must be vsphere:// followed by a lowercase UUID; remove it: the controller sets it",fieldPath=".providerID"
// +kubebuilder:validation:XValidation:rule="has(self.vsphere) || !has(self.azure) || !has(self.providerID) || self.providerID.matches('^azure:///subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/virtualMachines/[-a-z0-9]+$')",message="providerID of an Azure VM must be azure:/// followed by the VM's resource ID with subscription, resource group and VM name in lowercase; remove it: the controller sets it",fieldPath=".providerID"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || has(self.identityRef) && has(self.identityRef.name)",message="a VM in a vCenter needs a Secret with the login; set kind Secret and name, such as vcenter",fieldPath=".identityRef"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || self.?identityRef.?kind.orValue('Secret') == 'Secret'",message="must be Secret, the only kind for a vCenter's login",fieldPath=".identityRef.kind"
type WindowsMachineSpec struct {
	// providerID is the identity of the VM and of its Node, such as
	// vsphere://4215f6b0-1b7d-5c5a-9d4e-0123456789ab. Leave it out: the controller
	// sets it before it makes the VM. The condition VMRunning shows whether the VM
	// exists. Once set, it is Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// identityRef names the object with the rights to manage the VM. vsphere needs
	// a Secret with server, username, password, and ca.crt or thumbprint
	// (SHA-256). azure takes a Secret or an AzureClusterIdentity. Default in
	// Azure: the identity of the AzureCluster, or else the manager's own. A new
	// one must have the same vCenter, or the same tenant and subscription.
	// Mutable.
	//
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitempty,omitzero"`

	// vsphere makes the VM in a vCenter, as a clone of a template. The choice of
	// the cloud is Immutable.
	//
	// +optional
	VSphere *VSphereVM `json:"vsphere,omitempty"`

	// azure makes the VM in an Azure subscription. The choice of the cloud is
	// Immutable.
	//
	// +optional
	Azure *AzureVM `json:"azure,omitempty"`
}

// WindowsMachine is one Windows VM that becomes a node of a workload cluster.
// Cluster API makes it from a WindowsMachineTemplate, and a Machine owns it.
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
	// guarded by an admission policy that allows the dry-run of ClusterClass. A new field of a cloud is immutable by itself. CEL
	// compares lists of the types set and map without their order: those whose order means something have a rule more.

	// spec describes the VM: set exactly one of vsphere and azure. Fields marked
	// Immutable cannot change after creation; to change one, create a new
	// WindowsMachineTemplate and use it in the MachineDeployment, which then
	// replaces its machines.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",message="providerID identifies the machine's VM and cannot be changed; delete the Machine to get a new VM",fieldPath=".providerID"
	// +kubebuilder:validation:XValidation:rule="has(self.vsphere) == has(oldSelf.vsphere) && has(self.azure) == has(oldSelf.azure) || [has(self.vsphere), has(self.azure)].filter(c, c).size() != 1",message="the cloud of a machine cannot be changed; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || self.vsphere == oldSelf.vsphere",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure == oldSelf.azure",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || !has(self.vsphere.networkInterfaces) || !has(oldSelf.vsphere.networkInterfaces) || self.vsphere.networkInterfaces.map(one, one.name) == oldSelf.vsphere.networkInterfaces.map(one, one.name)",message="the order of this list counts, and a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.networkInterfaces"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || !has(self.azure.networkInterfaces) || !has(oldSelf.azure.networkInterfaces) || self.azure.networkInterfaces.map(one, [one.name] + (has(one.dnsServers) ? one.dnsServers.map(d, d) : [])) == oldSelf.azure.networkInterfaces.map(one, [one.name] + (has(one.dnsServers) ? one.dnsServers.map(d, d) : []))",message="the order of this list counts, and a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.networkInterfaces"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || !has(self.azure.dataDisks) || !has(oldSelf.azure.dataDisks) || self.azure.dataDisks.map(one, one.name) == oldSelf.azure.dataDisks.map(one, one.name)",message="the order of this list counts, and a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.dataDisks"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || !has(self.azure.zones) || !has(oldSelf.azure.zones) || self.azure.zones.map(one, one) == oldSelf.azure.zones.map(one, one)",message="the order of this list counts, and a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.zones"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || !has(self.azure.fallbackVMSizes) || !has(oldSelf.azure.fallbackVMSizes) || self.azure.fallbackVMSizes.map(one, one) == oldSelf.azure.fallbackVMSizes.map(one, one)",message="the order of this list counts, and a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.fallbackVMSizes"
	Spec WindowsMachineSpec `json:"spec,omitempty"`

	// The default of status makes GitOps tools wait until the controller has seen the object.

	// status is the state of the VM, its guest and its Node.
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
