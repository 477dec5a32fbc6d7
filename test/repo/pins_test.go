package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// pins are the releases and commits of CNIs that pages have users apply and that code follows, with their dates. Who renews one
// looks at the others.
var pins = map[string]string{
	"antrea-io/antrea v2.7.0":       "2026-08-15",
	"flannel-io/cni-plugin 092e6d2": "2026-05-18",
	"flannel-io/cni-plugin v1.9.1":  "2026-04-15",
	"flannel-io/flannel cdf7605":    "2026-08-14",
	"flannel-io/flannel v0.28.9":    "2026-08-07",
	"projectcalico/calico 87c1590":  "2026-08-22",
	"projectcalico/calico v3.32.1":  "2026-06-24",
	"tigera/operator 40788b9":       "2026-08-21",
	"tigera/operator v1.42.4":       "2026-07-04",
}

// pinned is such a project with a release, or with the first digits of a commit, in an address and in a comment.
var pinned = regexp.MustCompile(`(antrea-io/antrea|flannel-io/(?:flannel|cni-plugin)|projectcalico/calico|tigera/operator)` +
	`(?:/(?:blob|tree|releases/download)/|\s(?://\s)?)(v\d+\.\d+\.\d+|[0-9a-f]{7})`)

// oldestMonths is how much older than the newest pin another one may be. The newest pin counts and not today: no release of ours
// turns red because time has passed.
const oldestMonths = 18

func TestPinsOfCNIs(t *testing.T) {
	var files []string
	for _, pattern := range []string{
		"../../docs/*.md", "../../docs/contributing/*.md", "../../bootstrap/network/*.go", "../sim/cni/*.go", "../sim/pods/manifests/*",
	} {
		files = append(files, expect.Got(filepath.Glob(pattern))(t)...)
	}
	used := map[string]bool{}
	for _, file := range files {
		for _, found := range pinned.FindAllStringSubmatch(string(expect.Got(os.ReadFile(file))(t)), -1) {
			pin := found[1] + " " + found[2]
			if used[pin] = true; pins[pin] == "" {
				t.Errorf("%s has %s, whose date is not in pins", file, pin)
			}
		}
	}
	var dates []time.Time
	for pin, date := range pins {
		dates = append(dates, expect.Got(time.Parse(time.DateOnly, date))(t))
		if !used[pin] {
			t.Errorf("nothing has %s any more", pin)
		}
	}
	limit := slices.MaxFunc(dates, time.Time.Compare).AddDate(0, -oldestMonths, 0)
	for pin, date := range pins {
		if date < limit.Format(time.DateOnly) {
			t.Errorf("%s is of %s, more than %d months before the newest: look what upstream has now", pin, date, oldestMonths)
		}
	}
}
