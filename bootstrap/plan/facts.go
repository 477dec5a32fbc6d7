package plan

import "strings"

// The facts that are known before the first step, and those that a kind sets by itself.
const (
	// FactOSBuild is the build of Windows: 20348.
	FactOSBuild = "osBuild"
	// FactOSUBR is the number of the update, behind the build: 2700.
	FactOSUBR = "osUbr"
	// FactMemoryMiB is the machine's memory.
	FactMemoryMiB = "memoryMiB"
	// FactCPUs is the number of logical processors.
	FactCPUs = "cpus"
	// FactDiskFreeMiB is the free space on disk C: when the interpreter starts.
	FactDiskFreeMiB = "diskFreeMiB"
	// FactComputerName is the NetBIOS name.
	FactComputerName = "computerName"
	// FactSMBIOS is the UUID of the machine.
	FactSMBIOS = "smbios"
	// FactManagementIP is the address of the host on the network that hnsNetwork made, which sets it.
	FactManagementIP = "managementIP"
	// FactClockOffset is by how many seconds the clock is wrong, "720 s behind" or "720 s ahead of" a server's. A waitFor of a
	// clock sets it.
	FactClockOffset = "clockOffset"
	// FactUpdated is the day of the last update of Windows, 18 Sep 2026, as a step of the plan finds it; the report has it.
	FactUpdated = "windowsUpdated"
	// FactReport, FactObject and FactLogin exist in a channel that replaces an object: the report, the file with the object and the
	// file to log in with.
	FactReport = "report"
	FactObject = "object"
	FactLogin  = "login"
)

// startFacts are known before the first step.
func startFacts() map[string]bool {
	return map[string]bool{
		FactOSBuild: true, FactOSUBR: true, FactMemoryMiB: true, FactCPUs: true, FactDiskFreeMiB: true,
		FactComputerName: true, FactSMBIOS: true,
	}
}

// provided are the facts that no step may set by name.
var provided = map[string]bool{
	FactOSBuild: true, FactOSUBR: true, FactMemoryMiB: true, FactCPUs: true, FactDiskFreeMiB: true, FactComputerName: true,
	FactSMBIOS: true, FactManagementIP: true, FactClockOffset: true, FactReport: true, FactObject: true, FactLogin: true,
}

// factNames are all of them, by their small letters.
func factNames() map[string]string {
	names := map[string]string{strings.ToLower(FactUpdated): FactUpdated}
	for name := range provided {
		names[strings.ToLower(name)] = name
	}
	return names
}
