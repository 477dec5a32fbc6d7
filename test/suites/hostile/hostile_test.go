// Package hostile runs the plugin with files of people who mean it ill.
package hostile

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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

// file writes a file, piece by piece: a process that is started counts the memory of the one that starts it.
type file func(w io.Writer)

// aliases is a document in which names stand for what is in front of them.
func aliases(first file, levels, each int) file {
	return func(w io.Writer) {
		fmt.Fprint(w, head+"  l0: &l0 ")
		first(w)
		for level := 1; level <= levels; level++ {
			fmt.Fprintf(w, "\n  l%d: &l%d [%s]", level, level, strings.Repeat(fmt.Sprintf("*l%d, ", level-1), each))
		}
		fmt.Fprintln(w)
	}
}

// repeated writes a text so many times, between two others. Most are a few bytes, which are written in blocks.
func repeated(before, text string, times int, after string) file {
	const inBlock = 4096
	return func(w io.Writer) {
		block := strings.Repeat(text, inBlock)
		many(before, times/inBlock, func(int) string { return block }, strings.Repeat(text, times%inBlock)+after)(w)
	}
}

func many(before string, times int, next func(i int) string, after string) file {
	return func(w io.Writer) {
		fmt.Fprint(w, before)
		for i := range times {
			fmt.Fprint(w, next(i))
		}
		fmt.Fprint(w, after)
	}
}

// files take much memory, or say much, unless the plugin counts before it reads.
var files = map[string]file{
	"one text for 3,000 aliases":    aliases(repeated(`"`, "a", mib, `"`), 1, 3000),
	"texts that JSON makes longer":  aliases(repeated(`"`, "<", mib, `"`), 1, 60),
	"billion laughs":                aliases(repeated("a", "", 0, ""), 9, 10),
	"many empty values for aliases": aliases(repeated("[", "[],", 1000, "]"), 1, 3000),
	"an alias of itself":            repeated(head, "  a: &a [*a, *a]\n", 1, ""),
	"merge keys": func(w io.Writer) {
		many(head+"  a: &a {", 50_000, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }, "}\n")(w)
		many("", 10_000, func(i int) string { return fmt.Sprintf("  m%d: {<<: *a}\n", i) }, "")(w)
	},
	"deep YAML":        repeated("", "[", mib, ""),
	"deep JSON":        repeated("", `{"a":`, mib, ""),
	"empty values":     repeated(head+"  a: [", "{},", 10*mib, "]\n"),
	"a list":           repeated(head+"  a: [", "{},", mib/3, "]\n"),
	"empty documents":  repeated("", "---\n#\n", 8*mib, ""),
	"JSON's objects":   repeated("", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, mib/5, ""),
	"escapes":          repeated(head+`  a: "`, `\x01`, mib, "\"\n"),
	"less-than signs":  repeated(head+`  a: "`, "<", 7*mib, "\"\n"),
	"a document of 50": repeated(head+"  a: ", "a", 50*mib, "\n"),
	"a file of 65 MiB": repeated("", "#\n", 33*mib, ""),
	"unknown fields":   many(config, 50_000, func(i int) string { return "  f" + letters(i) + ": 1\n" }, ""),
	"wrong types":      many(config+"  node: {labels: {", 50_000, func(i int) string { return letters(i) + ": 1, " }, "}}\n"),
	"wrong objects":    repeated("", "---\n"+config+"  f: 1\n", 10_000, ""),
	"a long name":      repeated("apiVersion: v1\nkind: Secret\nmetadata: {name: ", "a", 7*mib, "}\n"),
	"UTF-16":           repeated("\xFF\xFE", "#\x00\n\x00", 15*mib, ""),
}

// all has the plugin read whole files that take long, and not their first parts.
var all = flag.Bool("all", false, "read each file as a whole")

// partOf is how many times as many objects such a file has as its first part.
const partOf = 64

// large are files that take long, by the number of their objects.
var large = map[string]struct {
	objects int
	file    func(objects int) file
}{
	"small objects":    {mib / 2, func(objects int) file { return secrets(objects, "YQ==") }},
	"a file of 50 MiB": {3200, func(objects int) file { return secrets(objects, strings.Repeat("QUJD", 4096)) }},
}

