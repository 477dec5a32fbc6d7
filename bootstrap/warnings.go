package bootstrap

import "slices"

// warnings are what works only if others have done their part. What only the node knows of itself is asked there: see
// image.
func (n *node) warnings() []string {
	return slices.Concat(n.kubelet.Warnings(), n.containerd.Warnings(), n.windows.Warnings(), n.network.Warnings())
}
