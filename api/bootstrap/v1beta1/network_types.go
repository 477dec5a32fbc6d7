package v1beta1

// Network is how pods on the node reach the network.
//
// +kubebuilder:validation:MinProperties=1
type Network struct{}
