package objects

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// secretNamed is an object in one line of JSON, which is YAML, too.
func secretNamed(name string) string {
	return `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "` + name + `"}}`
}

func listOf(items ...string) string {
	return `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(items, ", ") + `]}`
}

func utf16Text(text string, order binary.AppendByteOrder, mark string) string {
	data := []byte(mark)
	for _, unit := range utf16.Encode([]rune(text)) {
		data = order.AppendUint16(data, unit)
	}
	return string(data)
}

// readText reads a file of this name and content.
func readText(t *testing.T, name, content string) (*Set, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	expect.OK(t, os.WriteFile(name, []byte(content), 0o600))
	return Read([]string{filepath.Clean(name)}, "default", nil)
}

const yamlOfTwo = "# first\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n\n" +
	"apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n"

func TestEveryObjectIsRead(t *testing.T) {
	a, b, c := secretNamed("a"), secretNamed("b"), secretNamed("c")
	cases := map[string]struct{ file, content, want string }{
		"objects one after another": {"x.json", a + "\n" + b + c, "a b c"},
		"without the name of JSON":  {"x.yaml", a + "\n" + b + c, "a b c"},
		"a list and then a Secret":  {"x.json", listOf(a, b) + "\n" + c, "a b c"},
		"lists in lists":            {"x.json", listOf(a, listOf(b, listOf(c))), "a b c"},
		"JSON between dashes":       {"x.json", a + "\n---\n" + b + "\n---\n", "a b"},
		"YAML, then JSON, then YAML": {
			"x.yaml", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n--- # more\n" + b + c + "\n---\n\n# none\n---\n", "a b c",
		},
		"on the line of the dashes":     {"x.yaml", "--- " + a + "\n--- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n", "a b"},
		"lines of Windows":              {"x.yaml", strings.ReplaceAll(yamlOfTwo, "\n", "\r\n"), "a b"},
		"UTF-8 with a mark":             {"x.yaml", "\uFEFF" + yamlOfTwo, "a b"},
		"JSON with a mark":              {"x.json", "\uFEFF" + a + b, "a b"},
		"as Windows PowerShell writes":  {"x.yaml", utf16Text(yamlOfTwo, binary.LittleEndian, "\xFF\xFE"), "a b"},
		"UTF-16 of the other direction": {"x.json", utf16Text(a+b, binary.BigEndian, "\xFE\xFF"), "a b"},
		"comments around":               {"x.yaml", "# none\n---\n# none\n---\n" + a + "\n---\n# none\n---\n", "a"},
		"a list that is empty":          {"x.yaml", "apiVersion: v1\nkind: List\nitems: []\n---\n" + a, "a"},
		"dashes in a text": {
			"x.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  x: |\n    ---\n    -----BEGIN\n", "a",
		},
		"keys in quotes": {"x.yaml", "\"apiVersion\": v1\n\"kind\": Secret\n\"metadata\": {\"name\": a}\n", "a"},
		"items that inherit their kind": {
			"x.json", `{"apiVersion": "v1", "kind": "SecretList", "items": [{"metadata": {"name": "a"}}]}`, "a",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := expect.Got(readText(t, c.file, c.content))(t)
			var names []string
			for _, one := range found.OfKind("Secret") {
				names = append(names, one.Key.Name)
			}
			expect.Same(t, "Secrets", c.want, strings.Join(names, " "))
			expect.OK(t, found.Admit())
		})
	}
}

func TestWhatCannotBeReadIsRefusedByItsPlace(t *testing.T) {
	a := secretNamed("a")
	cases := map[string]struct{ file, content, want string }{
		"UTF-16 without a mark": {
			"x.yaml", utf16Text(yamlOfTwo, binary.LittleEndian, ""),
			"x.yaml: line 1: this looks like UTF-16 without a byte order mark; " + saveAsUTF8,
		},
		"the other direction without a mark": {
			"x.yaml", utf16Text(yamlOfTwo, binary.BigEndian, ""),
			"x.yaml: line 1: this looks like UTF-16 without a byte order mark; " + saveAsUTF8,
		},
		"UTF-16 that is cut off": {
			"x.yaml", "\xFF\xFEa\x00b",
			"x.yaml: the file begins as UTF-16 and ends in the middle of a character; it was cut off, export it again",
		},
		"half a character": {
			"x.yaml", "\xFF\xFE\n\x00\x00\xD8a\x00", "x.yaml: line 2: half a character of UTF-16; export the file again",
		},
		"a NUL byte": {
			"x.yaml", yamlOfTwo + "\x00", "x.yaml: line 10: there is a NUL byte, so this is not a text of objects; " + saveAsUTF8,
		},
		"a NUL character in UTF-16": {
			"x.yaml", "\xFF\xFEa\x00\n\x00\x00\x00",
			"x.yaml: line 2: there is a NUL character, so this is not a text of objects; export the file again",
		},
		"Latin-1":       {"x.yaml", "# gr\xFC\xDF\n", "x.yaml: line 1: byte 0xfc is not UTF-8; " + saveAsUTF8},
		"nothing":       {"x.yaml", "", noObject},
		"only comments": {"x.yaml", "# none\n---\n# none\n---\n---\n", noObject},
		"an empty list": {"x.yaml", "apiVersion: v1\nkind: List\nitems: []\n", noObject},
		"a tab before a field": {
			"x.yaml", yamlOfTwo + "data:\n\ta: b\n",
			"x.yaml: document 2, line 11, column 1: a tab stands before the text of this line; YAML is indented by blanks only, " +
				"so write blanks",
		},
		"a tab behind blanks": {
			"x.yaml", "apiVersion: v1\nkind: Secret\ndata:\n  \ta: b\n",
			"x.yaml: document 1, line 4, column 3: a tab stands before the text of this line; YAML is indented by blanks only, " +
				"so write blanks",
		},
		"text of Helm": {
			"x.yaml", yamlOfTwo + "data:\n  a: {{ .Values.a }}\n", "x.yaml: document 2, line 11, column 6: " + templateOfHelm,
		},
		"a block of Helm": {
			"x.yaml", "{{- if .Values.a }}\n" + yamlOfTwo + "{{- end }}\n", "x.yaml: document 1, line 1, column 1: " + templateOfHelm,
		},
		"a key that is an object": {
			"x.yaml", "? {a: hunter2}\n: b\n", "x.yaml: document 1, line 1: not valid YAML: a key is an object or a list; write a name " +
				"in front of the colon, and put a value that begins with { or [ in quotes",
		},
		"a name of two lines": {
			"x.json", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a\nSecret b: is good"}}`,
			"x.json: document 1, line 1: Secret: metadata.name has control characters, or more than 253 bytes; " +
				"write lower-case letters, digits and dashes",
		},
		"a kind that a terminal obeys": {
			"x.json", `{"apiVersion": "v1", "kind": "\u001b[2J", "metadata": {"name": "a"}}`,
			"x.json: document 1, line 1: not a Kubernetes object: kind must be letters and digits, such as WindowsMachineTemplate",
		},
		"a variable as kind": {
			"x.yaml", "apiVersion: v1\nkind: ${KIND}\n",
			"x.yaml: document 1, line 1: not a Kubernetes object: apiVersion or kind has the variable ${KIND}, which is not filled in; " +
				"run clusterctl generate yaml, or clusterctl generate cluster, and give what that prints",
		},
		"an object without its end": {
			"x.json", a + "\n" + `{"apiVersion": "v1",`, "x.json: document 1, line 2: not valid JSON: unexpected end of JSON input",
		},
		"a comma too many": {
			"x.yaml", "# one\n---\n" + a + "\n{\"a\": 1,\n}",
			"x.yaml: document 2, line 5: not valid JSON: invalid character '}' looking for beginning of object key string",
		},
		"YAML in a file of JSON": {
			"x.json", "kind: Secret", "x.json: document 1, line 1: not valid JSON: invalid character 'k' looking for beginning of value",
		},
		"an array": {
			"x.json", "[" + a + "]",
			"x.json: document 1, line 1: not a Kubernetes object: this is an array; write apiVersion, kind and metadata",
		},
		"a list of texts": {
			"x.json", listOf(a, `"b"`),
			"x.json: document 1, line 1, items[1]: not a Kubernetes object: this is a text; write apiVersion, kind and metadata",
		},
		"a list without items": {
			"x.yaml", "apiVersion: v1\nkind: List\nitmes: []\n",
			"x.yaml: document 1, line 1: a List without items; write its objects there, or remove it",
		},
		"items that are no list": {
			"x.yaml", "apiVersion: v1\nkind: List\nitems: {}\n",
			"x.yaml: document 1, line 1: items is not an array; write a list of objects there",
		},
		"too many lists": {
			"x.json", strings.Repeat(`{"apiVersion": "v1", "kind": "List", "items": [`, 30) + strings.Repeat("]}", 30),
			"x.json: document 1, line 1" + strings.Repeat(", items[0]", 16) +
				": more than 16 lists are in each other; write the objects one after another",
		},
		"an object after the end of the first": {
			"x.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n",
			"x.yaml: document 1, line 1: there is something after the end of the first object; put a line with --- between objects",
		},
		"an object after dots": {
			"x.yaml", "apiVersion: v1\nkind: Secret\n...\napiVersion: v1\nkind: Secret\n",
			"x.yaml: document 1, line 1: there is something after the end of the first object; put a line with --- between objects",
		},
		"a key twice in JSON": {
			"x.json", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "name": "b"}}`,
			`x.json: document 1, line 1: duplicate field "metadata.name"; keep one`,
		},
		"a key twice in YAML": {
			"x.yaml", yamlOfTwo + "kind: Secret\n",
			`x.yaml: document 2, line 10: the key "kind" is set twice in the same object; keep one`,
		},
		"a key twice that may be a secret": {
			"x.yaml", yamlOfTwo + "hunter2: a\nhunter2: b\n",
			`x.yaml: document 2, line 11: the key in this line is set twice in the same object; keep one`,
		},
		"the same in JSON": {
			"x.json", `{"apiVersion": "v1", "kind": "Secret", "stringData": {"hunter2": "a", "hunter2": "b"}}`,
			`x.json: document 1, line 1: duplicate field in stringData; its name is not shown, because it has more than letters ` +
				`and may be a secret; keep one`,
		},
		"a version that is a number": {
			"x.yaml", "apiVersion: 1\nkind: Secret\n",
			"x.yaml: document 1, line 1: not a Kubernetes object: apiVersion is not a text; put it in quotes",
		},
		"a name that is a number": {
			"x.yaml", yamlOfTwo + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: 100}\n",
			"x.yaml: document 3, line 11: Secret: metadata.name is not a text; put it in quotes",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := readText(t, c.file, c.content)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

const noObject = "x.yaml: there is no object; write the Cluster, the MachineDeployment and its two templates"

// In YAML some of these characters are line breaks or invalid.
func TestTextsOfJSONAreThoseOfJSON(t *testing.T) {
	for quoted, want := range map[string]string{
		`"a` + "\u0085" + `b"`: "a\u0085b", `"a` + "\u2028" + `b"`: "a\u2028b", `"a\/b"`: "a/b", `"\ud83d\ude00"`: "\U0001F600",
		`"a` + "\u007f" + `b"`: "a\u007fb", `"a` + "\u0080" + `b"`: "a\u0080b", `"\u0000"`: "\x00", `"a#b"`: "a#b",
	} {
		content := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": ` + quoted + `}}`
		for _, file := range []string{"x.json", "x.yaml"} {
			found := expect.Got(readText(t, file, content))(t)
			read := expect.Got(Field[string](found.Items[0], "data", "k"))(t)
			expect.Same(t, quoted+" in "+file, want, read)
		}
	}
}
