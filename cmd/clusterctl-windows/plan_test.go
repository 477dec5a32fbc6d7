package main

import (
	"strings"
	"testing"
)

func TestPlanOfMachines(t *testing.T) {
	for _, c := range []struct{ golden, file, name string }{
		{"plan-machine.txt", machineFile, machineName},
		{"plan-git.txt", gitFile, "blue-windows-x7k2p-q9d4t"},
	} {
		got := call(t, "", "plan", "-f", c.file, "--machine", c.name)
		if got.Code != exitDone {
			t.Errorf("%s: %s", c.golden, got.Err)
			continue
		}
		checkGolden(t, c.golden, got.Out)
		if again := call(t, "", "plan", "-f", c.file, "--machine", c.name); again != got {
			t.Errorf("%s: a second call prints something else", c.golden)
		}
		if strings.Contains(got.Out, testSecret) {
			t.Errorf("%s: the token is not masked", c.golden)
		}
	}
}

// TestPlanOfTwoVersions: the files, a folder and standard input are read as for a plan, and a difference is no failure.
func TestPlanOfTwoVersions(t *testing.T) {
	changed := changed(t, gitFile, "version: v1.36.3", "version: v1.36.4")
	want := call(t, "", "plan", "-f", inFile(t, changed), "--diff", gitFile)
	const rolls = "MachineDeployment default/blue-windows: the pool rolls, which replaces its machines: " +
		"spec.template.spec.version is " +
		"v1.36.4 and was v1.36.3. A new node is different:\n--- testdata/git.yaml\n+++ "
	if want.Code != exitDone || want.Err != "" || !strings.HasPrefix(want.Out, rolls) {
		t.Fatalf("got %+v", want)
	}
	got := call(t, changed, "plan", "-f", "-", "--diff", gitFile, "--machine", "blue-windows-x")
	if !strings.HasPrefix(got.Out, rolls+"standard input\n@@ ") || got.Code != exitDone {
		t.Errorf("got %+v", got)
	}
	got = call(t, readText(t, gitFile), "plan", "-f", gitFile, "--diff", "-")
	const same = "MachineDeployment default/blue-windows: the pool does not roll. Nothing of a node changes.\n"
	if got != (ended{Out: same}) {
		t.Errorf("got %+v", got)
	}
	if got := call(t, "", "plan", "-f", machineFile, "--diff", machineFile); got.Code != exitDone ||
		!strings.HasSuffix(got.Out, ": a Machine that exists keeps its VM and its user data. Nothing of a node changes.\n") {
		t.Errorf("got %+v", got)
	}
	if got := call(t, "", "plan", "-f", gitFile, "--diff", "testdata/none.yaml"); got.Code != exitRefused ||
		got.Err != "open testdata/none.yaml: no such file or directory\n" {
		t.Errorf("got %+v", got)
	}
}
