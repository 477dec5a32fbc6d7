package repo

import (
	"flag"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
)

var enteredRuns = flag.Int("entered.runs", 1, "how often each create runs; the run that enters most counts")

// controllersSide is the part of a create that is the same for all clouds.
var controllersSide = create{"./controllers/machine", "^TestOneCreate$"}

// creates are the clouds' parts, and how many lines one create enters in the cloud's rooms and the controllers' together. The
// goal is 4,100 for vSphere and 4,900 for Azure. A line that a new feature needs is a row in its comment, with the reason.
//
//   - 40 in both: a namespace's accounts are counted where one is opened, and no object that is not answered holds others.
//   - 155 in vSphere: what answers and inventories take counts for the namespace.
//   - 650 in Azure: what lists show is counted by namespace, and lists take turns.
var creates = []struct {
	cloud string
	side  create
	limit int
}{
	{"vSphere", create{"./internal/cloud/vsphere", "^TestContract$/^clock_-5s$/^a_running_VM_is_reported$"}, 4164},
	{"Azure", create{"./internal/cloud/azure", "^TestContract$/^clock_-5s$/^a_running_VM_is_reported$"}, 5178},
}

// enteredSlack is what may be more from run to run, as the order of what runs at once is the machine's: in percent.
const enteredSlack = 2

// create is a test in which one VM is made.
type create struct{ folder, test string }

// TestEntered: who follows one machine from its object to the cloud's call reads no more lines than that.
func TestEntered(t *testing.T) {
	stories.Begin(t)
	functions := functionsOfProduct(t)
	ours := controllersSide.entered(t, functions)
	for _, c := range creates {
		lines := c.side.entered(t, functions) + ours
		t.Logf("%s: one create enters %d lines, limit %d", c.cloud, lines, c.limit)
		if lines*100 > c.limit*(100+enteredSlack) {
			t.Errorf("%s: one create enters %d lines, want at most %d", c.cloud, lines, c.limit)
		}
	}
}

// piece is a function with its comment, from one line to another.
type piece struct{ first, last int }

// functionsOfProduct are those of each file.
func functionsOfProduct(t *testing.T) map[string][]piece {
	t.Helper()
	all := map[string][]piece{}
	for _, s := range sources(t) {
		if s.isTest || within(s.folder, besideProduct...) {
			continue
		}
		for _, declaration := range s.file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is {
				continue
			}
			p := piece{s.set.Position(f.Pos()).Line, s.set.Position(f.End()).Line}
			if f.Doc != nil {
				p.first = s.set.Position(f.Doc.Pos()).Line
			}
			all[s.path] = append(all[s.path], p)
		}
	}
	return all
}

// entered is how many lines the functions have that the test enters, and prints them by room.
func (c create) entered(t *testing.T, functions map[string][]piece) (most int) {
	t.Helper()
	for range *enteredRuns {
		rooms, lines, count := map[string]int{}, 0, 0
		for file, ran := range c.run(t) {
			for _, f := range functions[file] {
				if ran.within(f) {
					count++
					lines += f.last - f.first + 1
					rooms[path.Dir(file)] += f.last - f.first + 1
				}
			}
		}
		t.Logf("%s: %d lines in %d functions: %v", c.folder, lines, count, rooms)
		most = max(most, lines)
	}
	if most == 0 {
		t.Errorf("%s enters nothing", c.test)
	}
	return most
}

// blocks are pieces that ran.
type blocks []piece

func (b blocks) within(f piece) bool {
	for _, ran := range b {
		if ran.first <= f.last && ran.last >= f.first {
			return true
		}
	}
	return false
}

var covered = regexp.MustCompile(`^` + regexp.QuoteMeta(module) + `/(.+):(\d+)\.\d+,(\d+)\.\d+ \d+ [1-9]\d*$`)

// run runs the test with the coverage of all rooms that the manager has, and returns what ran, by file.
func (c create) run(t *testing.T) map[string]blocks {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", c.folder, "-run", c.test, "-v",
		"-coverpkg=./api/...,./bootstrap/...,./controllers/...,./internal/...", "-coverprofile="+profile)
	command.Dir = root
	printed, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "--- PASS") {
		t.Fatalf("%s: %v\n%s", c.test, err, printed)
	}
	ran := map[string]blocks{}
	for line := range strings.Lines(string(expect.Got(os.ReadFile(profile))(t))) {
		if m := covered.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			first, _ := strconv.Atoi(m[2]) // the expression has taken digits alone
			last, _ := strconv.Atoi(m[3])
			ran[m[1]] = append(ran[m[1]], piece{first, last})
		}
	}
	return ran
}
