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
