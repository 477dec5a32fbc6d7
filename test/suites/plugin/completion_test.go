package plugin

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// typed are lines that begin with the program's name, and what is offered at their end.
func typed(t *testing.T) map[string][]string {
	t.Helper()
	file := inFile(t, "pools.yaml", pools(3))
	lines := map[string][]string{}
	for line, want := range map[string][]string{
		"":                                   {"addons", "check", "completion", "help", "plan", "render", "smoke", "version"},
		"pl":                                 {"plan"},
		"check ":                             {"azure", "linux", "vsphere"},
		"help ch":                            {"check"},
		"completion ":                        {"bash", "fish", "powershell", "zsh"},
		"plan --ma":                          {"--machine"},
		"render --":                          {"--filename", "--help", "--machine", "--namespace", "--output", "--show-secrets"},
		"check azure -f x -o ":               {"json", "name", "yaml"},
		"plan -f " + file + " --machine ":    {"pool-1-1", "pool-2-1", "pool-3-1"},
		"plan -f /does/not/exist --machine ": nil,
	} {
		lines["clusterctl-windows "+line] = want
	}
	return lines
}

// The programs below press Tab at the end of lines: the first argument is the script for the shell, the others are the lines.
// They print each line behind "== ", and then what is offered.

// inBash calls the function that "complete" knows for the program, as bash does. Without the package bash-completion, its
// function that splits the words has a stand-in, which takes them as bash has split them; the words of these tests have neither =
// nor :, for which the real one puts them together again (https://github.com/scop/bash-completion, bash_completion,
// _get_comp_words_by_ref).
const inBash = `
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
  source /usr/share/bash-completion/bash_completion
else
  _get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
  _filedir() { mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
fi
source "$1"; shift
known=$(complete -p clusterctl-windows) || exit 3
[[ $known =~ -F\ ([^ ]+) ]] || exit 4
function=${BASH_REMATCH[1]} COLUMNS=200 COMP_TYPE=9
for COMP_LINE in "$@"; do
  echo "== $COMP_LINE"
  read -ra COMP_WORDS <<<"$COMP_LINE"
  [[ $COMP_LINE != *" " ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE} COMPREPLY=()
  "$function" 2>/dev/null
  printf '%s\n' "${COMPREPLY[@]}"
done
`

// inZsh calls the function of the script. What that calls of zsh's completion system has stand-ins, because there is no line
// editor: _describe takes an array by its name, and says whether some of it begins with the word at the cursor (zsh 5.9,
// Completion/Base/Utility/_describe).
const inZsh = `
compdef() { }
_arguments() { }
_describe() {
  [[ $1 != -V ]] || shift
  local -a all=(${${(P)2}%%:*})
  local -a fit=(${(M)all:#${(b)PREFIX}*})
  (( $#fit )) || return 1
  print -rl -- $fit
}
source "$1"; shift
for line in "$@"; do
  print -r -- "== $line"
  words=(${=line}); [[ $line != *" " ]] || words+=("")
  CURRENT=$#words PREFIX=$words[-1]
  _clusterctl-windows
done
true
`

const inFish = `
source $argv[1]
for line in $argv[2..]
  echo "== $line"
  complete --do-complete $line
end
`

// inPowerShell asks what PSReadLine asks when Tab is pressed. Where there is no PSReadLine, its word for what Tab does has a
// stand-in: what it is on Windows by default (https://learn.microsoft.com/powershell/module/psreadline/get-psreadlinekeyhandler).
const inPowerShell = `
if (-not (Get-Command Get-PSReadLineKeyHandler -ErrorAction Ignore)) {
  function Get-PSReadLineKeyHandler { [pscustomobject]@{ Key = 'Tab'; Function = 'TabCompleteNext' } }
}
$script, $lines = $args
. $script
foreach ($line in $lines) {
  "== $line"
  (TabExpansion2 -inputScript $line -cursorColumn $line.Length).CompletionMatches | ForEach-Object { $_.CompletionText }
}
`

