package security

import (
	"fmt"
	"os"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// shared is the real API server that the attacks play on.
var shared *world.World

func TestMain(m *testing.M) { world.Main(told{m}, &shared, 8) }

// told runs all tests, then prints what was tried, and fails if a whole run tried too little.
type told struct{ *testing.M }

// Run is called by world.Main while the servers run.
func (t told) Run() int {
	code := t.M.Run()
	verdicts.print(os.Stdout)
	if code != 0 || !wholeRun() {
		return code
	}
	least := leastOfKinds
	if *everyAttack {
		least = leastAttacks
	}
	if err := verdicts.check(least); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
