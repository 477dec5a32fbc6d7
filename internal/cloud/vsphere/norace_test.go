//go:build !race

package vsphere

const oneAtATime = false
