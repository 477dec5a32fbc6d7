package twins

import (
	"fmt"
	"math/rand/v2"
)

// generator makes one case. What it makes and docs/plan.md does not allow, it leaves out again.
type generator struct {
	*rand.Rand
	plan, world tree
	// facts are known at this point of the plan.
	facts []string
	steps int
	// later says that the steps at hand are those of everyBoot, or of the background behind it.
	later, behind bool
	// hidden are the texts of redact, which programs and Windows tell more often than others.
	hidden []string
	// hns says that the machine has networks of HNS, and no adapters: what becomes of an adapter below a vSwitch is another test's.
	hns bool
	// Refused counts the steps that were left out.
	Refused int
}

// Generate makes the case of a seed and a number: always the same one.
func Generate(seed uint64, number int) *Case {
	made, _ := generate(seed, number)
	return made
}

func generate(seed uint64, number int) (*Case, *generator) {
	g := &generator{
		Rand:  rand.New(rand.NewPCG(seed, uint64(max(0, number)))),
		facts: []string{"osBuild", "osUbr", "memoryMiB", "cpus", "computerName", "smbios"},
	}
	g.hns = g.chance(40)
	for range g.IntN(3) {
		g.hidden = append(g.hidden, pick(g, secrets...))
	}
	g.world = g.makeWorld()
	g.plan = tree{
		"version": number1,
		"machine": machineOf("uid-1"), "report": []any{}, "phases": []any{},
	}
	g.head()
	for range 1 + g.IntN(3) {
		g.phase("phases")
	}
	if g.chance(35) {
		g.later = true
		for range 1 + g.IntN(2) {
			g.phase("everyBoot")
		}
		g.background()
		g.world["starts"] = digits(1 + g.IntN(2))
	}
	g.faults()
	return &Case{Seed: seed, Number: number, Culture: pick(g, "", "", "", "tr-TR"), World: g.world, Plan: g.plan}, g
}

func machineOf(uid string) tree {
	return tree{"namespace": "ns", "name": "m", "uid": uid, "node": "win-1", "cluster": "c"}
}

// background is seldom more than a list of no phase.
func (g *generator) background() {
	switch {
	case g.chance(15):
		g.plan["background"] = []any{}
	case g.chance(35):
		g.behind = true
		g.phase("background")
	}
}

// phase adds a phase with the steps that docs/plan.md allows here.
func (g *generator) phase(list string) {
	phases, _ := g.plan[list].([]any)
	phase := tree{"name": fmt.Sprintf("%s%d", pick(g, "prepare", "Main", "join.", "p-"), len(phases)), "steps": []any{}}
	g.plan[list] = append(phases, phase)
	most := 5
	if g.behind {
		most = 2 // the stand-ins of Windows end after an hour in the background
	}
	for range 1 + g.IntN(most) {
		g.step(phase)
	}
}

func (g *generator) step(phase tree) {
	kind := kinds[g.IntN(len(kinds))]
	if g.chance(8) {
		kind = kinds[programKind] // what programs write is told in more ways than anything else
	}
	before, steps := g.facts, phase["steps"].([]any)
	g.steps++
	step := kind.make(g)
	step["do"], step["name"] = kind.name, fmt.Sprintf("s%d", g.steps)
	g.common(step)
	phase["steps"] = append(steps, step)
	if !allowed(g.plan) {
		phase["steps"], g.facts = steps, before
		g.Refused++
	}
	// What a step finds is not there for sure where it may fail or be skipped: the two differ in when they see that.
	if (step["optional"] != nil || step["when"] != nil || g.later) && g.chance(95) {
		g.facts = before
	}
}

// common adds what every step may have.
func (g *generator) common(step tree) {
	if g.chance(25) {
		step["reason"] = pick(g, "JoinFailed", "X", "DiskTooSmall")
	}
	if g.chance(30) {
		step["timeoutSeconds"] = digits(pick(g, 1, 3, 20, 90))
	}
	if g.chance(35) {
		step["attempts"] = digits(pick(g, 1, 2, 3))
	}
	if g.chance(20) {
		step["delaySeconds"] = digits(pick(g, 0, 1, 7, 40))
	}
	// In the background, what fails is tried without end, and the two worlds do not end at the same time.
	if g.behind || g.chance(65) {
		step["optional"] = true
	}
	if g.chance(12) {
		step["when"] = g.test()
	}
	if g.later && !g.behind && g.chance(45) {
		step["always"] = true
	}
}

// head adds what a plan has beside its phases; what is not allowed is left out.
func (g *generator) head() {
	g.may(10, "machine", func() any { return machineOf(pick(g, "u|1 %x", `'$(x)"`, "u\u212a", "ü")) })
	g.may(35, "deadlineSeconds", func() any { return digits(pick(g, 1, 8, 30, 60, 100, 300, 1800)) })
	g.may(30, "maxReboots", func() any { return digits(pick(g, 1, 2, 5)) })
	g.may(100, "redact", func() any { return list(g.hidden) })
	g.may(45, "erase", func() any { return g.list(1, 3, func() any { return g.pattern() }) })
	g.may(45, "report", func() any { return g.list(1, 2, func() any { return g.channel() }) })
	g.may(35, "logs", func() any {
		logs := collectLogs(g)
		logs["do"] = "collectLogs"
		return logs
	})
}

func (g *generator) may(percent int, field string, value func() any) {
	if !g.chance(percent) {
		return
	}
	before, had := g.plan[field]
	g.plan[field] = value()
	if allowed(g.plan) {
		return
	}
	if g.Refused++; had {
		g.plan[field] = before
	} else {
		delete(g.plan, field)
	}
}

func (g *generator) channel() tree {
	return pick(g, g.guestInfo, g.azure, g.console, g.replace)()
}

func (g *generator) guestInfo() tree {
	return tree{"do": "guestinfo", "program": pick(g, programs...), "key": "guestinfo.capwin.report"}
}

func (g *generator) azure() tree { return tree{"do": "azure", "url": "http://168.63.129.16"} }

func (g *generator) console() tree { return tree{"do": "console"} }

func (g *generator) replace() tree {
	body := tree{"kind": "ConfigMap", "data": tree{"report": tree{"fact": "report"}, "cpus": tree{"fact": "cpus"}}}
	if g.chance(30) {
		body["more"] = g.tree(2)
	}
	channel := tree{
		"do": "replace", "body": body, "logins": g.list(1, 3, func() any { return pick(g, files...) }),
		"argv": []any{pick(g, programs...), "--kubeconfig", []any{tree{"fact": "login"}}, "-f", []any{tree{"fact": "object"}}},
	}
	if g.chance(50) {
		channel["erase"] = g.list(1, 2, func() any { return g.pattern() })
	}
	return channel
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[V any](g *generator, list ...V) V { return list[g.IntN(len(list))] }

func (g *generator) list(least, most int, one func() any) []any {
	made := []any{}
	for range least + g.IntN(most-least+1) {
		made = append(made, one())
	}
	return made
}

// set gives a new name of a fact, which is known from here on, or an old one anew.
func (g *generator) set() string {
	name := pick(g, "foundA", "foundB", "subnet", "windowsUpdated", "fooBar", "item", "count", "keys", "length")
	g.facts = append(append([]string{}, g.facts...), name)
	return name
}
