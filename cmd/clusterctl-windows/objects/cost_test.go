package objects

import (
	"fmt"
	"testing"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCostOfRules: an API server evaluates all rules of an object at each write, those of its status too. A tenant's largest
// configs must not keep it from other work. CEL counts the cost of an evaluation by itself.
func TestCostOfRules(t *testing.T) {
	list := func(length int, item func(i int) map[string]any) []any {
		items := make([]any, length)
		for i := range items {
			items[i] = item(i)
		}
		return items
	}
	secret := func(i int) map[string]any {
		return map[string]any{"secret": map[string]any{"name": fmt.Sprintf("source-%d", i), "key": "value"}}
	}
	scripts := list(16, func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("script-%d", i), "contentFrom": secret(i), "timeoutSeconds": int64(10)}
	})
	rules := expect.Got(rulesOf(bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")))(t)
	for name, c := range map[string]struct {
		spec map[string]any
		most int64
	}{
		"files": {map[string]any{"custom": map[string]any{"files": list(64, func(i int) map[string]any {
			return map[string]any{"path": fmt.Sprintf(`C:\Program Files\Example\Configuration\Part-%d.conf`, i), "contentFrom": secret(i)}
		})}}, 145_000},
		"scripts": {map[string]any{"custom": map[string]any{"preJoin": scripts, "postJoin": scripts, "everyBoot": scripts}}, 3000},
		"users": {map[string]any{"windows": map[string]any{"users": list(32, func(i int) map[string]any {
			return map[string]any{"name": fmt.Sprintf("user-%d", i)}
		})}}, 1300},
	} {
		object := map[string]any{"metadata": map[string]any{"name": "m"}, "spec": c.spec}
		began := time.Now()
		refused, rest := rules.rules.Validate(t.Context(), nil, rules.structural, object, nil, allRulesCost)
		took := time.Since(began)
		expect.Same(t, name+": what is refused", 0, len(refused))
		cost := allRulesCost - rest
		t.Logf("%s: the rules cost %d, in %s", name, cost, took)
		if cost > c.most {
			t.Errorf("%s: the rules cost %d, want at most %d", name, cost, c.most)
		}
	}
}
