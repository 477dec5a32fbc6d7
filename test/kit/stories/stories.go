// Package stories parts long tests from the others. A story goes a whole way with real programs, and what it holds is held in
// short by other tests; so no change waits for all of them.
package stories

import (
	"hash/fnv"
	"os"
	"testing"
)

// variable says which stories run: "none", a commit for that third of them which its hash draws, or all if it is empty or "all".
// So `go test -run TestTutorial` runs it, make test runs none, and make verify runs others after each commit.
const variable = "STORIES"

// parts is of how many parts a commit draws one.
const parts = 3

// Begin skips a story that this run has not.
func Begin(t testing.TB) {
	t.Helper()
	if !Runs(t.Name()) {
		t.Skip("a story: make stories runs all, and make verify a third of them")
	}
}

// Runs says whether this run has the story of a test, for packages that start servers for it.
func Runs(name string) bool { return drawn(os.Getenv(variable), name) }

func drawn(commit, name string) bool {
	switch commit {
	case "", "all":
		return true
	case "none":
		return false
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(commit + " " + name))
	return sum.Sum32()%parts == 0
}
