package v1beta1

// Reservations keep CPU, memory and disk space away from pods. Defaults depend on the size of the VM and its number of pods.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.lowMemory) || !has(self.system) || !has(self.system.memory) || (has(self.kube) && has(self.kube.memory) ? quantity(self.system.memory).add(quantity(self.kube.memory)) : quantity(self.system.memory)).compareTo(quantity('2Gi')) >= 0",message="system.memory and kube.memory together must reserve at least 2Gi for Windows and Kubernetes; raise them, remove system.memory, or set lowMemory: IAcceptThatWindowsMayStall",fieldPath=".system"
type Reservations struct {
	// system is reserved for Windows itself. Default: 2Gi of memory, 1Gi of disk, and between half a core and two cores.
	//
	// +optional
	System Reserved `json:"system,omitempty,omitzero"`

	// kube is reserved for kubelet and containerd. Default: 255Mi of memory plus 11Mi for each pod, but at most a quarter of
	// all memory; 1Gi of disk; and between 60m and about 230m of CPU.
	//
	// +optional
	Kube Reserved `json:"kube,omitempty,omitzero"`

	// eviction thresholds. The kubelet evicts pods when less memory or disk space than this is left.
	//
	// +optional
	Eviction Eviction `json:"eviction,omitempty,omitzero"`

	// lowMemory: IAcceptThatWindowsMayStall allows reservations of less than 2Gi of memory for Windows and Kubernetes, and
	// machines that leave pods less than 2Gi. Windows has no OOM killer: a node without free memory writes to its page file
	// until nothing on it answers.
	//
	// +optional
	LowMemory LowMemory `json:"lowMemory,omitempty"`
}

// Reserved says how much of each resource is kept away from pods.
//
// +kubebuilder:validation:MinProperties=1
type Reserved struct {
	// cpu in cores or in thousandths of a core, such as 2 or 500m.
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

	// ephemeralStorage on disk in Mi or Gi, such as 10Gi.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi)$`
	EphemeralStorage string `json:"ephemeralStorage,omitempty"`
}

// Eviction has the thresholds below which pods are evicted: an amount in Mi or Gi, or a percentage.
//
// +kubebuilder:validation:MinProperties=1
type Eviction struct {
	// memoryAvailable is the least free memory, page file included. Default: 500Mi.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	MemoryAvailable string `json:"memoryAvailable,omitempty"`

	// nodefsAvailable is the least free space on the disk with the kubelet's folder. Default: 10%.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	NodeFSAvailable string `json:"nodefsAvailable,omitempty"`

	// imagefsAvailable is the least free space on the disk with containerd's images. Default: 15%.
	//
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*(Mi|Gi)|[1-9][0-9]?%)$`
	ImageFSAvailable string `json:"imagefsAvailable,omitempty"`
}

// LowMemory is how users accept that Windows has less memory than it needs.
//
// +kubebuilder:validation:Enum=IAcceptThatWindowsMayStall
type LowMemory string

// LowMemoryAccepted allows reservations that leave Windows little memory.
const LowMemoryAccepted LowMemory = "IAcceptThatWindowsMayStall"
