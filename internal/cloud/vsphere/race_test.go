//go:build race

package vsphere

func init() { oneAtATime = true }
