package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The quick start ends with a link to docs/day-two.md, and all names in the commands of that page are set by then.
func TestQuickStartSetsNamesOfDayTwo(t *testing.T) {
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "quick-start.md")))(t))
	next := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "day-two.md")))(t))
	for _, name := range []string{"CLUSTER", "NAMESPACE", "KUBERNETES_VERSION"} {
		if strings.Contains(next, "$"+name) && !strings.Contains(page, name+"=") {
			t.Errorf("docs/day-two.md uses %s, which docs/quick-start.md does not set", name)
		}
	}
}
