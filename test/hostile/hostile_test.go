// Package hostile runs the plugin with files of people who mean it ill.
package hostile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

const (
	mib = 1 << 20
	// mostMemory is the resident memory that a file of anybody may make the plugin take.
	mostMemory = 512 * mib
	// mostLines are told of a file: nobody reads more.
	mostLines = 450
)

const (
	head   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
	secret = "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s%d\ndata:\n  a: %s\n"
	config = "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: WindowsBootstrapConfig\nmetadata: {name: a}\nspec:\n"
)

// aliases is a document in which names stand for what is in front of them.
func aliases(first string, levels, each int) string {
	var text strings.Builder
	text.WriteString(head + "  l0: &l0 " + first + "\n")
	for level := 1; level <= levels; level++ {
		one := fmt.Sprintf("*l%d", level-1)
		fmt.Fprintf(&text, "  l%d: &l%d [%s]\n", level, level, strings.Repeat(one+", ", each-1)+one)
	}
	return text.String()
}

// many writes a text with numbers until it has so many bytes.
func many(size int, next func(i int) string) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(next(i))
	}
	return text.String()
}

// files take much memory, or say much, unless the plugin counts before it reads.
var files = map[string]func() string{
	"one text for 3,000 aliases":    func() string { return aliases(`"`+strings.Repeat("a", mib)+`"`, 1, 3000) },
	"texts that JSON makes longer":  func() string { return aliases(`"`+strings.Repeat("<", mib)+`"`, 1, 60) },
	"billion laughs":                func() string { return aliases("a", 9, 10) },
	"many empty values for aliases": func() string { return aliases("["+strings.Repeat("[],", 1000)+"]", 1, 3000) },
	"an alias of itself":            func() string { return head + "  a: &a [*a, *a]\n" },
	"merge keys": func() string {
		return head + "  a: &a {" + many(mib, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }) + "}\n" +
			many(mib/4, func(i int) string { return fmt.Sprintf("  m%d: {<<: *a}\n", i) })
	},
	"deep YAML":       func() string { return strings.Repeat("[", mib) },
	"deep JSON":       func() string { return strings.Repeat(`{"a":`, mib) },
	"empty values":    func() string { return head + "  a: [" + strings.Repeat("{},", 10*mib) + "]\n" },
	"a small list":    func() string { return head + "  a: [" + strings.Repeat("{},", mib/3) + "]\n" },
	"empty documents": func() string { return strings.Repeat("---\n#\n", 8*mib) },
	"small objects":   func() string { return many(60*mib, func(i int) string { return fmt.Sprintf(secret, i, "YQ==") }) },
	"JSON's objects": func() string {
		return strings.Repeat(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, mib/5)
	},
	"characters of 4": func() string { return head + "  a: \"" + strings.Repeat(`\x01`, 3*mib) + "\"\n" },
	"less-than signs": func() string { return head + "  a: \"" + strings.Repeat("<", 15*mib) + "\"\n" },
	"a file of 50 MiB": func() string {
		return many(50*mib, func(i int) string { return fmt.Sprintf(secret, i, strings.Repeat("QQ==", 4096)) })
	},
	"a document of 50": func() string { return head + "  a: " + strings.Repeat("a", 50*mib) + "\n" },
	"a file of 65 MiB": func() string { return strings.Repeat("#\n", 33*mib) },
	"unknown fields": func() string {
		return config + many(4*mib, func(i int) string { return fmt.Sprintf("  f%s: 1\n", letters(i)) })
	},
	"wrong types": func() string {
		return config + "  node: {labels: {" + many(4*mib, func(i int) string { return letters(i) + ": 1, " }) + "}}\n"
	},
	"wrong objects": func() string {
		return many(8*mib, func(i int) string { return "---\n" + config + "  f: 1\n" })
	},
	"a long name": func() string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + strings.Repeat("a", 8*mib) + "}\n"
	},
	"UTF-16": func() string { return "\xFF\xFE" + strings.Repeat("#\x00\n\x00", 15*mib) },
}

func letters(i int) string {
	text := ""
	for ; i > 0; i /= 26 {
		text += string(rune('a' + i%26))
	}
	return "x" + text
}

