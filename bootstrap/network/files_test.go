package network

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Facts become parts of the text, all else is JSON as encoding/json writes it.
func TestJSONText(t *testing.T) {
	got, err := jsonText(plan.Tree{
		"b": []any{1, true, nil, `a "quote" \ <tag>`},
		"a": inJSON(plan.Parts(plan.Text(`x"`), plan.FromFact("managementIP"), plan.Text("/32"))),
		"c": map[string]any{},
	})
	expect.OK(t, err)
	want := plan.Parts(plan.Text(`{"a":"x\"`), plan.FromFact("managementIP"),
		plan.Text(`/32","b":[1,true,null,"a \"quote\" \\ \u003ctag\u003e"],"c":{}}`+"\n"))
	expect.Same(t, "the text", want, got)
	if _, err := jsonText(plan.Tree{"a": func() {}}); err == nil {
		t.Error("a function is written as JSON")
	}
}
