package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the golden texts anew")

const (
	machineFile = "testdata/machine.yaml"
	gitFile     = "testdata/git.yaml"
	machineName = "blue-windows-x7k2p-q9d4t"

	testToken  = "abcdef.0123456789abcdef"
	testSecret = "0123456789abcdef"
)

// ended has everything that the caller of the program sees.
type ended struct {
	Code     int
	Out, Err string
}

func call(t *testing.T, stdin string, args ...string) ended {
	t.Helper()
	return callAs(t, "clusterctl-windows", stdin, args...)
}

// callAs calls the program by another of its names.
func callAs(t *testing.T, program, stdin string, args ...string) ended {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), append([]string{program}, args...), streams{in: strings.NewReader(stdin), out: &out, err: &err})
	return ended{code, out.String(), progressLines.ReplaceAllString(err.String(), "")}
}

// progressLines are those of package progress, which a busy computer prints after 10 seconds.
var progressLines = regexp.MustCompile(`(?m)^.* \(\d+ of \d+, (\d+m)?\d+s\)\n`)

func readText(t *testing.T, path string) string {
	t.Helper()
	return string(expect.Got(os.ReadFile(path))(t))
}

// changed returns a file of testdata with some texts replaced.
func changed(t *testing.T, path string, oldnew ...string) string {
	t.Helper()
	text := readText(t, path)
	for pair := range slices.Chunk(oldnew, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%s has no %q", path, pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// without returns a file without the documents that contain a text.
func without(t *testing.T, path string, texts ...string) string {
	t.Helper()
	documents := strings.Split(readText(t, path), "---\n")
	var left []string
	for _, document := range documents {
		keep := true
		for _, text := range texts {
			keep = keep && !strings.Contains(document, text)
		}
		if keep {
			left = append(left, document)
		}
	}
	if len(left) == len(documents) {
		t.Fatalf("%s has no %q", path, texts)
	}
	return strings.Join(left, "---\n")
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		expect.OK(t, os.WriteFile(path, []byte(got), 0o600))
	}
	expect.Same(t, "go test ./cmd/clusterctl-windows -update writes "+name, readText(t, path), got)
}

func TestUsage(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"unknown command": {
			"a misspelled command is named, not guessed", []string{"rendr"}, `unknown command "rendr"; did you mean render?`,
		},
		"another command":    {"no command is like it", []string{"delete"}, `unknown command "delete"`},
		"begin of a command": {"the rest was forgotten", []string{"comp"}, `unknown command "comp"; did you mean completion?`},
		"unknown flag":       {"no flag is like it", []string{"plan", "--wat"}, "unknown flag: --wat"},
		"misspelled flag": {
			"the flag is named", []string{"plan", "--machin", "m"}, "unknown flag: --machin; did you mean --machine?",
		},
		"unknown flag of the program": {
			"the program has flags, too", []string{"--versio"}, "unknown flag: --versio; did you mean --version?",
		},
		"help of an unknown command": {
			"help names commands, too", []string{"help", "plam"}, `unknown command "plam"; did you mean plan?`,
		},
		"unknown format": {
			"the values of a flag are few",
			[]string{"check", "vsphere", "-f", "x", "-o", "jsn"},
			`invalid argument "jsn" for "-o, --output" flag: use one of json, yaml, name; did you mean json?`,
		},
		"unknown cloud": {
			"the clouds are few",
			[]string{"check", "azur", "-f", "x"},
			"name what to check: azure, linux, vsphere; did you mean azure?",
		},
		"unknown shell": {
			"the shells are few",
			[]string{"completion", "bsh"},
			"name a shell: bash, fish, powershell, zsh; did you mean bash?",
		},
		"no shell":        {"no shell is guessed", []string{"completion"}, "name a shell: bash, fish, powershell, zsh"},
		"check nothing":   {"nothing is checked by itself", []string{"check"}, "name what to check: azure, linux, vsphere"},
		"check no file":   {"there is nothing to read", []string{"check", "azure"}, "-f FILE is missing"},
		"flag's argument": {"the flag is named", []string{"plan", "-f"}, "flag needs an argument: 'f' in -f"},
		"no file":         {"there is nothing to read", []string{"plan", "--machine", "m"}, "-f FILE is missing"},
		"no folder": {
			"there is no default folder for secrets",
			[]string{"render", "-f", machineFile, "--machine", "m"},
			"-o DIR is missing",
		},
		"argument": {
			"a forgotten -f is noticed",
			[]string{"plan", "-f", machineFile, "--machine", "m", "x"},
			`unexpected argument "x"`,
		},
		"one dash": {
			"letters behind one dash may be the name of a flag",
			[]string{"plan", "-f", machineFile, "-machine", "m"},
			"unknown shorthand flag: 'm' in -machine; did you mean --machine?",
		},
		"no format": {
			"plan has none, and another command writes what a script needs",
			[]string{"plan", "-f", machineFile, "-o", "json"},
			"unknown shorthand flag: 'o' in -o; plan prints text only: render -o DIR writes the plan as JSON, to DIR/node.json",
		},
		"two versions on standard input": {
			"it can be read once",
			[]string{"plan", "-f", "-", "--diff", "-"},
			"standard input is either FILE or OLD; name a file for the other",
		},
		"unknown letter": {
			"no flag is guessed from one letter", []string{"plan", "-x"}, "unknown shorthand flag: 'x' in -x",
		},
		"unknown format of the version": {
			"it has two",
			[]string{"version", "-o", "xml"},
			`invalid argument "xml" for "-o, --output" flag: use one of json, yaml; did you mean yaml?`,
		},
		"more files": {
			"a shell wrote out -f *.yaml",
			[]string{"plan", "-f", machineFile, gitFile},
			`unexpected argument "testdata/git.yaml"; -f takes one file: repeat it, name the folder (-f DIR), or quote the ` +
				`pattern (-f '*.yaml')`,
		},
		"smoke no cluster": {
			"pods are made in no cluster that nobody named",
			[]string{"smoke"},
			"name the workload cluster, in which privileged pods are started: --kubeconfig FILE, as clusterctl get kubeconfig " +
				"writes it, or --context NAME",
		},
		"smoke outwards": {
			"a port is needed",
			[]string{"smoke", "--context", "c", "--outwards", "example.com"},
			"--outwards example.com: write HOST:PORT, such as example.com:443, or none",
		},
		"smoke outwards, no number": {
			"names of ports differ",
			[]string{"smoke", "--context", "c", "--outwards", "example.com:https"},
			"--outwards example.com:https: write HOST:PORT, such as example.com:443, or none",
		},
		"smoke no time": {
			"no pod runs at once",
			[]string{"smoke", "--context", "c", "--timeout", "0s"},
			"--timeout 0s: a pod needs some time; write a duration such as 10m",
		},
		"smoke no registry": {
			"an empty variable of a script",
			[]string{"smoke", "--context", "c", "--registry", ""},
			"--registry and --tag must not be empty",
		},
		"plan writes no secrets": {"the flag belongs to render", []string{"plan", "--show-secrets"}, "unknown flag: --show-secrets"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := call(t, "", c.args...)
			said := strings.HasPrefix(got.Err, c.want+"\n\n") && strings.Contains(got.Err, "Usage:")
			if got.Code != exitUsage || got.Out != "" || !said || strings.Count(got.Err, "\n") > 25 {
				t.Errorf("%s: got %+v, want exit 2, %q and the usage", c.reason, got, c.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "\n  plan  "},
		{"--help", "\n  plan  "},
		{"-h", "\n  render  "},
		{"help", "\n  render  "},
		{"render --help", "--show-secrets"},
		{"help render", "--show-secrets"},
		{"plan -h", "--machine NAME"},
		{"plan -f x --help", "--machine NAME"},
	} {
		got := call(t, "", strings.Fields(c.args)...)
		if got.Code != exitDone || got.Err != "" || !strings.Contains(got.Out, c.want) {
			t.Errorf("%s: got %+v, want exit 0 and %q", c.args, got, c.want)
		}
	}
}

// TestNames: the program says how it was called.
func TestNames(t *testing.T) {
	for program, shown := range map[string]string{
		"clusterctl-windows": "clusterctl windows", "/usr/bin/clusterctl-windows": "clusterctl windows",
		"clusterctl-windows.exe": "clusterctl windows", "main": "clusterctl windows", "./kubectl-capwin": "kubectl capwin",
		"kubectl-capwin.exe": "kubectl capwin",
	} {
		for _, args := range [][]string{{"--help"}, {"plan", "--help"}, {"check", "vsphere", "--help"}, {"help", "help"}} {
			got := callAs(t, program, "", args...)
			said := strings.Contains(got.Out, "Usage:\n  "+shown+" ") && strings.Contains(got.Out, shown)
			if got.Code != exitDone || !said || strings.Contains(got.Out, "PROGRAM") {
				t.Errorf("%s %v: got %+v, want %q", program, args, got, shown)
			}
		}
		if got := callAs(t, program, "", "plan"); !strings.Contains(got.Err, "  "+shown+" plan -f FILE") {
			t.Errorf("%s plan: %s", program, got.Err)
		}
	}
}

// TestExitCodes: the page has those of the program.
func TestExitCodes(t *testing.T) {
	page := readText(t, referencePage)
	for _, code := range []int{exitDone, exitRefused, exitUsage, exitInterrupted} {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("%s does not have the exit code %d", referencePage, code)
		}
	}
}

// The result is the same for a pipe and for several files.
func TestWhereObjectsComeFrom(t *testing.T) {
	want := call(t, "", "plan", "-f", machineFile, "--machine", machineName)
	if want.Code != exitDone {
		t.Fatal(want.Err)
	}
	piped := call(t, readText(t, machineFile), "plan", "-f", "-", "--machine", "team-a/"+machineName)
	expect.Same(t, "standard input", want, piped)
	first, rest, _ := strings.Cut(readText(t, machineFile), "---\n")
	half := filepath.Join(t.TempDir(), "cluster.yaml")
	expect.OK(t, os.WriteFile(half, []byte(first), 0o600))
	split := call(t, rest, "plan", "-f", half, "-f", "-", "--machine", machineName)
	expect.Same(t, "two files", want, split)
}

func TestVersion(t *testing.T) {
	for _, way := range []string{"version", "--version"} {
		got := call(t, "", way)
		said := strings.HasPrefix(got.Out, "clusterctl-windows ") && strings.Contains(got.Out, ", go1.")
		if got.Code != exitDone || got.Err != "" || !said {
			t.Errorf("%s: got %+v", way, got)
		}
	}
}
