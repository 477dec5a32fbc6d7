package security

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The list has each attack once, and says how many there were.
func TestReport(t *testing.T) {
	var r report
	r.add("tenant", "reads a file", "refused")
	r.add("guest", "lies", "nothing happens")
	var printed strings.Builder
	r.print(&printed)
	expect.Same(t, "list of attacks", "guest                  lies: nothing happens\ntenant                 reads a file: refused\n"+
		"2 attacks tried, none gained anything\n", printed.String())
}

func TestCheck(t *testing.T) {
	var r report
	for i := range leastAttacks - 1 {
		r.add("tenant", fmt.Sprint("tries ", i), "refused")
	}
	expect.Says(t, "too few", r.check(leastAttacks), "688 attacks were tried, want at least 689")
	r.add("tenant", "tries 7", "nothing happens")
	expect.Says(t, "one of them twice", r.check(leastAttacks), "two attacks have the same words: tenant                 tries 7")
	var whole report
	for i := range leastAttacks {
		whole.add("tenant", fmt.Sprint("tries ", i), "refused")
	}
	expect.OK(t, whole.check(leastAttacks))
}
