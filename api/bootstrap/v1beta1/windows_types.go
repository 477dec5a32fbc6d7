package v1beta1

// Containerd is what can be said of containerd.
//
// +kubebuilder:validation:MinProperties=1
type Containerd struct{}

// Windows is what can be said of Windows itself.
//
// +kubebuilder:validation:MinProperties=1
type Windows struct{}
