// Package proved has what the matrices share that hold our promises against bad luck: the flag -proved, with which
// `make test-proved` runs all their rows, and the clocks of managers. Without the flag a matrix runs one row or a few, so that CI
// takes no longer. Beside it are the faults that `make test-proof-mutants` tries, and what holds their table to the code.
package proved

import (
	"flag"
	"slices"
	"time"
)

var all = flag.Bool("proved", false, "run all rows of the matrices, and not one of each")

// All says whether all rows run. Ask when the flags are parsed, in a test.
func All() bool { return *all }

// Clocks are by how much the manager's clock is ahead of all others. The one that runs alone looks right to people.
func Clocks() []time.Duration {
	return Rows([]time.Duration{-5 * time.Second, -time.Hour, -5 * time.Minute, 5 * time.Minute, time.Hour}, 1)
}

// Rows are those that run: all of them, or the first.
func Rows[R any](rows []R, first int) []R {
	if All() {
		return rows
	}
	return slices.Clone(rows[:min(first, len(rows))])
}

// Clock is a clock that is ahead of ours.
func Clock(ahead time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(ahead) }
}
