package kubelet

import "fmt"

// smallMemory is what Windows with the kubelet and containerd has little use of below.
const smallMemory = 8192

// Warnings of version, size and what was dared.
func (k *Kubelet) Warnings() []string {
	var all []string
	if k.minor > lastMinor {
		all = append(all, fmt.Sprintf("Machine spec.version: %s is newer than v1.%d, the newest whose kubelet is known here; it is taken to be like that one",
			k.version, lastMinor))
	}
	if k.minor < rotatingMinor {
		all = append(all, fmt.Sprintf("Machine spec.version: nothing rotates the kubelet's log before v1.%d: kubelet.log in %s grows until the disk is full; "+
			"use v1.%d or later, or stop the kubelet and delete the file before that", rotatingMinor, k.LogDirectory, rotatingMinor))
	}
	if k.size.MemoryMiB > 0 && k.size.MemoryMiB < smallMemory {
		all = append(all, fmt.Sprintf("WindowsMachine spec.vsphere.memoryMiB: %d is little, Windows and Kubernetes alone take some 3 GiB of it; write %d or more",
			k.size.MemoryMiB, smallMemory))
	}
	if k.reservations.lowMemory {
		all = append(all, reservationsField+".lowMemory: a node with less than 2Gi for Windows and Kubernetes may stall, one with less for Pods runs few; give Pods memory limits")
	}
	return all
}
