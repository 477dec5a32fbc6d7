package plan_test

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// ask keeps a fact.
func ask(name string) string {
	return do("fact", `"argv":["a.exe"],"match":"a","say":"it is lost","set":"`+name+`"`)
}

// alikeHalves are rules of what Go and PowerShell must read alike: what is refused, and the nearest to it that is taken.
var alikeHalves = []struct{ refused, taken, want string }{
	{ask("psBase"), ask("psBased"), "a name that PowerShell reserves"},
	{ask("osBuild"), ask("osBuilds"), "interpreters set themselves"},
	{ask("managementIP"), ask("windowsUpdated"), "interpreters set themselves"},
	{ask("osbuild"), ask("osBuilds"), `"osbuild" is used already, in another case: "osBuild"`},
	{ask("windowsupdated"), ask("windowsUpdated"), "in another case"},
	{ask("aa") + "," + named("t", ask("aA")), ask("aa") + "," + named("t", ask("aa")), "in another case"},
	{do("adapter", `"set":"pstypenames"`), do("adapter", `"set":"a"`), "a name that PowerShell reserves"},
	{run(`"okExitCodes":[2147483648]`), run(`"okExitCodes":[2147483647]`), "must be a number of 32 bits"},
	{run(`"rebootExitCodes":[-2147483649]`), run(`"rebootExitCodes":[-2147483648]`), "must be a number of 32 bits"},

	{reboot(`"timeoutSeconds":604801`), reboot(`"timeoutSeconds":604800`), "timeoutSeconds 604801 must be 0 to 604800"},
	{reboot(`"delaySeconds":604801`), reboot(`"delaySeconds":604800`), "delaySeconds 604801 must be"},
	{reboot(`"attempts":101`), reboot(`"attempts":100`), "attempts 101 must be 0 to 100"},
	{do("collectLogs", `"path":"C:\\a","maxMiB":1025`), do("collectLogs", `"path":"C:\\a","maxMiB":1024`), "maxMiB 1025 must be"},
	{clock("604801"), clock("604800"), "withinSeconds 604801 must be"},
	{clock("-1"), clock("1"), "withinSeconds -1 must be"},

	{tree(`1.50`), tree(`1.5`), "1.50 must be a whole number of at most 28 digits"},
	{tree(`1.0`), tree(`1`), "1.0 must be"},
	{tree(`1e3`), tree(`1000`), "1e3 must be"},
	{tree(`-0`), tree(`0`), "-0 must be"},
	{tree(`0.00001`), tree(`-0.0001`), "0.00001 must be"},
	{tree(strings.Repeat("9", 29)), tree("-" + strings.Repeat("9", 28)), "must be a whole number"},
	{tree(deep(50)), tree(deep(49)), "deeper than 50"},
	{tree(`{"é":1}`), tree(`{"e":"é"}`), `"é" must be printable ASCII`},
	{row(`{"Fact":"cpus"}`), row(`{"fact":"cpus"}`), "must be the only name of its object, and its value a text"},
	{row(`{"fact":5}`), row(`{"facts":5}`), "must be the only name of its object, and its value a text"},
	{row(`{"a":[1.0]}`), row(`{"a":[1]}`), "rules.rows.value.a 1.0 must be"},
	{row(`{"fact":"nope"}`), row(`{"fact":"cpus"}`), "fact 'nope' is not known"},

	{
		do("hnsNetwork", `"request":{"Name":1,"Type":"b"}`), do("hnsNetwork", `"request":{"Name":{"fact":"cpus"},"Type":"b"}`),
		"request.Name is missing: a text",
	},
	{
		do("hnsNetwork", `"request":{"Name":"a","Type":["b"]}`), do("hnsNetwork", `"wait":true,"request":{"Name":"a","Type":["b"]}`),
		"request.Type is missing: a text",
	},
	{rules("a.b", "A.c"), rules("a.b", "a.c"), `rules.set "A" is used already, in another case: "a"`},
	{rules("a.b", "a.B"), rules("a.b", "a.bb"), `rules.set "B" is used already`},
	{rules("P.b"), rules("p.b"), `rules.set "P" is used already`},
	{rules("p.q.Deep"), rules("p.q.deep"), `rules.set "Deep" is used already`},
	{rules("p.f.a"), rules("p.q.a"), "goes through f, which is not an object in patch"},
	{rules("a", "a.b"), rules("a.b", "a"), "goes through a, which is not an object in patch"},
	{rules("a..b"), rules("a.b"), "must have printable names between its dots"},
	{rules("a.PSObject"), rules("a.PSObjects"), "a name that PowerShell reserves"},

	{logs(`a\\b`), logs("Microsoft-Windows-Containers-CCG/Admin"), "is not a valid name of an event log"},
	{logs("é"), logs("System"), "is not a valid name of an event log"},
	{user(`""`), user(`"ssh-ed25519 A"`), "sshKeys \"\" must be printable ASCII"},
	{user(`"é"`), user(`"e"`), "must be printable ASCII"},
	{say(`" a"`), say(`"a "`), "say begins with a blank"},
	{say(`["\u00a0",{"fact":"cpus"}]`), say(`[{"fact":"cpus"}," a"]`), "say begins with a blank"},
	{variable(`"valueName":"","value":"a"`), variable(`"valueName":"A","value":"a"`), `valueName "" is not a valid name`},
	{variable(`"valueName":"A","value":"1","type":"DWord"`), variable(`"valueName":"A","value":"1"`), "String or ExpandString"},
}

