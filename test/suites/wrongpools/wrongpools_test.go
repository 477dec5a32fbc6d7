package wrongpools

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// pools is how many there are; their number only grows.
const pools = 147

// internals are what nobody should read who wrote YAML: types of Go, and patterns.
var internals = regexp.MustCompile(`\b(objects|plan|json|v1|v1beta[12])\.[A-Z]|Go (value|struct)|` +
	`should match|regex|\[\^|%!|interface \{`)

// Each wrong pool is refused by one sentence, which names the field, what stands there, and what to write.
func TestWrongPools(t *testing.T) {
	understood := map[int]bool{}
	note := func(c Case, well bool) {
		before, seen := understood[c.Pool]
		understood[c.Pool] = well && (before || !seen)
	}
	for _, c := range Cases {
		_, err := planned(t, expect.Got(c.Text())(t))
		if err == nil {
			t.Errorf("pool %d: taken, with %q", c.Pool, c.New)
			note(c, false)
			continue
		}
		note(c, says(t, c, err.Error()))
	}
	for _, c := range Noted {
		notes, err := planned(t, expect.Got(c.Text())(t))
		if err != nil {
			t.Errorf("pool %d: refused, which a cluster may take: %v", c.Pool, err)
		}
		best := ""
		for _, one := range notes {
			if best == "" || len(c.Missed(one)) < len(c.Missed(best)) {
				best = one
			}
		}
		note(c, says(t, c, best))
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

// Of these nothing is said, and each has its reason.
func TestSilentPools(t *testing.T) {
	good := map[string][]string{}
	for _, cloud := range []string{VSphere, Azure} {
		good[cloud] = expect.Got(planned(t, Good(cloud)))(t)
	}
	for _, c := range Silent {
		notes, err := planned(t, expect.Got(c.Text())(t))
		if err != nil || len(notes) != len(good[c.Cloud]) {
			t.Errorf("pool %d: want no word, because %s; got %v, %q", c.Pool, c.Why, err, notes)
		}
	}
}

// Nothing is wrong with the pools that the others are made of.
func TestGoodPools(t *testing.T) {
	for _, cloud := range []string{VSphere, Azure} {
		if _, err := planned(t, Good(cloud)); err != nil {
			t.Errorf("%s: %v", cloud, err)
		}
	}
}

// says whether it is one sentence that says all it must.
func says(t *testing.T, c Case, sentence string) bool {
	t.Helper()
	t.Logf("pool %d: %s", c.Pool, sentence)
	missed := c.Missed(sentence)
	if len(missed) > 0 || strings.Contains(sentence, "\n") || internals.MatchString(sentence) {
		t.Errorf("pool %d: not one sentence, or without %q: %s", c.Pool, missed, sentence)
		return false
	}
	return true
}

// planned does what plan does, up to what it prints.
func planned(t *testing.T, text string) (notes []string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pool.yaml")
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	found, err := objects.Read([]string{file}, "default", nil)
	if err != nil {
		return nil, err
	}
	m, err := preview.Gather(found, "prod-windows-x7k2p-q9d4t")
	if err != nil {
		return nil, err
	}
	return m.Notes, nil
}
