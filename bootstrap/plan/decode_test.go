package plan_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// Nothing may pass by being ignored: what is not understood whole is refused, with the place and the name of it.
func TestDecodeRefuses(t *testing.T) {
	whole := planOf(goodSteps["file with text"])
	for _, test := range []struct{ name, text, where, want string }{
		{"no JSON", "plan", "", "no JSON object"},
		{"no object", "[]", "", "no JSON object"},
		{"no version", `{"machine":{}}`, "", "plan version '' is not 1"},
		{"version as text", `{"version":"one"}`, "", "plan version 'one' is not 1"},
		{"newer version with newer fields", `{"version":2,"clouds":[]}`, "", "plan version '2' is not 1"},
		{"no uid", strings.Replace(whole, `"uid":"u"`, `"uid":""`, 1), "", "machine.uid is missing"},
		{"no node", strings.Replace(whole, `"node":"win",`, ``, 1), "", "machine.node is missing"},
		{"unknown field", strings.Replace(whole, `"report"`, `"speed":1,"report"`, 1), "", `unknown field "speed"`},
		{"unknown field of the machine", strings.Replace(whole, `"uid"`, `"serial":1,"uid"`, 1), "", `unknown field "machine.serial"`},
		{"field in other case", strings.Replace(whole, `"report"`, `"Report"`, 1), "", `unknown field "Report"`},
		{"field twice", strings.Replace(whole, `"report"`, `"report":[],"report"`, 1), "", `duplicate field "report"`},
		{"no phases", `{"version":1,"machine":{"name":"m","uid":"u","node":"n"}}`, "", "phases is not a list"},
		{"phases null", strings.Replace(whole, `"phases":[`, `"phases":null,"erase":[],"x":[`, 1), "", `unknown field "x"`},
		{
			"unknown field of a phase", strings.Replace(whole, `"name":"main"`, `"name":"main","if":"x"`, 1), "phases[0]",
			`unknown field "if"`,
		},
		{"phase without steps", strings.Replace(whole, `"steps"`, `"name2"`, 1), "phases[0]", `unknown field "name2"`},
		{
			"phase of null steps", strings.Replace(planOf(), `"steps":[]`, `"steps":null`, 1), "phase main",
			"a phase has no list of steps",
		},
		{"step that is a word", planOf(`"report"`), "phase main, step 1", "a step is not an object"},
		{"step null", planOf(`null`), "phase main, step 1", "a step is not an object"},
		{"step without kind", planOf(`{"name":"s"}`), "phase main, step 1", "step kind '' is unknown"},
		{"kind in other case", planOf(`{"do":"File","name":"s","path":"C:\\a"}`), "phase main, step 1", "step kind 'File' is unknown"},
		{
			"unknown kind", planOf(goodSteps["report"], `{"do":"magic","name":"s"}`), "phase main, step 2",
			"step kind 'magic' is unknown",
		},
		{"missing field", planOf(`{"do":"run","name":"s"}`), "phase main, step 1", "step 's' (run) lacks 'argv'"},
		{
			"unknown field of a step", planOf(`{"do":"report","name":"s","path":"C:\\a"}`), "phase main, step 1",
			`step 's' (report): unknown field "path"`,
		},
		{
			"unknown field deep inside",
			planOf(`{"do":"firewall","name":"s","rules":[{"name":"r","protocol":"TCP","ports":["1"],"deny":true}]}`),
			"phase main, step 1", `unknown field "rules[0].deny"`,
		},
		{
			"unknown field of a registry step", planOf(`{"do":"registry","name":"s","key":"k","value":"v","hive":"x"}`),
			"phase main, step 1", `unknown field "hive"`,
		},
		{"field of a step twice", planOf(`{"do":"report","name":"s","name":"t"}`), "phase main, step 1", `duplicate field "name"`},
		{
			"value of another type", planOf(`{"do":"file","name":"s","path":true}`), "phase main, step 1",
			"a value must be a string or a list of parts, not true",
		},
		{
			"part of another type", planOf(`{"do":"file","name":"s","path":["a",{"env":"b"}]}`), "phase main, step 1",
			`a part must be a string or {"fact": name}`,
		},
		{"part with more", planOf(`{"do":"file","name":"s","path":[{"fact":"a","else":"b"}]}`), "phase main, step 1", "a part must be"},
		{
			"list of another type", planOf(`{"do":"registry","name":"s","key":"k","type":"MultiString","value":"one"}`),
			"phase main, step 1", "cannot unmarshal",
		},
		{
			"content that is no base64", planOf(`{"do":"file","name":"s","path":"C:\\a","content":"%"}`), "phase main, step 1",
			"illegal base64",
		},
		{"everyBoot", strings.Replace(whole, `"report"`, `"everyBoot":{},"report"`, 1), "", "everyBoot is not a list"},
		{
			"logs of another kind", strings.Replace(whole, `"report"`, `"logs":{"do":"report"},"report"`, 1), "logs",
			"step kind 'report' does not collect logs",
		},
		{"logs without path", strings.Replace(whole, `"report"`, `"logs":{},"report"`, 1), "logs", "lacks 'path'"},
		{"logs that are a list", strings.Replace(whole, `"report"`, `"logs":[],"report"`, 1), "logs", "cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := plan.Decode([]byte(test.text))
			var refused *plan.Error
			if !errors.As(err, &refused) {
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
	p := decode(t, planOf(goodSteps["environment"], goodSteps["reservations"], goodSteps["hnsNetwork"]))
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
	if _, err := p.Encode(); err == nil || !strings.Contains(err.Error(), "phase main, step net") {
		t.Errorf("%v", err)
	}
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
