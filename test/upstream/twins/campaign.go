package twins

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Campaign carries out many cases, each on both sides.
type Campaign struct {
	Seed uint64
	// First is the number of the first case.
	First, Count int
	// Nodes are PowerShells, one for each processor; Dirs are where the machines of each lie.
	Nodes []*Node
	Dirs  []string
	// Small is how many of the cases that differ are made small: the first of each place.
	Small int

	mu sync.Mutex
	// Tried counts the steps of each kind that both have carried out, Met what happened to plans, Known the known differences.
	Tried, Met, Known map[string]int
	// Differ are the cases that differ, those that were made small first. Failed are errors of the test itself.
	Differ []*Verdict
	Failed []error
	places map[string]bool
}

// Run ends when all cases have been carried out.
func (c *Campaign) Run() {
	c.Tried, c.Met, c.Known, c.places = map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	numbers := make(chan int)
	var all sync.WaitGroup
	for i, node := range c.Nodes {
		all.Go(func() { c.work(NewPair(node, c.Dirs[i]), numbers) })
	}
	for number := range c.Count {
		numbers <- c.First + number
	}
	close(numbers)
	all.Wait()
	slices.SortStableFunc(c.Differ, func(a, b *Verdict) int { return strings.Compare(place(a.New[0]), place(b.New[0])) })
}

func (c *Campaign) work(pair *Pair, numbers <-chan int) {
	for number := range numbers {
		v, err := pair.Run(Generate(c.Seed, number))
		if err == nil && c.isFirst(v) {
			v, err = Shrink(v, pair.Run, tries)
		}
		c.add(v, err)
	}
}

// tries are the runs that make a case small.
const tries = 300

// isFirst says that a case is worth to be made small. One without an end is not: each of its tries would take as long.
func (c *Campaign) isFirst(v *Verdict) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(v)
	if len(v.New) == 0 || v.Node["died"] == noEnd || c.places[place(v.New[0])] || len(c.places) >= c.Small {
		return false
	}
	c.places[place(v.New[0])] = true
	return true
}

func (c *Campaign) add(v *Verdict, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.Failed = append(c.Failed, err)
	case len(v.New) > 0:
		c.Differ = append(c.Differ, v)
	}
}

var attempt = regexp.MustCompile(`^(\w+) \S+, attempt 1 of \d+$`)

func (c *Campaign) count(v *Verdict) {
	log, _ := v.Lab["log"].([]any)
	for _, line := range log {
		if found := attempt.FindStringSubmatch(line.(string)); found != nil {
			c.Tried[found[1]]++
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(v.Known))) {
		c.Known[name]++
	}
	for name, met := range v.met() {
		if met {
			c.Met[name]++
		}
	}
}

// met is what happened while a plan was carried out: a test that never sees it shows nothing of it.
func (v *Verdict) met() map[string]bool {
	report, _ := v.Lab["report"].(tree)
	effects := encode(v.Lab["effects"])
	told := encode(report) + encode(v.Lab["log"])
	_, later := v.Case.World["starts"]
	_, boot := report["boot"]
	behind := len(phasesOf(v.Case.Plan, "background")) > 0 && report["state"] == "Succeeded"
	return map[string]bool{
		"succeeded": report["state"] == "Succeeded", "failed": report["state"] == "Failed",
		"timed out": strings.Contains(told, "the deadline of"), "hung": strings.Contains(told, "Windows has not answered"),
		"threw": v.threw(told), "rebooted": strings.Contains(effects, "shutdown.exe"), "started later": later && boot,
		"hid secrets": strings.Contains(told, "[redacted]"), "warned": strings.Contains(encode(report), `"warnings":["`),
		"Turkish":        v.Case.Culture != "",
		"collected logs": len(v.Lab["zips"].(tree)) > 0, "ran behind": behind,
		"had the disk of another machine": strings.Contains(told, "the disk of another machine"),
	}
}

func (v *Verdict) threw(told string) bool {
	throws, _ := v.Case.World["throws"].(tree)
	for door := range throws {
		if strings.Contains(told, strings.Trim(encode(door), `"`)+": ") {
			return true
		}
	}
	return false
}

// listed shows counts in the order of their names.
func listed(counts map[string]int) string {
	all := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}
