package twins

func (g *generator) argv() []any {
	return append([]any{pick(g, programs...)}, g.values(0, 3)...)
}

func run(g *generator) tree {
	step := tree{"argv": g.argv()}
	g.add(step, 30, "okExitCodes", g.list(1, 2, func() any { return digits(pick(g, 0, 1, 3)) }))
	g.add(step, 30, "rebootExitCodes", []any{digits(pick(g, 3010, 1, 5))})
	g.add(step, 30, "environment", tree{pick(g, "TWIN_A", "TWIN_D"): g.value(), pick(g, "TWIN_E", "twin_f"): g.value()})
	g.add(step, 20, "directory", pick(g, folders...))
	g.add(step, 20, "creates", g.path())
	if g.chance(20) {
		step["quiet"] = true
	} else {
		g.add(step, 40, "diagnose", g.list(1, 2, func() any { return g.diagnosis() }))
	}
	g.add(step, 25, "undo", g.argv())
	return step
}

func (g *generator) diagnosis() tree {
	return tree{"match": g.expression(), "reason": pick(g, "Found", "TokenExpired"), "message": "because of " + g.text()}
}

// expressions are those that plans have, and some that .NET and Go might read otherwise; docs/plan.md refuses some of these.
var expressions = []string{
	"value", "VALUE", "^a", "b$", "^(.*)$", ".", ".*", "x*", "(a)|(b)", "(zz)?a", "([0-9]+[.][0-9]+)", "v([0-9.]+)", "[a-z]+",
	"[^a]",
	"i", "I", "k", "İ", "ı", "[A-Z]{2,}", "a|b|kubelet", "two (words)", `\[a\]`, `\$`, `[{}]`, "[[]", `\.`, "(a(b)?)", "token",
	"é", "^$", `\s`,
	`\w+`, `\d+`, `\bvalue\b`, `[\s\S]+`, "ß", "s", "[^ -~]", "line$", "^many", "x{2}", "a+?", `[\]]`, `\\`, "/", `"`, "'", `\x{41}`,
}

func (g *generator) expression() string { return pick(g, expressions...) }

func fact(g *generator) tree {
	step := tree{"match": g.expression(), "say": g.say()}
	if g.chance(25) {
		from := tree{"key": g.key()}
		g.add(from, 90, "valueName", pick(g, names...))
		step["registry"] = from
	} else {
		step["argv"] = g.argv()
	}
	step["set"] = g.set()
	return step
}

func (g *generator) say() any {
	if g.chance(40) {
		return g.parts("say ")
	}
	return "say " + pick(g, g.text(), g.secret())
}

// test compares a fact.
func (g *generator) test() tree {
	test := tree{"fact": pick(g, g.facts...)}
	for range 1 + g.IntN(2) {
		switch how := pick(g, "is", "isNot", "atLeast", "below"); how {
		case "atLeast", "below":
			test[how] = pick[any](g, g.value(), "1.36", "v4", "20348.1", "9000", "1.9", "", "3x")
		default:
			test[how] = pick[any](g, g.value(), g.text(), "4", "win-1", "20348", "8192")
		}
	}
	return test
}

func checkStep(g *generator) tree {
	step := g.test()
	step["say"] = []any{"have ", tree{"fact": step["fact"]}, " " + g.text()}
	return step
}

func waitFor(g *generator) tree {
	step := tree{"say": "no answer of " + g.text()}
	switch kind := pick(g, "https", "clock", "file", "pipe", "address"); kind {
	case "https":
		step["for"], step["host"], step["port"] = kind, pick(g, hosts...), pick[any](g, "6443", digits(443))
		g.add(step, 40, "path", pick(g, "/readyz", "/a b"))
		g.add(step, 40, "insecure", true)
	case "clock":
		step["for"], step["host"], step["port"], step["withinSeconds"] = kind, pick(g, hosts...), "6443", digits(pick(g, 1, 60, 300))
		g.add(step, 50, "say", []any{"the clock is ", tree{"fact": "clockOffset"}})
		g.facts = append(append([]string{}, g.facts...), "clockOffset")
	case "file":
		step["for"], step["target"] = kind, g.path()
	case "pipe":
		step["for"], step["target"] = kind, pick(g, "containerd-containerd", "docker engine", "Docker")
	default:
		step["for"], step["target"] = kind, pick[any](g, "10.0.0.5", "fd00::5", "192.0.2.1", []any{tree{"fact": pick(g, g.facts...)}})
	}
	return step
}

var hosts = []string{"10.0.0.1", "api.example.com", "[fd00::1]", "API.example.com"}
