package security

import (
	"os"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// shared is the real API server that the attacks play on.
var shared *world.World

func TestMain(m *testing.M) { world.Main(told{m}, &shared, 8) }

// told runs all tests and then prints what was tried.
type told struct{ *testing.M }

// Run is called by world.Main while the servers run.
func (t told) Run() int {
	code := t.M.Run()
	verdicts.print(os.Stdout)
	return code
}
