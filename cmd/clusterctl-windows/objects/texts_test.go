package objects

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestTextOf: a file is UTF-8 or UTF-16 with a mark, and has no NUL.
func TestTextOf(t *testing.T) {
	t.Parallel()
	const unmarked = "line 1: this looks like UTF-16 without a byte order mark; " + saveAsUTF8
	const nul = ": there is a NUL byte, so this is not a text of objects; " + saveAsUTF8
	const half = ": half a character of UTF-16; export the file again"
	for data, want := range map[string]string{
		"":                            "",
		"a":                           "a",
		"\uFEFF":                      "",
		"\uFEFFä":                     "ä",
		"\xFF\xFE":                    "",
		"\xFF\xFE=\xD8\x00\xDE":       "\U0001F600",
		"\xFE\xFF\xD8=\xDE\x00":       "\U0001F600",
		"\xFF\xFE=\xD8":               "line 1" + half,
		"\xFF\xFEa\x00\n\x00\x00\xDE": "line 2" + half,
		"\xFF\xFE=\xD8a\x00":          "line 1" + half,
		"\x00":                        "line 1" + nul,
		"\x00a":                       unmarked,
		"a\x00":                       unmarked,
		"a\x00b":                      unmarked,
		"a\x00bc":                     "line 1" + nul,
		"ab\n\x00\x00":                "line 2" + nul,
		"a\x00b\x00c\x00d\x00e\x00f\x00g\x00h\x00ij": unmarked,
		"a\x00b\x00c\x00d\x00e\x00f\x00g\x00hi":      "line 1" + nul,
		"\xFF":                                       "line 1: byte 0xff is not UTF-8; " + saveAsUTF8,
		"a\n\uFFFD\xFF":                              "line 2: byte 0xff is not UTF-8; " + saveAsUTF8,
		"\uFFFD":                                     "\uFFFD",
	} {
		text, err := textOf([]byte(data))
		got := string(text)
		if err != nil {
			got = err.Error()
		}
		expect.Same(t, fmt.Sprintf("%q", data), want, got)
	}
}

// TestShown: a value is shown if it is no secret wherever it stands, or stands where nobody writes one.
func TestShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"spec.a", "hunter2", ""},
		{"spec.a", "10.0.0.1", `"10.0.0.1"`},
		{"spec.a", "10.0.0.0/8", `"10.0.0.0/8"`},
		{"spec.a", "fd00::1", `"fd00::1"`},
		{"spec.a", "16Gi", `"16Gi"`},
		{"spec.a", "v1.36.3", `"v1.36.3"`},
		{"spec.a", "Overlay", `"Overlay"`},
		{"spec.a", "true", `"true"`},
		{"spec.a", true, "true"},
		{"spec.a", int64(5), "5"},
		{"spec.a", 1.5, "1.5"},
		{"spec.a", nil, ""},
		{"spec.a", []any{"a"}, ""},
		{"spec.azure.vmSize", "hunter2", `"hunter2"`},
		{"spec.azurevmSize", "hunter2", ""},
		{"spec.template.spec.vsphere.folder", "hunter2", `"hunter2"`},
		{"spec.custom.files[0].path", "hunter2", `"hunter2"`},
		{"spec.custom.files[0].content", "hunter2", ""},
		{"spec.azure.a", long, `"` + long + `"`},
		{"spec.azure.a", long + "y", `"` + long + `..."`},
	} {
		expect.Same(t, fmt.Sprint(c.path, " ", c.value), c.want, shown(c.path, c.value))
	}
	for want, value := range map[string]any{
		"a text": "hunter2", `the text "Overlay"`: "Overlay", "the number 5": int64(5), "the number 1.5": 1.5, "false": false,
		"a list":                []any{},
		"an object with fields": map[string]any{},
	} {
		expect.Same(t, want, want, stands("spec.a", value))
	}
	expect.Same(t, "nothing", "", joinAnd(nil))
	expect.Same(t, "one", "a", joinAnd([]string{"a"}))
	expect.Same(t, "two", "a and b", joinAnd([]string{"a", "b"}))
	expect.Same(t, "three, one of which it is", "a, b or c", joinOr([]string{"a", "b", "c"}))
}