func secrets(count int, value string) file {
	return many("", count, func(i int) string { return fmt.Sprintf(secret, i, value) }, "")
}

// filesOfRun are the files that this run reads.
func filesOfRun() map[string]file {
	these := maps.Clone(files)
	for name, l := range large {
		if *all {
			these[name] = l.file(l.objects)
		} else {
			these[name+", the first part"] = l.file(l.objects / partOf)
		}
	}
	return these
}

// write writes the file.
func (f file) write(t *testing.T, path string) {
	t.Helper()
	opened := expect.Got(os.Create(path))(t)
	buffered := bufio.NewWriter(opened)
	f(buffered)
	expect.OK(t, errors.Join(buffered.Flush(), opened.Close()))
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
	program := filepath.Join(t.TempDir(), "clusterctl-windows")
	expect.OK(t, build.Program(t.Context(), "../../..", "./cmd/clusterctl-windows", program))
	worst, where := int64(0), ""
	these := filesOfRun()
	for name, file := range these {
		path := filepath.Join(t.TempDir(), "x.yaml")
		file.write(t, path)
		begun := time.Now()
		told, memory := plan(t, program, "-f", path)
		took := time.Since(begun)
		expect.OK(t, os.Remove(path))
		if memory > worst {
			worst, where = memory, name
		}
		told = strings.ReplaceAll(told, path, "x.yaml")
		t.Logf("%-30s %4d MiB, %4.1f s, %d lines: %.160s", name, memory/mib, took.Seconds(), strings.Count(told, "\n"), told)
		if memory > mostMemory {
			t.Errorf("%s takes %d MiB of memory, more than %d", name, memory/mib, mostMemory/mib)
		}
		if strings.Count(told, "\n") > mostLines || told == "" {
			t.Errorf("%s: %d lines", name, strings.Count(told, "\n"))
		}
	}
	t.Logf("%d hostile files, at most %d MiB of memory (%s)", len(these), worst/mib, where)
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

const configOf = `{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"WindowsBootstrapConfig","metadata":{"name":"a"},`

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
	"field": configOf + `"spec":{@:1}}`,
	"mode":  configOf + `"spec":{"network":{"mode":@}}}`,
	"template": `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"WindowsMachine",` +
		`"metadata":{"name":"a"},"spec":{"vsphere":{"image":@}}}`,
	"list": configOf + `"spec":{"kubelet":{"extraArgs":{@:"a"}}}}`,
	"YAML": "? {a: @}\n: b\n",
	"tag":  "apiVersion: !!int @\n",
	"machine": `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","metadata":{"name":"a"},"spec":` +
		`{"clusterName":"a","selector":{},"template":{"spec":{"clusterName":"a","version":"v1.36.3",` +
		`"bootstrap":{"configRef":{"apiGroup":"a.b","kind":"A","name":"a"}},` +
		`"infrastructureRef":{"apiGroup":"a.b","kind":@,"name":"a"}}}}}`,
}

// TestNothingOfAFileIsObeyed has texts that a terminal obeys, wherever a file may have one that is told.
func TestNothingOfAFileIsObeyed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "clusterctl-windows")
	expect.OK(t, build.Program(t.Context(), "../../..", "./cmd/clusterctl-windows", program))
	text := fmt.Sprintf("%q", strings.Join(obeyed, "a"))
	text = strings.NewReplacer(`\a`, `\u0007`, `\x1b`, `\u001b`).Replace(text)
	for place, form := range places {
		path := filepath.Join(t.TempDir(), "x.yaml")
		expect.OK(t, os.WriteFile(path, []byte(strings.ReplaceAll(form, "@", text)), 0o600))
		told, _ := plan(t, program, "-f", path)
		for _, character := range told {
			if character != '\n' && !unicode.IsPrint(character) {
				t.Errorf("%s: a terminal gets %q: %q", place, character, told)
			}
		}
	}
	t.Logf("%d places, each with %d texts", len(places), len(obeyed))
}
