package v1beta1

// VSphereRecord has the vCenter's own references to a VM and its place. A
// vCenter gives each of them to one object only, so whoever may write this
// status may name a VM as his: see docs/security.md.
//
// +kubebuilder:validation:MinProperties=1
type VSphereRecord struct {
	// server is the instance UUID of the vCenter that gave these references. At
	// another one they prove nothing.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`

	// deletion is Accepted once the vCenter accepted the controller's own request to
	// destroy the VM. Without it, nothing shows what became of a VM that is gone.
	//
	// +optional
	Deletion CloudDeletion `json:"deletion,omitempty"`

	// reference to the VM, such as vm-1042. It comes from a VM that had all of the
	// machine's marks.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reference string `json:"reference,omitempty"`

	// folder is the reference to the folder that the VM was last seen in, such as
	// group-v3.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Folder string `json:"folder,omitempty"`
}

// CloudDeletion is how far a deletion came in the cloud.
//
// +kubebuilder:validation:Enum=Accepted
type CloudDeletion string

// DeletionAccepted is the cloud's acceptance of our own request to delete a VM.
const DeletionAccepted CloudDeletion = "Accepted"
