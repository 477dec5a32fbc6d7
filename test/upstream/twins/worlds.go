package twins

import (
	"encoding/json"
	"strings"
)

// makeWorld makes a machine on which some of what the steps ask for is there.
func (g *generator) makeWorld() tree {
	w := tree{
		"commands": g.commands(), "services": g.services(), "features": g.features(), "registry": g.registryKeys(),
		"tls": tree{"10.0.0.1:6443": g.answer(), "api.example.com:443": g.answer()}, "pipes": g.list(0, 1, g.pipe),
		"users": tree{}, "defender": tree{"paths": g.list(0, 1, g.folder), "processes": []any{}},
		"facts": tree{"memoryMiB": pick(g, "4096", "8192", "15999"), "cpus": pick(g, "2", "16")},
		"files": g.files(),
	}
	g.add(w, 40, "clocks", tree{"10.0.0.1:6443": tree{"ahead": digits(pick(g, 0, 5, 400, -400)), "until": digits(pick(g, 3, 600))}})
	g.add(w, 30, "users", tree{"capi": []any{"S-1-5-32-545"}})
	if g.hns {
		g.furnishHNS(w)
	} else {
		g.furnishNetwork(w)
	}
	g.add(w, 25, "featureReboot", true)
	g.add(w, 4, "featureFails", true)
	g.add(w, 4, "featureNeverDone", true)
	g.access(w)
	return w
}

func (g *generator) commands() []any {
	commands := g.list(1, 5, func() any { return g.command() })
	for _, program := range programs {
		commands = append(commands, tree{"argv": []any{program}, "out": g.output()})
	}
	// What Windows' own events say is not the same on both machines.
	commands = append(commands, tree{"argv": []any{"wevtutil.exe"}, "out": g.output()})
	return commands
}

// command is a program that works seldom as it should. What it is asked for decides, or nothing.
func (g *generator) command() tree {
	command := tree{"argv": []any{pick(g, programs...)}, "out": g.output(), "err": g.output()}
	g.add(command, 60, "exit", digits(pick(g, 1, 3, 5, 3010, 255)))
	g.add(command, 30, "seconds", digits(pick(g, 1, 2, 10, 40, 100)))
	g.add(command, 50, "times", digits(pick(g, 1, 2, 3)))
	g.add(command, 8, "hangs", true)
	g.add(command, 20, "writes", tree{pick(g, files...): g.text()})
	return command
}

func (g *generator) answer() any { return pick[any](g, true, true, false, digits(5), digits(50)) }

func (g *generator) pipe() any { return pick(g, "containerd-containerd", "docker engine") }

func (g *generator) files() tree {
	made := tree{}
	for range g.IntN(5) {
		made[pick(g, files...)] = pick(g, g.text(), g.output())
	}
	if g.chance(7) {
		made[`C:\ProgramData\capwin\state.json`] = g.oldState()
	}
	return made
}

// oldState is the state of another bootstrap, of this one on another machine, or of an earlier life of this one.
func (g *generator) oldState() string {
	machine, state := "SMBIOS-1", pick(g, "Running", "Rebooting", "Succeeded", "Failed")
	if g.chance(40) {
		machine, state = "SMBIOS-2", pick(g, "Running", "Succeeded", "Succeeded", "Failed")
	}
	return encode(tree{
		"machine": tree{"osBuild": "20348", "osUbr": "", "memoryMiB": "1", "cpus": "1", "computerName": "OLD", "smbios": machine},
		"version": number1, "uid": pick(g, "uid-1", "uid-0"), "state": state, "reason": "", "message": "",
		"exitCode": digits(0), "lastLines": []any{}, "warnings": []any{"an old warning"}, "phase": digits(0), "phases": number1,
		"phaseName": "main", "step": digits(g.IntN(2)), "stepName": "s1", "attempts": digits(g.IntN(2)), "tries": digits(1),
		"reboots": digits(1),
		"elapsed": digits(pick(g, 0, 25)), "phaseElapsed": digits(0), "durations": tree{"old": digits(3)},
		"facts":  tree{"oldFact": "x"},
		"smbios": machine,
	})
}

func (g *generator) services() tree {
	made := tree{}
	for _, name := range services {
		if g.chance(30) {
			continue
		}
		one := tree{"state": pick(g, "Running", "Running", "Stopped", "Stopped", "StartPending", "StopPending")}
		if state := one["state"].(string); len(state) > len("Running") {
			g.add(one, 80, "settlesAfter", digits(pick(g, 1, 2, 30)))
		}
		g.add(one, 8, "broken", true)
		g.add(one, 8, "stubborn", true)
		made[name] = one
	}
	return made
}