func named(name, step string) string {
	return strings.Replace(step, `"name":"s"`, `"name":"`+name+`"`, 1)
}

func run(fields string) string { return do("run", `"argv":["a.exe"],`+fields) }

func clock(within string) string {
	return do("waitFor", `"for":"clock","host":"h","port":1,"withinSeconds":`+within+`,"say":"s"`)
}

func tree(node string) string {
	return do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":`+node+`}`)
}

func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func row(value string) string {
	return reserve(`"set":"a","fact":"cpus","rows":[{"value":` + value + `}]`)
}

func rules(sets ...string) string {
	all := make([]string, 0, len(sets))
	for _, set := range sets {
		all = append(all, `{"set":"`+set+`","fact":"cpus","rows":[{"value":1}]}`)
	}
	patch := `"patch":{"p":{"q":{"deep":1},"f":{"fact":"cpus"}}}`
	return do("reservations", `"path":"C:\\a",`+patch+`,"rules":[`+strings.Join(all, ",")+`]`)
}

func logs(event string) string { return do("collectLogs", `"path":"C:\\a","events":["`+event+`"]`) }

func user(key string) string { return do("localUser", `"user":"ops","sshKeys":[`+key+`]`) }

func say(sentence string) string { return do("waitFor", `"for":"pipe","target":"x","say":`+sentence) }

func variable(fields string) string {
	return do("registry", `"key":"HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\ENVIRONMENT",`+fields)
}

func TestReadAlikeHalfByHalf(t *testing.T) {
	for _, half := range alikeHalves {
		if err := decode(t, planOf(half.refused)).Validate(); err == nil || !strings.Contains(err.Error(), half.want) {
			t.Errorf("%s: %v, want %s", half.refused, err, half.want)
		}
		if err := decode(t, planOf(half.taken)).Validate(); err != nil {
			t.Errorf("%s: %v", half.taken, err)
		}
	}
}

