package twins

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// knownLength is how many differences are known. It only becomes smaller.
const knownLength = 2

// TestTwins carries out as many plans as the variable TWINS says, of the seed SEED, from FIRST on: make test-twins.
func TestTwins(t *testing.T) {
	count := variable(t, "TWINS")
	if count == 0 {
		t.Skip("TWINS says how many plans both interpreters are to carry out: make test-twins")
	}
	c := &Campaign{Seed: uint64(max(0, variable(t, "SEED"))), First: variable(t, "FIRST"), Count: count, Small: 6}
	for range runtime.NumCPU() {
		c.Nodes, c.Dirs = append(c.Nodes, startNode(t, "../../..")), append(c.Dirs, t.TempDir())
	}
	begin := time.Now()
	c.Run()
	t.Logf("seed %d: %d plans in %.0f s, %d differ", c.Seed, count, time.Since(begin).Seconds(), len(c.Differ))
	t.Logf("steps tried: %s", listed(c.Tried))
	t.Logf("of the plans: %s", listed(c.Met))
	t.Logf("known differences: %s", listed(c.Known))
	for _, kind := range kinds {
		if least := 30 * count / 1000; c.Tried[kind.name] < least {
			t.Errorf("%s was tried %d times, at least %d are wanted", kind.name, c.Tried[kind.name], least)
		}
	}
	c.tell(t)
}

// tell shows those that were made small, and of the others where they are.
func (c *Campaign) tell(t *testing.T) {
	t.Helper()
	for _, err := range c.Failed {
		t.Error(err)
	}
	told := map[string]bool{}
	for _, v := range c.Differ {
		if at := place(v.New[0]); told[at] {
			t.Errorf("seed %d, plan %d: another at %s", v.Case.Seed, v.Case.Number, at)
		} else {
			told[at] = true
			t.Error(v)
			if c.Count == 1 {
				t.Logf("in the lab:\n%v\non the node:\n%v", v.Lab, v.Node)
			}
		}
	}
}

func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	if len(knownDifferences) != knownLength {
		t.Errorf("%d differences are known, %d are pinned: the list only becomes shorter", len(knownDifferences), knownLength)
	}
	for _, one := range knownDifferences {
		if one.name == "" || one.reason == "" {
			t.Errorf("a known difference without a name or a reason: %+v", one.name)
		}
	}
}

// TestPlanted: a script that is wrong in one line differs.
func TestPlanted(t *testing.T) {
	t.Parallel()
	plan := tree{
		"version": number1, "report": []any{},
		"machine": tree{"namespace": "ns", "name": "m", "uid": "u", "node": "n", "cluster": "c"},
		"phases": []any{tree{"name": "main", "steps": []any{
			tree{"do": "file", "name": "f", "path": `C:\k\a.txt`, "text": "ü"},
			tree{"do": "check", "name": "c", "fact": "cpus", "is": "9", "say": []any{"there are ", tree{"fact": "cpus"}}},
		}}},
	}
	c := &Case{World: tree{}, Plan: plan}
	expect.OK(t, check(c.Plan))
	for name, test := range map[string]struct {
		change map[string]string
		differ bool
	}{
		"as it is": {},
		"one line": {
			change: map[string]string{"function Invoke-CheckStep($Step) {": "function Invoke-CheckStep($Step) { return"},
			differ: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := expect.Got(NewPair(startNode(t, changedTree(t, test.change)), t.TempDir()).Run(c))(t)
			if differs := len(v.New) > 0; differs != test.differ {
				t.Errorf("differs: %t, %v", differs, v.New)
			}
		})
	}
}

// changedTree is a copy of the scripts and their stand-ins with other texts in steps.ps1.
func changedTree(t *testing.T, change map[string]string) string {
	t.Helper()
	made := t.TempDir()
	for _, folder := range []string{"bootstrap/scripts", "test/upstream/powershell", "test/upstream/twins"} {
		expect.OK(t, os.CopyFS(filepath.Join(made, folder), os.DirFS("../../../"+folder)))
	}
	file := made + "/bootstrap/scripts/steps.ps1"
	text := string(expect.Got(os.ReadFile(file))(t))
	for from, to := range change {
		text = replaceOnce(t, text, from, to)
	}
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return made
}

func startNode(t *testing.T, repository string) *Node {
	t.Helper()
	shell := PowerShell()
	if shell == "" {
		t.Skip("left out: there is no PowerShell 7 (no pwsh on PATH, and PWSH is not set)")
	}
	node := expect.Got(StartNode(shell, expect.Got(filepath.Abs(repository))(t)))(t)
	t.Cleanup(func() { expect.Fine(t, node.Close()) })
	return node
}

func variable(t *testing.T, name string) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	return expect.Got(strconv.Atoi(text))(t)
}
