package twins

import (
	"iter"
	"maps"
	"slices"
)

// doorsOfKind are the doors behind each kind. A fault that no step of a plan can meet would be wasted.
var doorsOfKind = map[string][]string{
	"file":         {"Save-File", "New-OwnFile", "Get-Acl"},
	"directory":    {"Add-Folder", "Get-Acl", "Set-Acl", "Clear-Path"},
	"remove":       {"Clear-Path"},
	"reservations": {"Save-File", "New-OwnFile", "Get-Acl"},
	"collectLogs":  {"Invoke-Program", "wevtutil.exe"},
	"registry":     {"Read-Registry", "Write-Registry"},
	"service":      {"Read-Registry", "Clear-RegistryKey", "Get-Service", "Invoke-Program", "sc.exe"},
	"serviceState": {"Get-Service", "Invoke-Program", "sc.exe"},
	"run":          {"Invoke-Program", `C:\k\a.exe`, `C:\k\kubectl.exe`},
	"fact":         {"Invoke-Program", `C:\k\a.exe`, `C:\k\kubectl.exe`},
	"waitFor":      {"Test-TlsServer", "Get-ClockOffset", "Test-Pipe", "Get-NetIPAddress"},
	"feature":      {"Get-WindowsFeature", "Install-WindowsFeature", "Test-RegistryKey", "Write-BootMarker", "shutdown.exe"},
	"reboot":       {"Test-RegistryKey", "Write-BootMarker", "shutdown.exe"},
	"localUser": {
		"Get-LocalUser", "New-LocalUser", "Add-LocalGroupMember", "Add-UserProfile", "Read-Registry",
		"Get-Acl", "Set-Acl",
	},
	"defenderExclusions": {"Get-MpPreference", "Add-MpPreference"},
	"adapter":            {"Get-NetAdapter", "Rename-NetAdapter", "Get-NetRoute"},
	"address": {
		"Get-NetAdapter", "Get-NetIPInterface", "Set-NetIPInterface", "Get-NetIPAddress", "New-NetIPAddress", "Remove-NetIPAddress",
		"Get-NetRoute", "New-NetRoute", "Remove-NetRoute", "Get-DnsClientServerAddress", "Set-DnsClientServerAddress",
	},
	"route":       {"Get-NetRoute", "New-NetRoute", "Remove-NetRoute"},
	"hnsNetwork":  {"Send-HnsCall", "Get-NetIPAddress"},
	"hnsEndpoint": {"Send-HnsCall"},
	"hnsCleanup":  {"Send-HnsCall"},
}

func doorsOf(p tree) map[string]bool {
	used := map[string]bool{"Get-CimInstance": true, "Disable-ScheduledTask": true, "Save-File": true}
	for step := range stepsOf(p) {
		kind, _ := step["do"].(string)
		for _, door := range doorsOfKind[kind] {
			used[door] = true
		}
	}
	if len(p["report"].([]any)) > 0 {
		used["Invoke-Program"], used["Invoke-WebRequest"] = true, true
	}
	return used
}

// stepsOf are all steps of a plan.
func stepsOf(p tree) iter.Seq[tree] {
	return func(yield func(tree) bool) {
		for _, list := range []string{"phases", "everyBoot", "background"} {
			for _, phase := range phasesOf(p, list) {
				steps, _ := phase.(tree)["steps"].([]any)
				for _, step := range steps {
					if step, ok := step.(tree); ok && !yield(step) {
						return
					}
				}
			}
		}
	}
}

func phasesOf(p tree, list string) []any {
	phases, _ := p[list].([]any)
	return phases
}

func sortedKeys(node tree) iter.Seq[string] { return slices.Values(slices.Sorted(maps.Keys(node))) }
