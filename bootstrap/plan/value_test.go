package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestValue(t *testing.T) {
	parts := plan.Parts(plan.Text("n="), plan.FromFact("cpus"), plan.Text(";"))
	for _, test := range []struct {
		name, reason string
		value        plan.Value
		json, shown  string
	}{
		{"text", "as it is", plan.Text("a"), `"a"`, "a"},
		{"empty text", "present, and empty", plan.Text(""), `""`, ""},
		{"fact", "of the node", plan.FromFact("cpus"), `[{"fact":"cpus"}]`, "<cpus>"},
		{"parts", "in order", parts, `["n=",{"fact":"cpus"},";"]`, "n=<cpus>;"},
		{
			"placeholders in a text", "user text is never scanned", plan.Text(`{"fact":"cpus"} $x %x% {{x}}`),
			`"{\"fact\":\"cpus\"} $x %x% {{x}}"`, `{"fact":"cpus"} $x %x% {{x}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, err := json.Marshal(test.value)
			if err != nil || string(data) != test.json {
				t.Errorf("JSON %s (%v), want %s: %s", data, err, test.json, test.reason)
			}
			var back plan.Value
			expect.OK(t, json.Unmarshal(data, &back))
			expect.Same(t, "what comes back", test.value, back)
			if got := test.value.String(); got != test.shown {
				t.Errorf("shown as %q, want %q", got, test.shown)
			}
		})
	}
}

func TestValueFromJSON(t *testing.T) {
	for _, test := range []struct {
		name, json string
		want       plan.Value
		fails      bool
	}{
		{"number", "6443", plan.Text("6443"), false},
		{"null is absent", "null", nil, false},
		{"no parts is empty", "[]", plan.Text(""), false},
		{"true", "true", nil, true},
		{"object", `{"fact":"cpus"}`, nil, true},
		{"number among parts", `["a",1]`, nil, true},
		{"fact without name", `[{"fact":""}]`, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got plan.Value
			if err := json.Unmarshal([]byte(test.json), &got); (err != nil) != test.fails {
				t.Fatalf("%v, want failure %t", err, test.fails)
			}
			if !test.fails {
				expect.Same(t, "value", test.want, got)
			}
		})
	}
}

// A tree goes from the plan into a file or an object: a number that Go or JavaScript would round keeps its digits.
func TestTreesKeepDigits(t *testing.T) {
	const tree = `{"a":9007199254740993,"b":[123456789012345678901234567]}`
	text := `{"version":1,"machine":{"namespace":"","name":"m","uid":"u","node":"n","cluster":""},` +
		`"report":[{"do":"replace","body":` + tree + `}],"phases":[{"name":"main","steps":[` +
		`{"do":"reservations","path":"C:\\a","patch":` + tree + `,"rules":[` +
		`{"set":"c","fact":"cpus","rows":[{"value":` + tree + `}]}]},` +
		`{"do":"hnsNetwork","request":` + tree + `}]}]}`
	encoded := string(expect.Got(decode(t, text).Encode())(t))
	if encoded != text {
		t.Errorf("%s became\n%s", text, encoded)
	}
}
