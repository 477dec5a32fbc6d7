package plan

// The facts that are known before the first step, and the one that a kind sets by itself.
const (
	// FactOSBuild is the build of Windows: 20348.
	FactOSBuild = "osBuild"
	// FactOSUBR is the update's number behind the build: 2700.
	FactOSUBR = "osUbr"
	// FactMemoryMiB is the machine's memory.
	FactMemoryMiB = "memoryMiB"
	// FactCPUs is the number of logical processors.
	FactCPUs = "cpus"
	// FactDiskFreeMiB is what is free on disk C: at the start of the interpreter.
	FactDiskFreeMiB = "diskFreeMiB"
	// FactComputerName is the NetBIOS name.
	FactComputerName = "computerName"
	// FactSMBIOS is the UUID of the machine.
	FactSMBIOS = "smbios"
	// FactManagementIP is set by hnsNetwork: the address by which the host is on that network.
	FactManagementIP = "managementIP"
)

// startFacts are known before the first step.
func startFacts() map[string]bool {
	return map[string]bool{
		FactOSBuild: true, FactOSUBR: true, FactMemoryMiB: true, FactCPUs: true, FactDiskFreeMiB: true,
		FactComputerName: true, FactSMBIOS: true,
	}
}