func (g *generator) registryKeys() tree {
	made := tree{}
	chain := g.chance(40) // each depends on the one before it: Windows goes through those in between that have stopped
	for i, name := range services {
		if !chain && !g.chance(60) {
			continue
		}
		key := tree{"ImagePath": pick(g, `C:\k\a.exe`, `C:\k\nssm.exe`, `"C:\Program Files\b c\b.exe" a`), "Start": digits(pick(g,
			2, 3, 4))}
		switch { // a ring of services would never stop
		case i > 0 && chain:
			key["DependOnService"] = []any{services[i-1]}
		case i > 0 && g.chance(40):
			key["DependOnService"] = []any{services[g.IntN(i)]}
		}
		g.add(key, 30, "DelayedAutostart", digits(g.IntN(2)))
		made[`HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\`+name] = key
	}
	if g.chance(40) {
		text := strings.ReplaceAll(g.text(), "\x00", "0") // no variable has a NUL
		made[environmentKey] = tree{"TWIN_A": text, "TWIN_D": pick[any](g, "old", "old", []any{"a", "b"}, digits(7))}
	}
	if g.chance(30) {
		made[`HKEY_LOCAL_MACHINE\SOFTWARE\capwin test`] = tree{
			"number": digits(g.IntN(3)), "list": []any{"a", g.text()},
			"TWIN_B": g.text(),
		}
	}
	g.add(made, 70, `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`, tree{"UBR": digits(2700)})
	if g.chance(20) {
		made[pick(g, `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending`,
			`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired`)] = tree{}
	}
	return made
}

func (g *generator) features() tree {
	made := tree{}
	for _, name := range []string{"Containers", "Hyper-V"} {
		g.add(made, 85, name, pick(g, "Available", "Available", "Installed", "InstallPending"))
	}
	return made
}

func (g *generator) furnishNetwork(w tree) {
	first := tree{"index": digits(9), "mac": macA, "name": pick(g, "Ethernet0", "ethernet0", "Mgmt Netz ü")}
	g.add(first, 50, "dhcp", false)
	g.add(first, 20, "mtu", digits(1400))
	adapters := []any{first}
	addresses := []any{tree{"index": digits(9), "address": pick(g, "10.0.0.5/24", "10.0.0.7/24"), "origin": pick(g, "Manual",
		"Dhcp")}}
	routes := []any{tree{"index": digits(9), "to": "0.0.0.0/0", "via": pick(g, "10.0.0.1", "10.0.0.2"), "metric": digits(pick(g,
		0, 20))}}
	if g.chance(50) {
		second := tree{"index": digits(12), "mac": macB, "name": "Ethernet"}
		g.add(second, 20, "mac", macA)
		adapters = append(adapters, second)
		if g.chance(25) {
			second["hidden"] = true // one that is gone has neither routes nor addresses
		} else {
			g.add(second, 25, "virtual", true)
			routes = append(routes, tree{"index": digits(12), "to": "0.0.0.0/0", "via": "10.7.0.1", "metric": digits(pick(g, 5, 50))})
			origin := pick(g, "Manual", "RouterAdvertisement")
			addresses = append(addresses, tree{"index": digits(12), "address": "fd00::5/64", "origin": origin})
		}
	}
	if g.chance(15) {
		addresses = append(addresses, tree{"index": digits(9), "address": "192.0.2.1/32", "after": digits(20)})
	}
	w["adapters"], w["addresses"] = adapters, addresses
	g.add(w, 85, "routes", routes)
	g.add(w, 50, "dns", []any{"10.0.0.53"})
}

func (g *generator) furnishHNS(w tree) {
	items := g.list(0, 3, func() any { return g.hnsItem() })
	for i, item := range items {
		item.(tree)["ID"] = "old-" + string(rune('a'+i))
	}
	w["hns"] = items
	w["managementIP"] = pick(g, "10.0.0.5", "10.0.0.5", "10.0.0.99", "")
	w["addresses"] = []any{tree{"index": digits(9), "address": "10.0.0.5/24"}, tree{"index": digits(9), "address": "192.0.2.77/32"}}
	w["routes"] = []any{tree{"index": digits(9), "to": "0.0.0.0/0", "via": "10.0.0.1"}}
	stale := tree{"kind": "networks", "ID": "stale-1", "Name": "Calico", "Type": "Overlay", "ManagementIP": "10.0.0.5"}
	g.add(w, 50, "stale", []any{stale})
}

func (g *generator) hnsItem() tree {
	switch g.IntN(3) {
	case 0:
		return tree{"kind": "policylists"}
	case 1:
		return tree{"kind": "endpoints", "Name": pick(g, "Calico_ep", "pod 1", "[x]"), "IPAddress": pick(g, "192.0.2.77", "192.0.2.78")}
	}
	item := tree{"kind": "networks", "Name": pick(g, networks...), "Type": pick(g, "Overlay", "L2Bridge")}
	g.add(item, 80, "ManagementIP", pick(g, "10.0.0.5", "10.0.0.99"))
	g.add(item, 50, "Subnets", []any{tree{"AddressPrefix": "10.4.0.0/16"}})
	return item
}

// access gives some of what is on the disk to others, and leads some folders elsewhere.
func (g *generator) access(w tree) {
	acl := tree{}
	for path := range sortedKeys(w["files"].(tree)) {
		if g.chance(20) {
			acl[path] = pick(g, "O:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)", "O:S-1-5-21-1D:AI")
		}
	}
	w["acl"] = acl
	g.add(w, 6, "links", tree{`C:\k\linked`: `C:\logs`})
}

// doors are the commands and calls of Windows that may fail or never answer, by the names that both interpreters' machines have.
var doors = []string{
	"Save-File", "Add-Folder", "Clear-Path", "New-OwnFile", "Get-Acl", "Set-Acl", "Read-Registry", "Write-Registry",
	"Test-RegistryKey",
	"Clear-RegistryKey", "Write-BootMarker", "Get-CimInstance", "Disable-ScheduledTask", "Get-Service", "Invoke-Program", "sc.exe",
	"shutdown.exe", "wevtutil.exe", `C:\k\a.exe`, `C:\k\kubectl.exe`, "Test-TlsServer", "Get-ClockOffset", "Test-Pipe",
	"Get-NetAdapter",
	"Rename-NetAdapter", "Get-NetIPInterface", "Set-NetIPInterface", "Get-NetIPAddress", "New-NetIPAddress", "Remove-NetIPAddress",
	"Get-NetRoute", "New-NetRoute", "Remove-NetRoute", "Get-DnsClientServerAddress", "Set-DnsClientServerAddress", "Send-HnsCall",
	"Get-WindowsFeature", "Install-WindowsFeature", "Get-LocalUser", "New-LocalUser", "Add-LocalGroupMember", "Add-UserProfile",
	"Get-MpPreference", "Add-MpPreference", "Invoke-WebRequest",
}

// aside are the doors of kinds that call Windows inside of the agent's process: only these may hang, and the agent goes on.
var aside = []string{
	"Get-CimInstance", "Get-NetAdapter", "Rename-NetAdapter", "Get-NetIPInterface", "Set-NetIPInterface", "Get-NetIPAddress",
	"New-NetIPAddress", "Get-NetRoute", "New-NetRoute", "Get-DnsClientServerAddress", "Set-DnsClientServerAddress", "Send-HnsCall",
	"Get-WindowsFeature", "Install-WindowsFeature", "Get-LocalUser", "New-LocalUser", "Add-LocalGroupMember", "Add-UserProfile",
	"Get-MpPreference", "Add-MpPreference", "Test-TlsServer", "Get-ClockOffset", "Test-Pipe", "Disable-ScheduledTask",
}

// faults make one door fail, or one never answer: how often two doors are asked before one of them fails is no part of the
// language.
func (g *generator) faults() {
	switch {
	case g.chance(30):
		g.world["throws"] = tree{g.door(doors): pick(g, "broken here", "Zugriff verweigert: ü", "a\nb", "[x] 'y'", "no "+g.secret())}
		g.add(g.world, 70, "throwTimes", json.Number(pick(g, "1", "2")))
	case g.chance(15):
		g.world["hangs"] = tree{g.door(aside): json.Number(pick(g, "1", "2", "9"))}
	}
}

// door is one that the plan's kinds may use, as far as that is known: a fault nobody meets shows nothing.
func (g *generator) door(all []string) string {
	used := doorsOf(g.plan)
	for range 20 {
		if door := pick(g, all...); used[door] {
			return door
		}
	}
	return pick(g, all...)
}
