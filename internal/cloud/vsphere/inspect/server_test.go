package inspect

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// TestVersion: what this release was not made for is told, and what is no vCenter is refused.
func TestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		about  func(*types.AboutInfo)
		result Result
		says   string
	}{
		"old":    {func(a *types.AboutInfo) { a.Version = "6.7.0" }, Warning, "vCenter 6.7.0 is older than 7.0"},
		"new":    {func(a *types.AboutInfo) { a.Version = "10.0.0" }, OK, "vCenter 10.0.0"},
		"a host": {func(a *types.AboutInfo) { a.ApiType = "HostAgent" }, Failed, "an ESXi host, not a vCenter"},
	} {
		about := types.AboutInfo{ApiType: "VirtualCenter", Version: "8.0.3"}
		c.about(&about)
		if result, says := version(about); result != c.result || !strings.Contains(says, c.says) {
			t.Errorf("%s: %s %q", name, result, says)
		}
	}
}
