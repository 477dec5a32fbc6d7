// Package security tries what a tenant, a guest, a vCenter or a workload cluster can do to take more than it was given. Each try
// is an attack with a verdict. `make test` tries the first of each kind, and `make test-security` all; both print them.
package security

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// attack is one try. It runs as a subtest of its own, beside others. Its line in the list is a sentence with its outcome:
// "tenant reads a file of the manager through user.tokenFile: refused: KubeconfigRefused".
type attack struct {
	// by is who tries: one of parties.
	by string
	// tries is what they do, in the present tense, and what they would gain, if that is not plain. No two attacks of a party
	// have the same words.
	tries string
	// try does it, fails the test if they gain anything, and says what came of it.
	try func(t *testing.T) (verdict string)
}

// parties are who tries. An account is a stolen token of one of our managers; the network is a host that answers in another's
// place; an operator does by mistake what would show a secret.
var parties = []string{
	"bootstrap account", "guest", "infrastructure account", "network", "node user", "operator", "tenant", "vCenter", "vCenter user",
	"workload cluster",
}

// attempt runs attacks and notes their verdicts.
func attempt(t *testing.T, attacks ...attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.by+" "+a.tries, func(t *testing.T) {
			if !slices.Contains(parties, a.by) {
				t.Errorf("%q is not one of the parties %q", a.by, parties)
			}
			verdict := a.try(t)
			switch {
			case verdict == "":
				t.Error("the attack has no verdict")
			case !t.Failed():
				verdicts.add(a.by, a.tries, verdict)
			}
		})
	}
}

var everyAttack = flag.Bool("all", false, "try all attacks, and not the first of each kind alone")

// attemptKind runs attacks that differ in little: the first, or all of them with -all.
func attemptKind(t *testing.T, attacks ...attack) {
	t.Helper()
	if !*everyAttack {
		attacks = attacks[:1]
	}
	attempt(t, attacks...)
}

// together are these attacks, beside each other and beside those of other tests.
func together(attacks ...attack) []attack {
	for i, a := range attacks {
		attacks[i].try = func(t *testing.T) string {
			t.Parallel()
			return a.try(t)
		}
	}
	return attacks
}

// verdicts are of all attacks that gained nothing.
var verdicts report

type report struct {
	mu       sync.Mutex
	attacks  []string
	outcomes []string
}

func (r *report) add(by, tries, verdict string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := fmt.Sprintf("%-22s %s", by, tries)
	r.attacks = append(r.attacks, name)
	r.outcomes = append(r.outcomes, name+": "+verdict)
}

// print lists the attacks, sorted by who tried.
func (r *report) print(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.outcomes)
	fmt.Fprintf(out, "%s\n%d attacks tried, none gained anything\n", strings.Join(r.outcomes, "\n"), len(r.outcomes))
}

// leastAttacks is how many a whole run must have, and leastOfKinds one without -all. Tests that are lost, or skipped, would pass
// unnoticed.
const (
	leastAttacks = 689
	leastOfKinds = 501
)

// check says what is wrong with the list of a whole run.
func (r *report) check(least int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []error
	if n := len(r.attacks); n < least {
		wrong = append(wrong, fmt.Errorf("%d attacks were tried, want at least %d", n, least))
	}
	slices.Sort(r.attacks)
	for i, name := range r.attacks {
		if i > 0 && name == r.attacks[i-1] {
			wrong = append(wrong, fmt.Errorf("two attacks have the same words: %s", name))
		}
	}
	return errors.Join(wrong...)
}

// wholeRun says whether all tests of the package ran, and once.
func wholeRun() bool {
	set := func(name, value string) bool { return flag.Lookup(name).Value.String() == value }
	return !testing.Short() && set("test.run", "") && set("test.skip", "") && set("test.list", "") && set("test.count", "1")
}
