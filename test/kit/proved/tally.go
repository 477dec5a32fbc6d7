package proved

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// Tally counts what came of the rows of a matrix. `make test-proved` adds up all of them, and fails if anything but Rows is not
// 0, or Excused is more than 1.
type Tally struct {
	Rows atomic.Int32
	// ForeignDeleted and ForeignShown are VMs, and what belongs to them, of others than the machine.
	ForeignDeleted, ForeignShown atomic.Int32
	// LetGo are machines that were let go, or called vanished, while their VM was there.
	LetGo atomic.Int32
	// SecondVMs are those that were made although the machine had one.
	SecondVMs atomic.Int32
	// Excused are rows of which no account can know.
	Excused atomic.Int32
}

// Log prints the tally of a matrix, for the sum.
func (n *Tally) Log(t testing.TB, matrix string) {
	t.Helper()
	t.Logf("proved: %s: rows %d, foreign deleted %d, foreign shown %d, let go %d, second VMs %d, excused %d", matrix,
		n.Rows.Load(), n.ForeignDeleted.Load(), n.ForeignShown.Load(), n.LetGo.Load(), n.SecondVMs.Load(), n.Excused.Load())
}

// Fail counts something that must not be, and fails the test.
func Fail(t testing.TB, what *atomic.Int32, format string, args ...any) {
	t.Helper()
	what.Add(1)
	t.Errorf("%s", fmt.Sprintf(format, args...))
}
