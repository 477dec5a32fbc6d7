package objects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// whatIsRead is each object of a text, with its place in it, or the refusal.
func whatIsRead(t *testing.T, name, text string) string {
	t.Helper()
	found, err := readText(t, name, text)
	if err != nil {
		return strings.TrimPrefix(err.Error(), name+": ")
	}
	var all []string
	for _, one := range found.Items {
		all = append(all, fmt.Sprintf("%s %s at %s", one.Version, one, strings.TrimPrefix(one.Place, name+": ")))
	}
	return strings.Join(all, "\n")
}

// TestWhatIsAnObject: a text has objects with apiVersion, kind and metadata, or lists of them.
func TestWhatIsAnObject(t *testing.T) {
	const no, write = "document 1, line 1: not a Kubernetes object: ", "; write apiVersion, kind and metadata"
	const lacks, version = no + "apiVersion or kind is missing", no + "apiVersion must be VERSION or GROUP/VERSION, such as v1 or " +
		"cluster.x-k8s.io/v1beta2"
	const secret = "apiVersion: v1\nkind: Secret\n"
	name := strings.Repeat("a", 253)
	const tooLong = "document 1, line 1: Secret: metadata.name has control characters, or more than 253 bytes; write lower-case " +
		"letters, digits and dashes"
	for text, want := range map[string]string{
		"true":                            no + "this is true or false" + write,
		"false":                           no + "this is true or false" + write,
		"5":                               no + "this is a number" + write,
		"text":                            no + "this is a text" + write,
		"[a]":                             no + "this is an array" + write,
		"null":                            "there is no object; write the Cluster, the MachineDeployment and its two templates",
		"{}":                              lacks,
		"apiVersion: v1":                  lacks,
		"kind: Secret":                    lacks,
		"apiVersion: ''\nkind: Secret":    lacks,
		"apiVersion: a/b/c\nkind: Secret": version,
		"apiVersion: 'v 1'\nkind: Secret": version,
		"apiVersion: a/\nkind: Secret":    version,
		"apiVersion: v1\nkind: [Secret]":  no + "kind is not a text; put it in quotes",
		"apiVersion: v1\nkind: Secret-a":  no + "kind must be letters and digits, such as WindowsMachineTemplate",
		"apiVersion: '{{ .a }}'\nkind: a": no + "apiVersion or kind has " + templateOfHelm,
		secret + "metadata: text":         "document 1, line 1: Secret: metadata is not an object; write name: NAME in it",
		secret + "metadata: null":         "v1 Secret default/ at document 1, line 1",
		secret + "metadata: {name: null}": "v1 Secret default/ at document 1, line 1",
		secret + "metadata: {name: a, namespace: b}":       "v1 Secret b/a at document 1, line 1",
		secret + "metadata: {name: " + name + "}":          "v1 Secret default/" + name + " at document 1, line 1",
		secret + "metadata: {name: " + name + "a}":         tooLong,
		secret + "metadata: {name: a}\nitems: [{a: b}]":    "v1 Secret default/a at document 1, line 1",
		"apiVersion: v1\nkind: SecretList\nmetadata: null": "v1 SecretList default/ at document 1, line 1",
		"apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]": "document 1, line 1, items[0]: not a Kubernetes object: " +
			"apiVersion or kind is missing",
		"apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}, {apiVersion: b/v2, kind: C, metadata: {name: d}}]": "v1 " +
			"Secret default/a at document 1, line 1, items[0]\nb/v2 C default/d at document 1, line 1, items[1]",
		"apiVersion: v1\nkind: SecretList\nitems: [{kind: C, metadata: {name: d}}]": "v1 C default/d at document 1, line 1, items[0]",
	} {
		expect.Same(t, text, want, whatIsRead(t, "x.yaml", text))
	}
	// What an item inherits is written into it, so that an API server would take it.
	list := expect.Got(readText(t, "x.yaml", "apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}]"))(t)
	expect.Same(t, "an item", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, string(list.Items[0].Data))
	alone := expect.Got(readText(t, "x.json", secretNamed("a")))(t)
	expect.Same(t, "an object that has them, as it is written", secretNamed("a"), string(alone.Items[0].Data))
}

