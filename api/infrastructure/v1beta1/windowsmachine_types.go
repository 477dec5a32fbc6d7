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

// ServerAnnotation says which server has the VM: for vSphere it is the vCenter's instance UUID. The controller sets it before
// it asks the server for the VM, and it survives a move to another management cluster.
const ServerAnnotation = "windowsmachine.infrastructure.cluster.x-k8s.io/server"

// RemovedAnnotation says that nothing is left of the VM of a machine that is
// being deleted. It is set, to the time of that deletion, before a Secret
// goes without which nothing could find that out again.
const RemovedAnnotation = "windowsmachine.infrastructure.cluster.x-k8s.io/removed"

// WindowsMachineSpec describes the VM. Fields marked Immutable cannot change
// after creation.
//
// +kubebuilder:validation:XValidation:rule="[has(self.vsphere), has(self.azure)].filter(c, c).size() == 1",message="set exactly one of spec.vsphere and spec.azure"
// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(self.providerID) || self.providerID.matches('^vsphere://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",message="providerID of a vSphere VM must be vsphere:// followed by a lowercase UUID; remove it: the controller sets it",fieldPath=".providerID"
// +kubebuilder:validation:XValidation:rule="has(self.vsphere) || !has(self.azure) || !has(self.providerID) || self.providerID.matches('^azure:///subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/virtualMachines/[-a-z0-9]+$')",message="providerID of an Azure VM must be azure:/// followed by the VM's resource ID with subscription, resource group and VM name in lowercase; remove it: the controller sets it",fieldPath=".providerID"
type WindowsMachineSpec struct {
	// providerID is the identity of the VM and of its Node, such as
	// vsphere://4215f6b0-1b7d-5c5a-9d4e-0123456789ab. Leave it out: the controller
	// sets it before it makes the VM. The condition VMRunning says whether there
	// is a VM. Once set, it is Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// vsphere makes the VM in a vCenter, as a clone of a template. The choice of
	// the cloud is Immutable.
	//
	// +optional
	VSphere *VSphereVM `json:"vsphere,omitempty"`

	// azure makes the VM in an Azure subscription. No controller of this release
	// does that yet: a machine with azure gets no VM and has the reason
	// CloudNotSupported. The choice of the cloud is Immutable.
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
	// guarded by an admission policy that allows the dry-run of ClusterClass. A new field is mutable until it has a rule here.

	// spec describes the VM: set exactly one of vsphere and azure. Fields marked
	// Immutable cannot change after creation; to change one, create a new
	// WindowsMachineTemplate and use it in the MachineDeployment, which then
	// replaces its machines.
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
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.coresPerSocket) == has(oldSelf.vsphere.coresPerSocket) && (!has(self.vsphere.coresPerSocket) || self.vsphere.coresPerSocket == oldSelf.vsphere.coresPerSocket)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.coresPerSocket"
	// +kubebuilder:validation:XValidation:rule="!has(self.vsphere) || !has(oldSelf.vsphere) || has(self.vsphere.memoryMiB) == has(oldSelf.vsphere.memoryMiB) && (!has(self.vsphere.memoryMiB) || self.vsphere.memoryMiB == oldSelf.vsphere.memoryMiB)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".vsphere.memoryMiB"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.subscriptionID) == has(oldSelf.azure.subscriptionID) && (!has(self.azure.subscriptionID) || self.azure.subscriptionID == oldSelf.azure.subscriptionID)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.subscriptionID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.resourceGroup) == has(oldSelf.azure.resourceGroup) && (!has(self.azure.resourceGroup) || self.azure.resourceGroup == oldSelf.azure.resourceGroup)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.resourceGroup"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.location) == has(oldSelf.azure.location) && (!has(self.azure.location) || self.azure.location == oldSelf.azure.location)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.location"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || has(self.azure.vmSize) == has(oldSelf.azure.vmSize) && (!has(self.azure.vmSize) || self.azure.vmSize == oldSelf.azure.vmSize)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.vmSize"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?image.?id == oldSelf.azure.?image.?id && self.azure.?image.?computeGallery.?gallery == oldSelf.azure.?image.?computeGallery.?gallery && self.azure.?image.?computeGallery.?name == oldSelf.azure.?image.?computeGallery.?name && self.azure.?image.?computeGallery.?version == oldSelf.azure.?image.?computeGallery.?version && self.azure.?image.?computeGallery.?subscriptionID == oldSelf.azure.?image.?computeGallery.?subscriptionID && self.azure.?image.?computeGallery.?resourceGroup == oldSelf.azure.?image.?computeGallery.?resourceGroup && self.azure.?image.?communityGallery.?gallery == oldSelf.azure.?image.?communityGallery.?gallery && self.azure.?image.?communityGallery.?name == oldSelf.azure.?image.?communityGallery.?name && self.azure.?image.?communityGallery.?version == oldSelf.azure.?image.?communityGallery.?version && self.azure.?image.?marketplace.?publisher == oldSelf.azure.?image.?marketplace.?publisher && self.azure.?image.?marketplace.?offer == oldSelf.azure.?image.?marketplace.?offer && self.azure.?image.?marketplace.?sku == oldSelf.azure.?image.?marketplace.?sku && self.azure.?image.?marketplace.?version == oldSelf.azure.?image.?marketplace.?version && self.azure.?image.?marketplace.?plan == oldSelf.azure.?image.?marketplace.?plan && self.azure.?image.?setup.orValue('CloudbaseInit') == oldSelf.azure.?image.?setup.orValue('CloudbaseInit')",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.image"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || (has(self.azure.networkInterfaces) ? self.azure.networkInterfaces.map(one, one.name) : []) == (has(oldSelf.azure.networkInterfaces) ? oldSelf.azure.networkInterfaces.map(one, one.name) : []) && (!has(self.azure.networkInterfaces) || !has(oldSelf.azure.networkInterfaces) || self.azure.networkInterfaces == oldSelf.azure.networkInterfaces)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.networkInterfaces"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?zones.orValue([]) == oldSelf.azure.?zones.orValue([])",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.zones"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?fallbackVMSizes.orValue([]) == oldSelf.azure.?fallbackVMSizes.orValue([])",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.fallbackVMSizes"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?osDisk.?sizeGiB == oldSelf.azure.?osDisk.?sizeGiB && self.azure.?osDisk.?type == oldSelf.azure.?osDisk.?type && self.azure.?osDisk.?caching == oldSelf.azure.?osDisk.?caching && self.azure.?osDisk.?diskEncryptionSetID == oldSelf.azure.?osDisk.?diskEncryptionSetID && self.azure.?osDisk.?securityEncryptionType == oldSelf.azure.?osDisk.?securityEncryptionType && self.azure.?osDisk.?ephemeralPlacement == oldSelf.azure.?osDisk.?ephemeralPlacement",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.osDisk"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?diskController == oldSelf.azure.?diskController",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.diskController"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?ultraSSD == oldSelf.azure.?ultraSSD",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.ultraSSD"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?priority == oldSelf.azure.?priority",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.priority"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?spot.?maxPrice == oldSelf.azure.?spot.?maxPrice && self.azure.?spot.?evictionPolicy == oldSelf.azure.?spot.?evictionPolicy",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.spot"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?securityProfile.?securityType == oldSelf.azure.?securityProfile.?securityType && self.azure.?securityProfile.?secureBoot == oldSelf.azure.?securityProfile.?secureBoot && self.azure.?securityProfile.?vTPM == oldSelf.azure.?securityProfile.?vTPM && self.azure.?securityProfile.?encryptionAtHost == oldSelf.azure.?securityProfile.?encryptionAtHost",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.securityProfile"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?identities.?type == oldSelf.azure.?identities.?type && self.azure.?identities.?userAssigned.orValue([]) == oldSelf.azure.?identities.?userAssigned.orValue([])",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.identities"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?capacityReservationGroupID == oldSelf.azure.?capacityReservationGroupID",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.capacityReservationGroupID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?hostGroupID == oldSelf.azure.?hostGroupID",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.hostGroupID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?hostID == oldSelf.azure.?hostID",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.hostID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?proximityPlacementGroupID == oldSelf.azure.?proximityPlacementGroupID",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.proximityPlacementGroupID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?scaleSetID == oldSelf.azure.?scaleSetID",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.scaleSetID"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?bootDiagnostics.?type == oldSelf.azure.?bootDiagnostics.?type && self.azure.?bootDiagnostics.?storageURI == oldSelf.azure.?bootDiagnostics.?storageURI",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.bootDiagnostics"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?additionalTags.orValue({}) == oldSelf.azure.?additionalTags.orValue({})",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.additionalTags"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?extensionOperations == oldSelf.azure.?extensionOperations",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.extensionOperations"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?windows.?licenseType == oldSelf.azure.?windows.?licenseType && self.azure.?windows.?timeZone == oldSelf.azure.?windows.?timeZone && self.azure.?windows.?patchMode == oldSelf.azure.?windows.?patchMode && self.azure.?windows.?assessmentMode == oldSelf.azure.?windows.?assessmentMode && self.azure.?windows.?hotpatch == oldSelf.azure.?windows.?hotpatch",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.windows"
	// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(oldSelf.azure) || self.azure.?dataDisks.orValue([]).map(d, d.name) == oldSelf.azure.?dataDisks.orValue([]).map(d, d.name) && (!has(self.azure.dataDisks) || !has(oldSelf.azure.dataDisks) || self.azure.dataDisks == oldSelf.azure.dataDisks)",message="a VM cannot be edited; create a new WindowsMachineTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".azure.dataDisks"
	Spec WindowsMachineSpec `json:"spec,omitempty"`

	// The default of status makes GitOps tools wait until the controller has seen the object.

	// status is what the controller knows of the VM, its guest and its Node.
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
