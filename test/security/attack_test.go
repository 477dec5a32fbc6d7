// Package security tries what a tenant, a guest, a vCenter or a workload cluster can do to take more than it was given. Each try
// is an attack with a verdict; `go test ./test/security -v` prints them all.
package security

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// attack is one try. It runs as a subtest of its own, beside others.
type attack struct {
	// by is who tries: "tenant", "guest", "vCenter", "workload cluster", "node user", "network" or "account", which is a
	// stolen token of one of our managers.
	by string
	// tries is what he does, and what he would gain: "reads a file of the manager through user.tokenFile".
	tries string
	// try does it, fails the test if he gains anything, and says what came of it: "refused: KubeconfigRefused".
	try func(t *testing.T) (verdict string)
}

// attempt runs attacks and notes their verdicts.
func attempt(t *testing.T, attacks ...attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.by+" "+a.tries, func(t *testing.T) {
			verdict := a.try(t)
			switch {
			case verdict == "":
				t.Error("the attack has no verdict")
			case !t.Failed():
				verdicts.add(fmt.Sprintf("%-16s %s: %s", a.by, a.tries, verdict))
			}
		})
	}
}

// verdicts are of all attacks that gained nothing.
var verdicts report

type report struct {
	mu    sync.Mutex
	lines []string
}

func (r *report) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// print lists the attacks, sorted by who tried.
func (r *report) print(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.lines)
	fmt.Fprintf(out, "%s\n%d attacks tried, none gained anything\n", strings.Join(r.lines, "\n"), len(r.lines))
}
