package plan_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// planOf is a plan of one phase with these steps, in JSON.
func planOf(steps ...string) string {
	return `{"version":1,"machine":{"namespace":"ns","name":"m","uid":"u","node":"win","cluster":"c"},"report":[],` +
		`"phases":[{"name":"main","steps":[` + strings.Join(steps, ",") + `]}]}`
}

// do is a step of a kind, in JSON.
func do(kind, fields string) string {
	return strings.TrimSuffix(`{"do":"`+kind+`","name":"s",`+fields, ",") + "}"
}

// registry is a step that writes a value, diagnose one that runs a program, reserve one that looks up its reservations.
func registry(fields string) string {
	return do("registry", `"key":"HKEY_LOCAL_MACHINE\\SOFTWARE\\a",`+fields)
}

func diagnose(rule string) string { return do("run", `"argv":["a.exe"],"diagnose":[{`+rule+`}]`) }

func reserve(rule string) string { return do("reservations", `"path":"C:\\a","rules":[{`+rule+`}]`) }

func decode(t *testing.T, text string) *plan.Plan {
	t.Helper()
	return expect.Got(plan.Decode([]byte(text)))(t)
}

// Nothing may pass by being ignored: what is not understood whole is refused, with the place and the name of it.
func TestDecodeRefuses(t *testing.T) {
	const first = "phase main, step 1"
	openToAll := do("run", `"argv":["a.exe"],"diagnose":[{"match":"a","reason":"A","message":"m","deny":true}]`)
	but := func(old, text string) string {
		return strings.Replace(planOf(goodSteps["file with text"]), old, text, 1)
	}
	with := func(field string) string { return but(`"report"`, field+`,"report"`) }
	for _, test := range []struct{ name, text, where, want string }{
		{"no JSON", "plan", "", "not a JSON object"},
		{"no object", "[]", "", "not a JSON object"},
		{"no version", `{"machine":{}}`, "", "plan version '' is not 1"},
		{"version as text", `{"version":"one"}`, "", "plan version 'one' is not 1"},
		{"newer version with newer fields", `{"version":2,"clouds":[]}`, "", "plan version '2' is not 1"},
		{"no uid", but(`"uid":"u"`, `"uid":""`), "", "machine.uid is missing"},
		{"no node", but(`"node":"win",`, ``), "", "machine.node is missing"},
		{"unknown field", with(`"speed":1`), "", `unknown field "speed"`},
		{"unknown field of the machine", but(`"uid"`, `"serial":1,"uid"`), "", `unknown field "machine.serial"`},
		{"field in other case", but(`"report"`, `"Report"`), "", `unknown field "Report"`},
		{"field twice", with(`"report":[]`), "", `duplicate field "report"`},
		{"no phases", `{"version":1,"machine":{"name":"m","uid":"u","node":"n"}}`, "", "phases is not a list"},
		{"phases null", but(`"phases":[`, `"phases":null,"erase":[],"x":[`), "", `unknown field "x"`},
		{"unknown field of a phase", but(`"name":"main"`, `"name":"main","if":"x"`), "phases[0]", `unknown field "if"`},
		{"phase without steps", but(`"steps"`, `"name2"`), "phases[0]", `unknown field "name2"`},
		{"phase of null steps", strings.Replace(planOf(), "[]}]", "null}]", 1), "phase main", "a phase has no list of steps"},
		{"step that is a word", planOf(`"report"`), first, "a step is not an object"},
		{"step null", planOf(`null`), first, "a step is not an object"},
		{"step without kind", planOf(`{"name":"s"}`), first, "step kind '' is unknown"},
		{"kind in other case", planOf(do("File", `"path":"C:\\a"`)), first, "step kind 'File' is unknown"},
		{"unknown kind", planOf(goodSteps["reboot"], do("magic", "")), "phase main, step 2", "step kind 'magic' is unknown"},
		{"missing field", planOf(do("run", "")), first, "step 's' (run) lacks 'argv'"},
		{"unknown field of a step", planOf(reboot(`"path":"C:\\a"`)), first, `step 's' (reboot): unknown field "path"`},
		{"unknown field deep inside", planOf(openToAll), first, `unknown field "diagnose[0].deny"`},
		{"unknown field of a registry step", planOf(do("registry", `"key":"k","value":"v","hive":"x"`)), first, `unknown field "hive"`},
		{"field of a step twice", planOf(reboot(`"name":"t"`)), first, `duplicate field "name"`},
		{"value of another type", planOf(do("file", `"path":true`)), first, "a whole number of at most 18 digits, not true"},
		{"part of another type", planOf(do("file", `"path":["a",{"env":"b"}]`)), first, `a part must be a string or {"fact": name}`},
		{"part with more", planOf(do("file", `"path":[{"fact":"a","else":"b"}]`)), first, "a part must be"},
		{"list of another type", planOf(do("registry", `"key":"k","type":"MultiString","value":"one"`)), first, "cannot unmarshal"},
		{"content that is no base64", planOf(do("file", `"path":"C:\\a","content":"%"`)), first, "illegal base64"},
		{"everyBoot", with(`"everyBoot":{}`), "", "everyBoot is not a list"},
		{"logs of another kind", with(`"logs":{"do":"reboot","if":"always"}`), "logs", "step kind 'reboot' does not collect logs"},
		{"logs without path", with(`"logs":{}`), "logs", "lacks 'path'"},
		{"logs that are a list", with(`"logs":[]`), "logs", "cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := plan.Decode([]byte(test.text))
			refused, _ := errors.AsType[*plan.Error](err)
			if refused == nil {
				t.Fatalf("%v, want a *plan.Error", err)
			}
			if refused.Where != test.where || !strings.Contains(refused.Message, test.want) {
				t.Errorf("at %q: %q, want at %q: %q", refused.Where, refused.Message, test.where, test.want)
			}
		})
	}
}

// The agent empties a plan when it is done, with what PowerShell makes of fields that were not there.
func TestDecodeTakesAnEmptiedPlan(t *testing.T) {
	p := decode(t, `{"version":1,"machine":{"name":"m","uid":"u","node":"n"},"report":null,"phases":[],"everyBoot":null,`+
		`"deadlineSeconds":null,"logs":null}`)
	if len(p.Phases) != 0 || p.EveryBoot != nil || p.Logs != nil {
		t.Errorf("%+v", *p)
	}
}

func TestEncodeIsDeterministic(t *testing.T) {
	p := decode(t, planOf(goodSteps["run"], goodSteps["reservations"], goodSteps["hnsNetwork"]))
	first := expect.Got(p.Encode())(t)
	for range 20 {
		if again, _ := p.Encode(); !bytes.Equal(first, again) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
}

func TestEncodeNamesTheStep(t *testing.T) {
	p := &plan.Plan{Phases: []plan.Phase{{Name: "main", Steps: []plan.Step{
		&plan.HNSNetwork{Common: plan.Common{Name: "net"}, Request: plan.Tree{"a": func() {}}},
	}}}}
	_, err := p.Encode()
	expect.Says(t, "a function in a tree", err, "phase main, step net")
}

// Decode must not panic, however odd its input, and a plan that it takes must always be written in the same bytes.
func FuzzDecode(f *testing.F) {
	for _, step := range goodSteps {
		f.Add([]byte(planOf(step)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Decode(data)
		if err != nil {
			return
		}
		_ = p.Validate()
		first := expect.Got(p.Encode())(t)
		again, err := plan.Decode(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second, _ := again.Encode(); !bytes.Equal(first, second) {
			t.Errorf("%s\n%s", first, second)
		}
	})
}
