package kubelet

import "fmt"

// smallMemory is the memory below which Windows with kubelet and containerd leaves little.
const smallMemory = 8192

// Warnings about the version, the size, and risks that the user accepted.
func (k *Kubelet) Warnings() []string {
	var warnings []string
	if k.minor > lastMinor {
		warnings = append(warnings, fmt.Sprintf(
			"Machine spec.version: %s is newer than v1.%d, the newest version that this provider supports; "+
				"it is treated like that one",
			k.version, lastMinor))
	}
	if k.minor < rotatingMinor {
		warnings = append(warnings, fmt.Sprintf(
			"Machine spec.version: the kubelet does not rotate its log before v1.%d: kubelet.log in %s grows until the disk is full; "+
				"use v1.%d or later, or stop the kubelet and delete the file from time to time",
			rotatingMinor, k.LogDirectory, rotatingMinor))
	}
	if k.size.MemoryMiB > 0 && k.size.MemoryMiB < smallMemory {
		warnings = append(warnings, fmt.Sprintf(
			"WindowsMachine spec.vsphere.memoryMiB: %d leaves Pods little memory, because Windows and Kubernetes need about 3 GiB; "+
				"use %d or more",
			k.size.MemoryMiB, smallMemory))
	}
	if k.reservations.lowMemory {
		warnings = append(warnings,
			reservationsField+".lowMemoryPolicy: a node with less than 2Gi for Windows and Kubernetes may stall, "+
				"and one with less than 2Gi for Pods runs few of them; give Pods memory limits")
	}
	return append(warnings, k.groupRisks...)
}