// TestPlaces: a place is that of the first line of an object, in the document that YAML counts.
func TestPlaces(t *testing.T) {
	a := secretNamed("a")
	const at, json = "v1 Secret default/a at document ", "document 1, line 1: not valid JSON: invalid character "
	const star, noNode = "document 1, line 1: not valid YAML: a value that begins with * must be in quotes", "not valid YAML: did " +
		"not find expected node content"
	const tab = "document 1, line 3, column 1: a tab stands before the text of this line; YAML is indented by blanks only, so " +
		"write blanks"
	for name, c := range map[string]struct{ file, text, want string }{
		"JSON in lines":         {"x.json", a + "\n\n" + a + "\n" + a, at + "1, line 1\n" + at + "1, line 3\n" + at + "1, line 4"},
		"JSON in one line":      {"x.json", a + a + "\n" + a, at + "1, line 1\n" + at + "1, line 1\n" + at + "1, line 2"},
		"blanks before JSON":    {"x.yaml", "\n \t" + a, at + "1, line 2"},
		"a comment before JSON": {"x.yaml", "# one\n  # two\n" + a, at + "1, line 3"},
		"a blank in JSON":       {"x.yaml", "{ " + a[1:] + a, at + "1, line 1\n" + at + "1, line 1"},
		"lines in JSON":         {"x.yaml", "{\n" + a[1:] + "\n" + a, at + "1, line 1\n" + at + "1, line 3"},
		"empty documents":       {"x.yaml", "---\n---\n\n---\n" + a, at + "3, line 5"},
		"nothing before":        {"x.yaml", "\n\n---\n" + a + "\n---\n" + a, at + "1, line 4\n" + at + "2, line 6"},
		"only a comment before": {"x.yaml", "# none\n---\n" + a, at + "2, line 3"},
		"a document at the end": {"x.yaml", a + "\n---", at + "1, line 1"},
		"dashes and a tab":      {"x.yaml", a + "\n---\t" + a, at + "1, line 1\n" + at + "2, line 2"},
		"dashes and a letter":   {"x.yaml", a + "\n---a", strings.Replace(json, "line 1", "line 2", 1) + "'-' in numeric literal"},
		"an empty object":       {"x.yaml", "{}" + a, "document 1, line 1: not a Kubernetes object: apiVersion or kind is missing"},
		"a comment alone":       {"x.yaml", "# none", noObject[len("x.yaml: "):]},
		"a comment in JSON":     {"x.json", "# none\n" + a, json + "'#' looking for beginning of value"},
		"nothing in JSON":       {"x.json", " \n", strings.Replace(noObject, "x.yaml: ", "", 1)},
		"a brace of YAML":       {"x.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}", at + "1, line 1"},
		"an anchor":             {"x.yaml", "a: *b\n", star},
		"YAML's own line end":   {"x.yaml", "\u0085# & *\n", noObject[len("x.yaml: "):]},
		"aliases before what nobody can read": {
			"x.yaml", "a: &b c\nd: *b\n...\n'", "document 1, line 4: not valid YAML: found unexpected end of stream",
		},
		"anchors":              {"x.yaml", "a: &a b\nc: *b\n", star},
		"a tab":                {"x.yaml", "a: b\nb: c\n\tc: d\n\te: f\n", tab},
		"a tab elsewhere":      {"x.yaml", "a: |\n  x\n  \ty\nc: d\ne: [\n", "document 1, line 5: " + noNode},
		"a template in a note": {"x.yaml", "# {{ x }}\na: [\n", "document 1, line 2: " + noNode},
	} {
		expect.Same(t, name, c.want, whatIsRead(t, c.file, c.text))
	}
}

// TestLines: a path leads to the line of its last part that the text has.
func TestLines(t *testing.T) {
	const text = `# a list
apiVersion: v1
kind: List
base: &base
  name: two
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: a
  spec:
    adapters:
    - name: node
      subnet: x
    - name: "2"
      subnet: y
    - z
    - [name, node]
    - *base
    other: *base
- apiVersion: v1
  kind: Secret
  metadata: {name: b}
`
	found := expect.Got(readText(t, "x.yaml", "---\n"+secretNamed("c")+"\n---\n"+text))(t)
	a, b, c := found.Items[1].Lines(), found.Items[2].Lines(), found.Items[0].Lines()
	const second = "x.yaml: document 2, line "
	for _, one := range []struct {
		of   Lines
		path string
		at   string
		has  bool
	}{
		{a, "", second + "10", true},
		{a, "metadata/name", second + "13", true},
		{a, "metadata/namespace", second + "12", false},
		{a, "spec/adapters/node", second + "16", true},
		{a, "spec/adapters/node/subnet", second + "17", true},
		{a, "spec/adapters/0/subnet", second + "17", true},
		{a, "spec/adapters/2/subnet", second + "19", true}, // the name comes before the number
		{a, "spec/adapters/1/subnet", second + "19", true},
		{a, "spec/adapters/3", second + "21", true},
		{a, "spec/adapters/two", second + "22", true},
		{a, "spec/adapters/5", second + "15", false},
		{a, "spec/adapters/-1", second + "15", false},
		{a, "spec/adapters/x", second + "15", false},
		{a, "spec/adapters/node/subnet/x", second + "17", false},
		{a, "spec/other/name", second + "8", true},
		{b, "metadata/name", second + "26", true},
		{c, "metadata/name", "x.yaml: document 1, line 2", true},
		{Object{}.Lines(), "metadata", ": document 0, line 0", false},
	} {
		var path []string
		if one.path != "" {
			path = strings.Split(one.path, "/")
		}
		expect.Same(t, one.path+": whether it is there", one.has, one.of.Contains(path...))
		expect.Same(t, one.path+": its place", one.at, one.of.Place(path...))
	}
}
