package v1beta1

// Reservations keep cpu, memory and disk from pods. What is left out follows from the size of the VM and its pods.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.lowMemory) || !has(self.system) || !has(self.system.memory) || (has(self.kube) && has(self.kube.memory) ? quantity(self.system.memory).add(quantity(self.kube.memory)) : quantity(self.system.memory)).compareTo(quantity('2Gi')) >= 0",message="system.memory and kube.memory must keep at least 2Gi for Windows and Kubernetes: write more, leave system.memory out, or write lowMemory: IAcceptThatWindowsMayStall",fieldPath=".system"
type Reservations struct {
	// system is kept for Windows itself; left out, 2Gi of memory, 1Gi of disk, and from half a core to two.
	//
	// +optional
	System Reserved `json:"system,omitempty,omitzero"`

	// kube is kept for kubelet and containerd; left out, 255Mi of memory and 11Mi for each pod but no more than a quarter
	// of all, 1Gi of disk, and some 60m to 230m of cpu.
	//
	// +optional
	Kube Reserved `json:"kube,omitempty,omitzero"`

	// eviction is what must be left of memory and disk; below it the kubelet evicts pods.
	//
	// +optional
	Eviction Eviction `json:"eviction,omitempty,omitzero"`

	// lowMemory IAcceptThatWindowsMayStall allows to keep less than 2Gi of memory for Windows and Kubernetes, and machines
	// that leave pods less than 2Gi. Windows has no OOM killer: a node that is out of memory writes to its page file until
	// nothing on it answers.
	//
	// +optional
	LowMemory LowMemory `json:"lowMemory,omitempty"`
}

// Reserved is kept from pods.
//
// +kubebuilder:validation:MinProperties=1
type Reserved struct {
	// cpu in cores or, with an m, thousandths of them: 2 or 500m.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]*)m?$`
	CPU string `json:"cpu,omitempty"`

	// memory in Mi or Gi, such as 1536Mi.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi)$`
	Memory string `json:"memory,omitempty"`

	// ephemeralStorage of the disk in Mi or Gi, such as 10Gi.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi)$`
	EphemeralStorage string `json:"ephemeralStorage,omitempty"`
}

// Eviction is what must be left: an amount in Mi or Gi, or a percentage.
//
// +kubebuilder:validation:MinProperties=1
type Eviction struct {
	// memoryAvailable is what must be left of memory and page file together; 500Mi when left out.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	MemoryAvailable string `json:"memoryAvailable,omitempty"`

	// nodefsAvailable is what must be left of the disk with the kubelet's folder; 10% when left out.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	NodeFSAvailable string `json:"nodefsAvailable,omitempty"`

	// imagefsAvailable is what must be left of the disk with containerd's images; 15% when left out.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	ImageFSAvailable string `json:"imagefsAvailable,omitempty"`
}

// LowMemory is said by whoever keeps less memory for Windows than it needs.
//
// +kubebuilder:validation:Enum=IAcceptThatWindowsMayStall
type LowMemory string

// LowMemoryAccepted allows to keep little memory for Windows.
const LowMemoryAccepted LowMemory = "IAcceptThatWindowsMayStall"

// PageFile says how large the page file is. There always is one: without it Windows ends programs when memory is committed.
//
// +kubebuilder:validation:XValidation:rule="(self.policy == 'Fixed') == has(self.sizeMiB)",message="sizeMiB belongs to policy Fixed and to no other: write both, or leave sizeMiB out",fieldPath=".sizeMiB"
type PageFile struct {
	// policy is Image to leave the page file as the image has it, Managed to let Windows choose its size, or Fixed to give
	// it sizeMiB. A change takes a reboot before the node joins.
	//
	// +required
	Policy PageFilePolicy `json:"policy,omitempty"`

	// sizeMiB of a page file of policy Fixed, on the disk of Windows.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=1048576
	SizeMiB int32 `json:"sizeMiB,omitempty"`
}

// PageFilePolicy says who decides the size of the page file.
//
// +kubebuilder:validation:Enum=Managed;Fixed;Image
type PageFilePolicy string

// The policies of a page file.
const (
	PageFileManaged PageFilePolicy = "Managed"
	PageFileFixed   PageFilePolicy = "Fixed"
	PageFileImage   PageFilePolicy = "Image"
)
