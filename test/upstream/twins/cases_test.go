package twins

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCases carries out the plans of the folder cases, on which the two once differed. A case may name the known difference that
// it shows; all others show none.
func TestCases(t *testing.T) {
	t.Parallel()
	files := expect.Got(filepath.Glob("cases/*.json"))(t)
	if len(files) == 0 {
		t.Fatal("there are no cases")
	}
	pair := NewPair(startNode(t, "../../.."), t.TempDir())
	for _, file := range files {
		read := expect.Got(decode(expect.Got(os.ReadFile(file))(t)))(t).(tree)
		c := &Case{World: read["world"].(tree), Plan: read["plan"].(tree)}
		if err := check(c.Plan); err != nil {
			t.Errorf("%s: the plan is not allowed: %v", file, err)
		}
		v := expect.Got(pair.Run(c))(t)
		for _, d := range v.New {
			t.Errorf("%s: %s: %v", file, read["reason"], d)
		}
		for _, name := range v.Known {
			if name != read["known"] {
				t.Errorf("%s: a known difference, %q, which the case does not name", file, name)
			}
		}
		if read["known"] != nil && len(v.Known) == 0 {
			t.Errorf("%s: %q is known, and no difference any more: take it from the list", file, read["known"])
		}
	}
}
