package security

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// The list has each attack once, and says how many there were.
func TestReport(t *testing.T) {
	var r report
	r.add("tenant reads a file: refused")
	r.add("guest lies: nothing happens")
	var printed strings.Builder
	r.print(&printed)
	expect.Same(t, "list of attacks",
		"guest lies: nothing happens\ntenant reads a file: refused\n2 attacks tried, none gained anything\n", printed.String())
}
