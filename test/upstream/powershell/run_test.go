// Package powershell has tests of the scripts that nodes run, which a PowerShell runs; this is a test of what finds one.
package powershell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
)

const (
	notOne   = " is not a PowerShell; set PWSH to PowerShell 7"
	old      = " is PowerShell 5, and these tests need 7; set PWSH to it"
	noPester = " has no Pester 5; run there: Install-Module Pester -MinimumVersion 5.0 -Scope CurrentUser"
)

// TestFind: a program that is not what these tests need is told in one sentence. A shell stands for each, and answers what the
// real one would.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, answer, want string
		found                      bool
	}{
		{name: "none", reason: "nothing fails where there is no PowerShell", want: "LEFT OUT: ", found: true},
		{name: "another program", reason: "it takes the arguments, and is none", answer: "cat: invalid option", want: notOne},
		{name: "one that never stops", reason: "what it writes is not read to an end", answer: "`yes`", want: notOne},
		{name: "Windows PowerShell", reason: "nodes have it, but Linux does not", answer: "PowerShell 5 5", want: old},
		{name: "no Pester", reason: "PowerShell brings none", answer: "PowerShell 7 0", want: noPester},
		{name: "an old Pester", reason: "Windows brings this one", answer: "PowerShell 7 3", want: noPester},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, script := range []string{"./run.sh", "./mutants.sh"} {
				output, err := find(t, script, test.answer)
				if (err == nil) != test.found || strings.Count(output, "\n") != 1 || !strings.Contains(output, test.want) {
					t.Errorf("%s: %s: %q, %v; want one line with %q", script, test.reason, output, err, test.want)
				}
			}
		})
	}
}

func TestMutants(t *testing.T) {
	t.Parallel()
	proved.WantPlaces(t, "mutants.txt", filepath.Join("..", "..", "..", "bootstrap", "scripts"))
}

// find runs a script with a PowerShell that gives an answer, or without one.
func find(t *testing.T, script, answer string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), script)
	command.Env = append(os.Environ(), "PATH="+withoutShell(folder), "PWSH=", "TMPDIR="+folder)
	if answer != "" {
		shell := filepath.Join(folder, "shell")
		text := "#!/bin/sh\necho '" + answer + "'\n"
		if answer == "`yes`" {
			text = "#!/bin/sh\nexec yes\n"
		}
		expect.OK(t, os.WriteFile(shell, []byte(text), 0o700))
		command.Env = append(command.Env, "PWSH="+shell)
	}
	output, err := command.CombinedOutput()
	return string(output), err
}

// withoutShell is PATH without the folders that have a pwsh.
func withoutShell(instead string) string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	for i, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "pwsh")); err == nil {
			folders[i] = instead
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}