// TestShellsComplete: each script is one for its shell, which offers commands, flags, values of flags, and names from files.
func TestShellsComplete(t *testing.T) {
	for shell, c := range map[string]struct {
		begins, program string
		args            []string // before the script and the lines
	}{
		"bash": {"# bash completion V2 for clusterctl-windows ", "bash", []string{"--norc", "-c", inBash, "bash"}},
		"zsh":  {"#compdef clusterctl-windows\n", "zsh", []string{"-f", "-c", inZsh, "zsh"}},
		"fish": {"# fish completion for clusterctl-windows ", "fish", []string{"--no-config", "-c", inFish}},
		"powershell": {
			"# powershell completion for clusterctl-windows ", powerShell(),
			[]string{"-NoProfile", "-File", inFile(t, "tab.ps1", inPowerShell)},
		},
	} {
		t.Run(shell, func(t *testing.T) {
			got := run(t, "completion", shell)
			if got.code != 0 || !strings.HasPrefix(got.out, c.begins) || strings.Count(got.out, "\n") < 100 {
				t.Errorf("exit code %d, and the script begins with %.100q", got.code, got.out)
			}
			path, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("%s is not here to take its script", c.program)
			}
			lines := typed(t)
			args := slices.Concat(c.args, []string{inFile(t, "completion.ps1", got.out)}, slices.Sorted(maps.Keys(lines)))
			command := exec.CommandContext(t.Context(), path, args...)
			command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			var told bytes.Buffer
			command.Stderr = &told
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, output, told.String())
			}
			expect.Same(t, "offered", lines, offeredByLine(string(output)), cmpopts.EquateEmpty())
		})
	}
}

// powerShell is the one that other tests run, too.
func powerShell() string { return cmp.Or(os.Getenv("PWSH"), "pwsh") }

// offeredByLine reads what the programs print.
func offeredByLine(output string) map[string][]string {
	lines := map[string][]string{}
	for part := range strings.SplitSeq("\n"+output, "\n== ") {
		if line, offers, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n"); line != "" {
			lines[line] = offered(offers)
		}
	}
	return lines
}

// offered are the words of what is offered, without what is said of them.
func offered(output string) []string {
	words := []string{}
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, ":") {
			words = append(words, fields[0])
		}
	}
	slices.Sort(words)
	return words
}

// TestKubectlCompletes: the real kubectl runs the plugin, and asks kubectl_complete-capwin for its words.
func TestKubectlCompletes(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	kubectl := func(args ...string) string {
		command := exec.CommandContext(t.Context(), binaries.Path("kubectl"), args...)
		command.Env = append(os.Environ(), "PATH="+bin, "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
		return string(expect.Got(command.Output())(t))
	}
	if help := kubectl("capwin", "plan", "--help"); !strings.Contains(help, "Usage:\n  kubectl capwin plan ") {
		t.Errorf("kubectl capwin plan --help says:\n%s", help)
	}
	expect.Same(t, "kubectl capwin p<Tab>", []string{"plan"}, offered(kubectl("__complete", "capwin", "p")))
	got := offered(kubectl("__complete", "capwin", "check", ""))
	expect.Same(t, "kubectl capwin check <Tab>", []string{"azure", "linux", "vsphere"}, got)
	expect.Same(t, "kubectl capwin plan --ma<Tab>", []string{"--machine"}, offered(kubectl("__complete", "capwin", "plan", "--ma")))
}

// TestClusterctlRuns: the real clusterctl runs the plugin, which then has clusterctl's name.
func TestClusterctlRuns(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	command := exec.CommandContext(t.Context(), binaries.Path("clusterctl"), "windows", "plan", "--help")
	command.Env = append(os.Environ(), "PATH="+bin, "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "Usage:\n  clusterctl windows plan ") {
		t.Errorf("%v\n%s", err, output)
	}
}