// What a plan in JSON cannot have, a renderer could make.
func TestNamesThatPowerShellCannotRead(t *testing.T) {
	network := func(p *plan.Plan) plan.Tree { return p.Phases[0].Steps[0].(*plan.HNSNetwork).Request }
	of := func(names ...string) plan.Tree {
		made := plan.Tree{}
		for _, name := range names {
			made[name] = "x"
		}
		return made
	}
	replace := func(body plan.Tree) []plan.Channel {
		return []plan.Channel{{Do: plan.ChannelReplace, Argv: plan.Texts("a.exe"), Logins: plan.Texts(`C:\a`), Body: body}}
	}
	for _, test := range []struct {
		want   string
		change func(*plan.Plan)
	}{
		{`request.c "" must be printable ASCII`, func(p *plan.Plan) { network(p)["c"] = of("") }},
		{`request.c "b" is used already, in another case: "B"`, func(p *plan.Plan) { network(p)["c"] = []any{of("B", "b")} }},
		{`request.c "PSAdapted" is a name`, func(p *plan.Plan) { network(p)["c"] = map[string]any{"PSAdapted": 1} }},
		{`report.body "psextended" is a name`, func(p *plan.Plan) {
			p.Report = replace(of("psextended"))
		}},
		{`report.body.a fact 'later' is not known`, func(p *plan.Plan) {
			body := plan.Tree{"a": plan.FactLeaf("later"), "b": plan.FactLeaf(plan.FactReport), "c": plan.FactLeaf(plan.FactSMBIOS)}
			p.Report = replace(body)
		}},
		{`environment "a" is used already, in another case: "A"`, func(p *plan.Plan) {
			p.Phases[0].Steps = append(p.Phases[0].Steps, &plan.Run{
				Common: plan.Common{Name: "r"}, Argv: plan.Texts("a.exe"),
				Program: plan.Program{Environment: map[string]plan.Value{"a": plan.Text(""), "A": plan.Text("")}},
			})
		}},
		{`environment "psobject" is a name`, func(p *plan.Plan) {
			p.Phases[0].Steps = append(p.Phases[0].Steps, &plan.Run{
				Common: plan.Common{Name: "r"}, Argv: plan.Texts("a.exe"),
				Program: plan.Program{Environment: map[string]plan.Value{"psobject": plan.Text("")}},
			})
		}},
		{`name "MAIN" is used already, in another case: "main"`, func(p *plan.Plan) {
			p.Phases = append(p.Phases, plan.Phase{Name: "MAIN"})
		}},
		{`name "PSBase" is a name that PowerShell reserves`, func(p *plan.Plan) { p.EveryBoot = []plan.Phase{{Name: "PSBase"}} }},
		{`deadlineSeconds 604801 must be`, func(p *plan.Plan) { p.DeadlineSeconds = 604801 }},
		{`waitSeconds 604801 must be`, func(p *plan.Plan) { p.WaitSeconds = 604801 }},
		{`maxReboots 101 must be`, func(p *plan.Plan) { p.MaxReboots = 101 }},
	} {
		p := decode(t, planOf(goodSteps["hnsNetwork"]))
		test.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Such a plan is none for PowerShell, which has no better sentence either.
func TestDecodeOfNamesThatPowerShellCannotRead(t *testing.T) {
	for _, test := range []struct {
		request string
		refused bool
	}{
		{`{"a":[{"psobject":1}]}`, true},
		{`{"a":{"PSTypeNames":1}}`, true},
		{`{"a":{"":1}}`, true},
		{`{"a":{"b":1,"B":2}}`, true},
		{`{"a":[{"b":1},{"B":2}]}`, false},
		{`{"a":{"b":{"c":1},"C":2}}`, false},
		{`{"a":"psobject"}`, false},
	} {
		text := planOf(do("hnsNetwork", `"request":`+test.request))
		_, err := plan.Decode([]byte(text))
		if test.refused != (err != nil) || plan.Readable([]byte(text)) == test.refused {
			t.Errorf("%s: %v", test.request, err)
		}
		if err != nil && err.Error() != "plan version '' is not 1" {
			t.Errorf("%s: %v", test.request, err)
		}
	}
	if _, err := plan.Decode([]byte(planOf(do("hnsNetwork", `"request":{"a":{"b":1,"b":2}}`)))); err == nil {
		t.Error("a name twice in a tree is read")
	}
	for _, number := range []string{"1.50", "1.0", "1e3", "-0", "01", strings.Repeat("9", 19)} {
		if _, err := plan.Decode([]byte(planOf(do("file", `"path":"C:\\a","text":`+number)))); err == nil {
			t.Errorf("the number %s is a value", number)
		}
	}
	decode(t, planOf(do("file", `"path":"C:\\a","text":-`+strings.Repeat("9", 18))))
}