// TestHostileFiles has files that take all memory of a machine if they are read as they are written.
func TestHostileFiles(t *testing.T) {
	program := build(t)
	worst, where := int64(0), ""
	for name, file := range files {
		path := filepath.Join(t.TempDir(), "x.yaml")
		expect.OK(t, os.WriteFile(path, []byte(file()), 0o600))
		told, memory := plan(t, program, "-f", path)
		expect.OK(t, os.Remove(path))
		if memory > worst {
			worst, where = memory, name
		}
		t.Logf("%-30s %4d MiB, %d lines: %.160s", name, memory/mib, strings.Count(told, "\n"), told)
		if memory > mostMemory {
			t.Errorf("%s takes %d MiB of memory, more than %d", name, memory/mib, mostMemory/mib)
		}
		if strings.Count(told, "\n") > mostLines || told == "" {
			t.Errorf("%s: %d lines", name, strings.Count(told, "\n"))
		}
	}
	t.Logf("%d hostile files, at most %d MiB of memory (%s)", len(files), worst/mib, where)
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "clusterctl-windows")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/clusterctl-windows")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return program
}

// plan returns what the plugin says, which is always a refusal here, and how much memory it took.
func plan(t *testing.T, program string, args ...string) (told string, memory int64) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, append([]string{"plan", "--machine", "m"}, args...)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if command.ProcessState.ExitCode() != 1 {
		t.Errorf("exit %d (%v): %.400s", command.ProcessState.ExitCode(), err, output.String())
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the kernel does not say how much memory it took")
	}
	return output.String(), usage.Maxrss * 1024
}

// obeyed are texts that a terminal obeys: a title, a cleared screen, a colour, a line written over, letters from right to left.
var obeyed = []string{"\x1b]0;pwned\a", "\x1b[2J", "\u009b31m", "\r", "\u202e", "\u200b", "\b\b\b"}

// places are where a file may have any text. @ stands for it, in quotes of JSON, which are those of YAML as well.
var places = map[string]string{
	"name":            `{"apiVersion":"v1","kind":"Secret","metadata":{"name":@}}`,
	"namespace":       `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":@}}`,
	"kind":            `{"apiVersion":"v1","kind":@,"metadata":{"name":"a"}}`,
	"core kind":       `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":@,"metadata":{"name":"a"}}`,
	"version":         `{"apiVersion":@,"kind":"Machine","metadata":{"name":"a"}}`,
	"key of a Secret": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{@:"%"}}`,
	"key twice":       `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{@:"",@:""}}`,
	"label":           `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","labels":{@:"a"}}}`,
	"value of a label": `{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"WindowsBootstrapConfig",` +
		`"metadata":{"name":"a","labels":{"a":@}}}`,
	"field":    `{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"WindowsBootstrapConfig","metadata":{"name":"a"},"spec":{@:1}}`,
	"mode":     `{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"WindowsBootstrapConfig","metadata":{"name":"a"},"spec":{"network":{"mode":@}}}`,
	"template": `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"WindowsMachine","metadata":{"name":"a"},"spec":{"vsphere":{"image":@}}}`,
	"list":     `{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"WindowsBootstrapConfig","metadata":{"name":"a"},"spec":{"kubelet":{"extraArgs":{@:"a"}}}}`,
	"YAML":     "? {a: @}\n: b\n",
	"tag":      "apiVersion: !!int @\n",
	"machine": `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","metadata":{"name":"a"},"spec":{"clusterName":"a",` +
		`"selector":{},"template":{"spec":{"clusterName":"a","version":"v1.36.3","bootstrap":{"configRef":{"apiGroup":"a.b","kind":"A",` +
		`"name":"a"}},"infrastructureRef":{"apiGroup":"a.b","kind":@,"name":"a"}}}}}`,
}

// TestNothingOfAFileIsObeyed has texts that a terminal obeys, wherever a file may have one that is told.
func TestNothingOfAFileIsObeyed(t *testing.T) {
	program := build(t)
	for place, form := range places {
		for _, text := range obeyed {
			quoted := fmt.Sprintf("%q", text)
			quoted = strings.NewReplacer(`\a`, `\u0007`, `\x1b`, `\u001b`).Replace(quoted)
			path := filepath.Join(t.TempDir(), "x.yaml")
			expect.OK(t, os.WriteFile(path, []byte(strings.ReplaceAll(form, "@", quoted)), 0o600))
			told, _ := plan(t, program, "-f", path)
			for _, character := range told {
				if character != '\n' && !unicode.IsPrint(character) {
					t.Errorf("%s with %q: a terminal gets %q: %q", place, text, character, told)
				}
			}
		}
	}
	t.Logf("%d places x %d texts", len(places), len(obeyed))
}
