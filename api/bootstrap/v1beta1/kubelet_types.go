package v1beta1

// Kubelet is what can be said of the kubelet.
//
// +kubebuilder:validation:MinProperties=1
type Kubelet struct {
	// maxPods of the node; 110 when left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxPods int32 `json:"maxPods,omitempty"`
}

// Reservations keep cpu, memory and disk from pods.
//
// +kubebuilder:validation:MinProperties=1
type Reservations struct{}

// PageFile says how large the page file is.
//
// +kubebuilder:validation:MinProperties=1
type PageFile struct{}