// TestPathsOfValues: a path leads through fields and lists.
func TestPathsOfValues(t *testing.T) {
	t.Parallel()
	content := map[string]any{"a": map[string]any{"b": []any{"x", map[string]any{"c": "y"}}}}
	for path, want := range map[string]any{
		"a.b[0]": "x", "a.b[1].c": "y", "a.b[2]": nil, "a.b[-1]": nil, "a.b.c": nil, "a.x": nil, "a.b[0].c": nil,
		"a..b": nil, "a.b[x]": nil,
		"": content,
	} {
		if path == "a..b" || path == "a.b[x]" || path == "a.b[-1]" {
			want = content // what is no path leads nowhere
		}
		expect.Same(t, path, want, valueAt(content, path))
	}
	rules := expect.Got(rulesOf(windowsConfig))(t)
	for path, want := range map[string]string{
		"spec.windows.users[0].name": "string", "spec.windows.users": "array", "spec.node.labels.any": "string",
		"spec.windows.any":         "none",
		"spec.windows.timeZone[0]": "none", "spec.windows.timeZone[0].a": "none", "spec.windows.users.name": "none",
	} {
		got := "none"
		if at := schemaAt(rules.structural, path); at != nil {
			got = at.Type
		}
		expect.Same(t, path, want, got)
	}
	wrong := []mismatch{{path: "spec.a"}}
	for path, want := range map[string]bool{
		"spec.a": true, "spec.a.b": true, "spec.a[0]": true, "spec.ab": false, "spec": false, "spec.b": false,
	} {
		expect.Same(t, path, want, covered(path, wrong))
	}
	expect.Same(t, "of none", false, covered("spec.a", nil))
}

// TestNewWords: the value of an old field is written for the new one, if that is another.
func TestNewWords(t *testing.T) {
	t.Parallel()
	group := oldField{newPath: "ref.apiGroup"}
	seconds := oldField{newPath: "a.nodeDrainTimeoutSeconds", note: "it counts seconds"}
	const is, drain = "it is the name in v1beta1 for spec.", "it is the name in v1beta1 for spec.a.nodeDrainTimeoutSeconds; "
	for _, c := range []struct {
		field oldField
		value any
		want  string
	}{
		{group, "a.test/v1", is + "ref.apiGroup; write apiGroup: a.test"},
		{group, "v1", is + "ref.apiGroup; write it there"},
		{group, "a/v1", is + "ref.apiGroup; write it there"},
		{group, "A b/v1", is + "ref.apiGroup; write it there"},
		{oldField{newPath: "ref.group"}, "a.test/v1", is + "ref.group; write it there"},
		{seconds, "10m", drain + "write nodeDrainTimeoutSeconds: 600"},
		{seconds, "2min", drain + "write nodeDrainTimeoutSeconds: 120"},
		{seconds, "10ms", drain + "it counts seconds"},
		{seconds, "soon", drain + "it counts seconds"},
		{seconds, nil, drain + "it counts seconds"},
		{oldField{newPath: "a.size"}, "5", is + "a.size; write it there"},
		{oldField{note: "it is gone"}, "5", "it is a field of v1beta1, and v1beta2 has none for it: it is gone"},
		{oldField{}, "5", ""},
	} {
		expect.Same(t, fmt.Sprint(c.field, " ", c.value), c.want, inNewWords(c.field, "spec.", c.value))
	}
}

// TestWordsOfErrors has the errors of schemas that few objects give.
func TestWordsOfErrors(t *testing.T) {
	t.Parallel()
	rules := expect.Got(rulesOf(windowsConfig))(t)
	const pattern = "should match '^a$'"
	content := map[string]any{
		"spec": map[string]any{"apiGroup": "a.test/v1", "size": "16Gi", "secret": "hunter2"},
	}
	const invalid, another = field.ErrorTypeInvalid, field.ErrorTypeTypeInvalid
	const address = " is not an IPv4 address, such as 192.0.2.10"
	for _, c := range []struct {
		kind         field.ErrorType
		path, detail string
		bad          any
		want         string
	}{
		{invalid, "spec.apiGroup", pattern, nil, "spec.apiGroup: is a group with a version; write a.test"},
		{
			invalid, "spec.size", `should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`, nil,
			`spec.size: is "16Gi", which does not have the form that it must have; write lower-case letters, digits, - and . alone, ` +
				"with a letter or digit at both ends, such as windows-2022",
		},
		{invalid, "spec.secret", "spec.secret in body is wrong", nil, "spec.secret: is wrong"},
		{invalid, "<nil>", "is wrong", nil, "is wrong"},
		{invalid, "", "is wrong", nil, "is wrong"},
		{field.ErrorTypeRequired, "spec.a", "it is needed", nil, "spec.a: is missing; it is needed"},
		{field.ErrorTypeForbidden, "spec.a", "", nil, "spec.a: Forbidden"},
		{another, "spec.size", "must be of type ipv4", nil, `spec.size: "16Gi"` + address},
		{another, "spec.secret", "must be of type ipv4", nil, "spec.secret: the text" + address},
		{another, "spec.a", "must be of type integer", "string", "spec.a: must be a whole number, not a text"},
		{another, "spec.a", "is wrong", "odd", "spec.a: must be of another type, not of another type"},
	} {
		why := &field.Error{Type: c.kind, Field: c.path, Detail: c.detail, BadValue: c.bad}
		expect.Same(t, c.path+" "+c.detail, c.want, rules.words(why, content))
	}
}
