package twins

import "encoding/base64"

// kinds are those of docs/plan.md, and how each step is made.
var kinds = []struct {
	name string
	make func(g *generator) tree
}{
	{"file", file},
	{"directory", directory},
	{"remove", remove},
	{"reservations", reservations},
	{"collectLogs", collectLogs},
	{"registry", registry},
	{"service", service},
	{"serviceState", serviceState},
	{"run", run},
	{"fact", fact},
	{"check", checkStep},
	{"waitFor", waitFor},
	{"feature", feature},
	{"reboot", reboot},
	{"localUser", localUser},
	{"defenderExclusions", defenderExclusions},
	{"adapter", adapter},
	{"address", address},
	{"route", route},
	{"hnsNetwork", hnsNetwork},
	{"hnsEndpoint", hnsEndpoint},
	{"hnsCleanup", hnsCleanup},
}

// programKind is where run is.
const programKind = 8

func file(g *generator) tree {
	step := tree{"path": g.path()}
	switch {
	case g.chance(20):
		step["content"] = base64.StdEncoding.EncodeToString([]byte(g.text() + pick(g, "", "\x00", "\xff\xfe", "\n")))
	case g.chance(30):
		step["text"] = g.output() + g.secret()
		step["secret"] = true
	default:
		step["text"] = g.value()
	}
	g.add(step, 50, "access", g.fileAccess())
	return step
}

// fileAccess is seldom that of a folder, which docs/plan.md does not allow.
func (g *generator) fileAccess() string {
	return pick(g, "admin", "inherit", "admin", "inherit", "guarded")
}

func directory(g *generator) tree {
	step := tree{"path": g.folder()}
	g.add(step, 60, "access", pick(g, "admin", "guarded", "inherit"))
	g.add(step, 30, "whole", true)
	return step
}

func remove(g *generator) tree {
	step := tree{}
	g.add(step, 60, "paths", g.list(1, 3, func() any { return g.path() }))
	g.add(step, 60, "patterns", g.list(1, 3, func() any { return g.pattern() }))
	return step
}

func reservations(g *generator) tree {
	step := tree{"path": g.path(), "rules": g.list(1, 3, func() any { return g.rule() })}
	g.add(step, 70, "patch", tree{"kind": "KubeletConfiguration", "nested": g.tree(1)})
	g.add(step, 30, "access", g.fileAccess())
	return step
}

func (g *generator) rule() tree {
	rows := g.list(0, 2, func() any {
		return tree{"below": pick(g, "4096", "8192", "16", "1.9", "x", "v4"), "value": g.node(1)}
	})
	return tree{
		"set": pick(g, "systemReserved.memory", "systemReserved.cpu", "kind", "a.b.c", "nested.new", "deep"), "fact": pick(g,
			g.facts...),
		"rows": append(rows, tree{"value": g.node(1)}),
	}
}

func collectLogs(g *generator) tree {
	step := tree{"path": pick(g, `C:\logs\all.zip`, `C:\zips\new.zip`)}
	g.add(step, 80, "patterns", g.list(1, 3, func() any { return g.pattern() }))
	g.add(step, 30, "events", []any{pick(g, "System", "Microsoft-Windows-Host/Admin", "é log")})
	g.add(step, 20, "maxMiB", digits(1))
	return step
}

const environmentKey = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`

// names of values in the registry.
var names = []string{"TWIN_A", "TWIN_B", "Twin_C", "number", "list"}

func (g *generator) key() string {
	return pick(g, environmentKey, `HKEY_LOCAL_MACHINE\SOFTWARE\capwin test`, `HKEY_LOCAL_MACHINE\SOFTWARE\ünï [k]`)
}

func registry(g *generator) tree {
	step := tree{"key": g.key(), "value": g.value()}
	g.add(step, 90, "valueName", pick(g, names...))
	switch kind := pick(g, "", "String", "ExpandString", "DWord", "QWord", "MultiString"); kind {
	case "":
	case "DWord", "QWord":
		step["type"], step["value"] = kind, g.number()
	case "MultiString":
		step["type"], step["value"] = kind, g.values(0, 3)
	default:
		step["type"] = kind
	}
	return step
}

func (g *generator) number() any {
	if g.chance(20) {
		return []any{tree{"fact": pick(g, "cpus", "memoryMiB", "osBuild")}}
	}
	return pick(g, "0", "1", "007", "-1", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808")
}

func service(g *generator) tree {
	at := g.IntN(len(services))
	step := tree{"service": services[at], "command": g.argv()}
	g.add(step, 60, "start", pick(g, "auto", "delayed-auto", "demand", "disabled"))
	if at > 0 { // a ring of services would never stop
		g.add(step, 50, "dependsOn", g.list(0, 2, func() any { return services[g.IntN(at)] }))
	}
	return step
}

func serviceState(g *generator) tree {
	return tree{"service": pick(g, append(services, "absent")...), "state": pick(g, "running", "stopped", "restarted")}
}

func feature(g *generator) tree {
	return tree{"features": g.list(1, 2, func() any { return pick(g, features...) })}
}

func reboot(g *generator) tree { return tree{"if": pick(g, "always", "pending", "pending")} }

func localUser(g *generator) tree {
	step := tree{"user": pick(g, "capi", "CAPI", "admin_2")}
	g.add(step, 60, "groups", g.list(1, 2, func() any { return pick(g, "S-1-5-32-544", "S-1-5-32-545") }))
	g.add(step, 60, "sshKeys", g.list(1, 2, func() any { return pick(g, "ssh-ed25519 AAAA a@b", "ssh-rsa BBBB 'x'", "") }))
	return step
}

func defenderExclusions(g *generator) tree {
	step := tree{}
	g.add(step, 70, "folders", g.list(1, 2, g.folder))
	g.add(step, 60, "processes", g.list(1, 2, func() any { return pick(g, programs...) }))
	return step
}

// add sets a field of a step in some of all cases.
func (g *generator) add(step tree, percent int, field string, value any) {
	if g.chance(percent) {
		step[field] = value
	}
}
