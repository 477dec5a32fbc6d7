package admission

import (
	"fmt"
	"slices"
	"strings"
)

// settingsSpec is every setting of Windows, of containerd and of the user's own, with a value that is right.
const settingsSpec = `custom: {files: [{path: 'C:\etc\app.conf', content: a, access: Administrators}],
	  preJoin: [{name: pre, type: Cmd, content: a, timeoutSeconds: 60}], postJoin: [{name: post, content: a}]}`

// source is where a content may be, of the kind that the field is of.
func source(field string) map[string]any {
	if strings.Contains(field, "configMap") {
		return map[string]any{"configMap": map[string]any{"name": "a", "key": "a"}}
	}
	return map[string]any{"secret": map[string]any{"name": "a", "key": "a"}}
}

var settingsLimits = join(
	[]limit{
		empty("spec.custom", map[string]any{"postJoin": many(1, script)}),
	},
	items("spec.custom.files", 64, file),
	[]limit{
		required("spec.custom.files[].path"),
		{"spec.custom.files[].path", "minLength", `C:\a`, "", "should be at least 1 chars long"},
		{"spec.custom.files[].path", "maxLength", `C:\` + long(237), `C:\` + long(238), "may not be more than 240"},
		pattern("spec.custom.files[].path", `c:\Program Files (x86)\.app\a.b`, `C:\a\..\b`),
		oneOf("spec.custom.files[].access", "Administrators", "Everybody"),
	},
	contents("spec.custom.files[]"),
	scripts("spec.custom.preJoin"),
	scripts("spec.custom.postJoin"),
)

var settingsRules = slices.Concat(
	contentRules("spec.custom.files"), contentRules("spec.custom.preJoin"), contentRules("spec.custom.postJoin"),
	[]rule{{
		at: "spec.custom.files[]", field: "spec.custom.files[0].access",
		message: "a file with the content of a Secret is for Administrators only: leave access out, or take the content from a ConfigMap",
		accepted: []map[string]any{
			{"spec.custom.files[].access": "Inherited", "spec.custom.files[].content": absent, "spec.custom.files[].contentFrom": source("configMap")},
			{"spec.custom.files[].access": absent, "spec.custom.files[].content": absent, "spec.custom.files[].contentFrom": source("secret")},
		},
		refused: []map[string]any{
			{"spec.custom.files[].access": "Inherited", "spec.custom.files[].content": absent, "spec.custom.files[].contentFrom": source("secret")},
		},
	}},
)

// contents are the limits of content and contentFrom.
func contents(at string) []limit {
	return join(text(at+".content", 32768), references(at+".contentFrom"))
}

// references are the limits of a ContentSource.
func references(at string) []limit {
	all := []limit{empty(at, source("secret"))}
	for _, kind := range []string{".secret", ".configMap"} {
		for _, field := range []string{".name", ".key"} {
			all = join(all, []limit{required(at + kind + field)}, text(at+kind+field, 253))
		}
	}
	return all
}

func scripts(at string) []limit {
	return join(
		items(at, 16, script),
		[]limit{required(at + "[].name"), pattern(at+"[].name", "a-1", "A b"), oneOf(at+"[].type", "PowerShell", "Perl")},
		text(at+"[].name", 40),
		contents(at+"[]"),
		between(at+"[].timeoutSeconds", 1, 3600),
	)
}

// contentRules are those of a list whose items have content or contentFrom.
func contentRules(list string) []rule {
	at, item := list+"[]", strings.ReplaceAll(list+"[]", "[]", "[0]")
	both := map[string]any{"secret": source("secret")["secret"], "configMap": source("configMap")["configMap"]}
	return []rule{
		{
			at: at, field: item, message: "write either content or contentFrom",
			accepted: []map[string]any{{}, {at + ".content": absent, at + ".contentFrom": source("configMap")}},
			refused:  []map[string]any{{at + ".content": absent}, {at + ".contentFrom": source("configMap")}},
		},
		sourceRule(at+".contentFrom", map[string]any{at + ".content": absent}, both),
	}
}

// sourceRule is that of a ContentSource, which needs other edits beside it.
func sourceRule(at string, beside, both map[string]any) rule {
	edit := func(value any) map[string]any {
		edits := map[string]any{at: value}
		for field, other := range beside {
			edits[field] = other
		}
		return edits
	}
	return rule{
		at: at, field: strings.ReplaceAll(at, "[]", "[0]"), message: "write either secret or configMap",
		accepted: []map[string]any{edit(source("secret")), edit(source("configMap"))},
		refused:  []map[string]any{edit(both)},
	}
}

func file(key string) map[string]any { return map[string]any{"path": `C:\` + key, "content": "a"} }

func script(key string) map[string]any { return map[string]any{"name": key, "content": "a"} }

// items are the limits of a list with keys.
func items(field string, most int, item func(key string) map[string]any) []limit {
	return []limit{
		{field, "minItems", many(1, item), []any{}, "should have at least 1 items"},
		{field, "maxItems", many(most, item), many(most+1, item), fmt.Sprintf("must have at most %d items", most)},
	}
}

func many(times int, item func(key string) map[string]any) []any {
	all := make([]any, times)
	for i := range all {
		all[i] = item(fmt.Sprint("a", i))
	}
	return all
}
