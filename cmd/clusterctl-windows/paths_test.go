package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// pathsFolder has the documents of testdata/git.yaml in files of all the extensions, with others that kubectl does not read.
func pathsFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	documents := strings.Split(readText(t, gitFile), "---\n")
	expect.OK(t, os.Mkdir(filepath.Join(folder, "sub"), 0o700))
	for name, text := range map[string]string{
		"b.yaml": documents[0], "a.yml": documents[1], "c.yaml": strings.Join(documents[2:], "---\n"), "d.json": `{"kind": "List",` +
			` "apiVersion": "v1", "items": []}`,
		"notes.txt": "no object", "sub/e.yaml": "no object",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// TestWaysToNameFiles: folders, patterns and commas are what kubectl makes of them.
func TestWaysToNameFiles(t *testing.T) {
	want := call(t, "", "plan", "-f", gitFile)
	if want.Code != exitDone {
		t.Fatal(want.Err)
	}
	folder := pathsFolder(t)
	file := func(name string) string { return filepath.Join(folder, name) }
	for reason, args := range map[string][]string{
		"a folder":             {"-f", folder},
		"a pattern":            {"-f", file("[abc].y*ml")},
		"commas":               {"-f", file("a.yml") + "," + file("b.yaml") + "," + file("c.yaml")},
		"each":                 {"-f", file("a.yml"), "-f", file("b.yaml"), "--filename=" + file("c.yaml")},
		"a folder in patterns": {"-f", folder + "*"},
	} {
		if got := call(t, "", append([]string{"plan"}, args...)...); got != want {
			t.Errorf("%s: got %d, %s", reason, got.Code, got.Err)
		}
	}
	expect.Same(t, "order", []string{file("a.yml"), file("b.yaml"), file("c.yaml"), file("d.json")},
		expect.Got(pathsOf([]string{folder}))(t))
}

// TestFilesThatAreNotRead: a sentence says what to write instead.
func TestFilesThatAreNotRead(t *testing.T) {
	empty := t.TempDir()
	for named, says := range map[string]string{
		empty: "no file in the folder " + empty + " ends with .json, .yaml, .yml; subfolders are not read, name each with its own -f\n",
		"https://example.com/pool.yaml": "https://example.com/pool.yaml is a URL, and this program reads files only; write: " +
			"curl -sSfL https://example.com/pool.yaml | ... -f -\n",
		"none*.yaml": "open none*.yaml: no such file or directory\n",
		"[":          "open [: no such file or directory\n",
	} {
		if got := call(t, "", "plan", "-f", named); got != (ended{Code: exitRefused, Err: says}) {
			t.Errorf("%s: got %+v", named, got)
		}
	}
	folder := pathsFolder(t)
	expect.OK(t, os.WriteFile(filepath.Join(folder, "values.yaml"), []byte("a: 1\n"), 0o600))
	got := call(t, "", "plan", "-f", folder)
	if want := filepath.Join(folder, "values.yaml") + ": document 1, line 1: "; !strings.HasPrefix(got.Err, want) {
		t.Errorf("got %s, want %s", got.Err, want)
	}
	expect.OK(t, os.Remove(filepath.Join(folder, "values.yaml")))
	expect.OK(t, os.Remove(filepath.Join(folder, "b.yaml")))
	if got := call(t, "", "plan", "-f", folder); !strings.HasPrefix(got.Err, "Cluster default/blue is not in "+folder+"; add") {
		t.Errorf("a folder is not named as it was given: %s", got.Err)
	}
}

// TestCompletionTextsAreBare: the texts of all flags reach a shell without what pflag alone understands.
func TestCompletionTextsAreBare(t *testing.T) {
	var look func(path []string, cmd *cobra.Command)
	look = func(path []string, cmd *cobra.Command) {
		got := call(t, "", append(append([]string{"__complete"}, path...), "--")...)
		if got.Code != exitDone || strings.Contains(got.Out, "`") || !strings.Contains(got.Out, "--help\thelp for ") {
			t.Errorf("%v: %+v", path, got)
		}
		for _, one := range cmd.Commands() {
			look(append(slices.Clone(path), one.Name()), one)
		}
	}
	look(nil, newRoot(calledAs("clusterctl-windows"), streams{}))
	if got := call(t, "", "__complete", "plan", "--ma"); !strings.HasPrefix(got.Out, "--machine\tNAME of the machine") {
		t.Errorf("got %+v", got)
	}
}

// TestMachineThatNobodyNamed: one can be meant only where there is one.
func TestMachineThatNobodyNamed(t *testing.T) {
	for _, c := range []struct{ file, machine string }{{gitFile, "blue-windows-1"}, {machineFile, machineName}} {
		want := call(t, "", "plan", "-f", c.file, "--machine", c.machine)
		if got := call(t, "", "plan", "-f", c.file); got != want || got.Code != exitDone {
			t.Errorf("%s: got %d, %s", c.file, got.Code, got.Err)
		}
	}
	for reason, c := range map[string]struct {
		args []string
		says string
	}{
		"several": {
			[]string{"-f", machineFile, "-f", gitFile},
			"--machine NAME is missing, and the files have several machines: Machines team-a/" + machineName +
				"; MachineDeployment default/blue-windows, whose machines are named blue-windows-...\n",
		},
		"of another kind": {
			[]string{"-f", inFile(t, changed(t, gitFile, "WindowsMachineTemplate\n        name", "VSphereMachineTemplate\n        name"))},
			`MachineDeployment default/blue-windows: spec.template.spec.infrastructureRef.kind is "VSphereMachineTemplate" ` +
				"(blue-windows), but a Windows machine needs a WindowsMachineTemplate; write apiGroup, kind and name of one\n",
		},
	} {
		if got := call(t, "", append([]string{"plan"}, c.args...)...); got != (ended{Code: exitRefused, Err: c.says}) {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
}
