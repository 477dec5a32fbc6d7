package inspect

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCovers compares actions as Azure does.
func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, action string
		want            bool
	}{
		{"*", "Microsoft.Compute/disks/read", true},
		{"*/read", "Microsoft.Compute/disks/read", true},
		{"*/read", "Microsoft.Compute/disks/write", false},
		{"microsoft.compute/DISKS/*", "Microsoft.Compute/disks/delete", true},
		{"Microsoft.Compute/disks", "Microsoft.Compute/disks/read", false},
		{"Microsoft-Compute/disks/read", "Microsoft.Compute/disks/read", false},
		{"Microsoft.Compute/disks/r(", "Microsoft.Compute/disks/read", false},
	} {
		if got := covers([]string{"other", c.pattern}, c.action); got != c.want {
			t.Errorf("%s covers %s: %v", c.pattern, c.action, got)
		}
	}
	denied := []permission{{Actions: []string{"*"}, NotActions: []string{"Microsoft.Compute/*/delete"}}}
	const read, remove = "Microsoft.Compute/disks/read", "Microsoft.Compute/disks/delete"
	expect.Same(t, "what a role leaves out", []string{remove}, unmet(denied, []string{read, remove}))
}
