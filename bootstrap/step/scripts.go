package step

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Script runs a .ps1 or .cmd from the disk, without arguments.
func Script(common plan.Common, path string, program plan.Program) *plan.Run {
	argv := plan.Texts("cmd.exe", "/d", "/c", path)
	if strings.HasSuffix(strings.ToLower(path), ".ps1") {
		argv = plan.Texts(PowerShell, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", path)
	}
	return &plan.Run{Common: common, Argv: argv, Program: program}
}

// ScriptOf is the script that a step runs; empty if it runs something else.
func ScriptOf(run *plan.Run) string {
	if !slices.Contains([]string{"cmd.exe", PowerShell}, run.Argv[0].String()) {
		return ""
	}
	return run.Argv[len(run.Argv)-1].String()
}
