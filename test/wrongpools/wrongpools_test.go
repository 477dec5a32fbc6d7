package wrongpools

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// pools is how many there are; their number only grows.
const pools = 50

// internals are what nobody should read who wrote YAML: types of Go, and patterns.
var internals = regexp.MustCompile(`\b(objects|plan|json|v1|v1beta[12])\.[A-Z]|Go (value|struct)|should match|regex|\[\^|%!|interface \{`)

// Each wrong pool is refused by one sentence, which names the field, what stands there, and what to write.
func TestWrongPools(t *testing.T) {
	understood := map[int]bool{}
	for _, c := range Cases {
		if _, seen := understood[c.Pool]; !seen {
			understood[c.Pool] = true
		}
		err := planned(t, expect.Got(c.Text())(t))
		if err == nil {
			t.Errorf("pool %d: taken, with %q", c.Pool, c.New)
			understood[c.Pool] = false
			continue
		}
		sentence := err.Error()
		t.Logf("pool %d: %s", c.Pool, sentence)
		if missed := c.Missed(sentence); len(missed) > 0 || strings.Contains(sentence, "\n") || internals.MatchString(sentence) {
			t.Errorf("pool %d: not one sentence, or without %q: %s", c.Pool, missed, sentence)
			understood[c.Pool] = false
		}
	}
	good := 0
	for _, well := range understood {
		if well {
			good++
		}
	}
	t.Logf("wrong pools understood: %d of %d", good, len(understood))
	if len(understood) < pools {
		t.Errorf("want %d wrong pools, there are %d", pools, len(understood))
	}
}

// Nothing is wrong with the pools that the others are made of.
func TestGoodPools(t *testing.T) {
	for _, cloud := range []string{VSphere, Azure} {
		if err := planned(t, Good(cloud)); err != nil {
			t.Errorf("%s: %v", cloud, err)
		}
	}
}

// planned does what plan does, up to what it prints.
func planned(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pool.yaml")
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	found, err := objects.Read([]string{file}, "default", nil)
	if err == nil {
		_, err = preview.Gather(found, "prod-windows-x7k2p-q9d4t")
	}
	return err
}
