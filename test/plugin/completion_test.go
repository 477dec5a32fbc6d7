package plugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// pressTab is what bash does when a user presses Tab behind the words of a command: it calls the function that "complete" knows
// for the program. Without the package bash-completion, its function that splits the words has a stand-in, which takes them as
// bash has split them; the words of these tests have neither = nor :, for which the real one puts them together again
// (https://github.com/scop/bash-completion, bash_completion, _get_comp_words_by_ref).
const pressTab = `
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
  source /usr/share/bash-completion/bash_completion
else
  _get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
  _filedir() { mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
fi
source "$1"; shift
known=$(complete -p "$1") || exit 3
[[ $known =~ -F\ ([^ ]+) ]] || exit 4
COLUMNS=200 COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9
COMP_POINT=${#COMP_LINE}
"${BASH_REMATCH[1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
`

// TestBashCompletes: a real bash offers commands, flags, values of flags, and names from files.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	script := inFile(t, "completion", run(t, "clusterctl-windows", "completion", "bash").out)
	file := inFile(t, "pools.yaml", pools(3))
	for line, want := range map[string][]string{
		"":                                   {"addons", "check", "completion", "help", "plan", "render", "smoke", "version"},
		"pl":                                 {"plan"},
		"check ":                             {"azure", "vsphere"},
		"help ch":                            {"check"},
		"completion ":                        {"bash", "fish", "powershell", "zsh"},
		"plan --ma":                          {"--machine"},
		"render --":                          {"--filename", "--help", "--machine", "--namespace", "--output", "--show-secrets"},
		"check azure -f x -o ":               {"json", "name", "yaml"},
		"plan -f " + file + " --machine ":    {"pool-1-1", "pool-2-1", "pool-3-1"},
		"plan -f /does/not/exist --machine ": {},
	} {
		words := strings.Split(line, " ")
		arguments := append([]string{"--norc", "-c", pressTab, "bash", script, "clusterctl-windows"}, words...)
		command := exec.CommandContext(t.Context(), bash, arguments...)
		command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", line, err, output)
			continue
		}
		expect.Same(t, line, want, offered(string(output)))
	}
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
	expect.Same(t, "kubectl capwin check <Tab>", []string{"azure", "vsphere"}, offered(kubectl("__complete", "capwin", "check", "")))
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

// TestOtherShells: each script is one for its shell, and names the program. Where there is the shell, it takes the script.
func TestOtherShells(t *testing.T) {
	for shell, c := range map[string]struct {
		begin, program string
		check          []string
	}{
		"zsh":        {"#compdef clusterctl-windows\n", "zsh", []string{"-n"}},
		"fish":       {"# fish completion for clusterctl-windows ", "fish", []string{"--no-execute"}},
		"powershell": {"# powershell completion for clusterctl-windows ", "pwsh", []string{"-NoProfile", "-File"}},
		"bash":       {"# bash completion V2 for clusterctl-windows ", "bash", []string{"-n"}},
	} {
		got := run(t, "clusterctl-windows", "completion", shell)
		if got.code != 0 || !strings.HasPrefix(got.out, c.begin) || strings.Count(got.out, "\n") < 100 {
			t.Errorf("%s: exit code %d, and the script begins with %.100q", shell, got.code, got.out)
		}
		if _, err := exec.LookPath(c.program); err != nil {
			t.Logf("%s is not here to take its script", c.program)
			continue
		}
		script := inFile(t, "completion.ps1", got.out)
		if output, err := exec.CommandContext(t.Context(), c.program, append(c.check, script)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, output)
		}
	}
}
