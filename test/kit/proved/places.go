package proved

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// WantPlaces fails if a fault of a table has not one place in its code any more, which the night would be the first to see. The
// files that the table names are under root.
func WantPlaces(t *testing.T, table, root string) {
	t.Helper()
	var row, code string
	places := 0
	for line := range strings.Lines(string(expect.Got(os.ReadFile(table))(t))) {
		verb, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verb {
		case "in":
			code = string(expect.Got(os.ReadFile(filepath.Join(root, text)))(t))
		case "row":
			row = text
		case "find":
			if n := strings.Count(code, text); n != 1 {
				t.Errorf("%s: its code has %d times, not once: %s", row, n, text)
			}
			places++
		}
	}
	expect.Same(t, "the table has places", true, places > 0)
}
