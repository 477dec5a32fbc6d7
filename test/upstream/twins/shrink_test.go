package twins

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func replaceOnce(t *testing.T, text, from, to string) string {
	t.Helper()
	if strings.Count(text, from) != 1 {
		t.Fatalf("%q is there %d times, once is wanted", from, strings.Count(text, from))
	}
	return strings.Replace(text, from, to, 1)
}

// TestShrink: what has nothing to do with a difference goes.
func TestShrink(t *testing.T) {
	t.Parallel()
	run := func(c *Case) (*Verdict, error) {
		v := &Verdict{Case: c}
		for step := range stepsOf(c.Plan) {
			if text, _ := step["text"].(string); strings.Contains(text, "İ") {
				v.New = []Difference{{Where: "files[3]", Lab: "i", Node: "İ"}}
			}
		}
		return v, nil
	}
	steps := []any{
		tree{"do": "reboot", "name": "r", "if": "always"},
		tree{"do": "file", "name": "f", "path": `C:\k\a.txt`, "text": "one İ of many", "attempts": digits(3)},
	}
	c := &Case{Culture: "tr-TR", World: tree{"pipes": []any{"p"}, "commands": []any{tree{"argv": []any{"x"}}}}, Plan: tree{
		"version": number1, "machine": tree{"uid": "uid-1", "name": "m", "node": "n", "cluster": "c"}, "report": []any{},
		"phases": []any{tree{"name": "main", "steps": steps}, tree{"name": "more", "steps": []any{}}},
	}}
	small := expect.Got(Shrink(expect.Got(run(c))(t), run, 1000))(t)
	if got := encode(small.Case.Plan["phases"]); !strings.HasSuffix(got, `"text":"İ"}]}]`) || len(got) > 100 {
		t.Errorf("the plan is still %s", got)
	}
	if got := encode(small.Case.World) + small.Case.Culture; got != "{}" {
		t.Errorf("the world is still %s", got)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lab, node any
		differ    int
	}{
		"the same":                {[]any{"a", number1}, []any{"a", number1}, 0},
		"another text":            {"a", "A", 1},
		"nothing":                 {[]any{"a"}, []any{}, 1},
		"null is none":            {tree{}, tree{"a": nil}, 1},
		"a path below the base":   {`open C:\k\a.txt`, "open /tmp/m/C/k/a.txt", 0},
		"another path below it":   {`open C:\k\a.txt`, "open /tmp/m/C/k/b.txt", 1},
		"objects have no order":   {`hns POST /x {"a":1,"b":"é"}`, `hns POST /x {"b":"\u00e9","a":1}`, 0},
		"but lists do":            {`run ["a","b"]`, `run ["b","a"]`, 1},
		"numbers by their digits": {`{"a":1.50}`, `{"a":1.5}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := differences(Outcome{"log": test.lab}, Outcome{"log": test.node}, "/tmp/m"); len(got) != test.differ {
				t.Errorf("differences: %v", got)
			}
		})
	}
}
