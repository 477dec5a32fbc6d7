package machines

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A part is a tenth of failures, throws and kills, by the day's seed.
const (
	partOfThem = "part"
	allOfThem  = "all"
)

var (
	lives = flag.String("lives", "", "live the lives of all machines; with part or all of the failures, throws and kills")
	seed  = flag.Uint64("seed", 0, "which part; 0 is the day's")
	only  = flag.String("only", "", "the machine of this name alone")
)

const (
	allKills     = 40
	oneOf        = 10
	allProcesses = 12 // machines that live in processes of their own as well
)

// campaign is one run of it all.
type campaign struct {
	t       *testing.T
	shell   string
	folder  string
	workers chan *worker
	seed    uint64
	all     bool

	mu     sync.Mutex
	counts map[string]int
}

// TestMachines is left out of `go test ./...`: make test-machines and make test-machines-short run it.
func TestMachines(t *testing.T) {
	if *lives == "" {
		t.Skip("make test-machines-short lives the lives of the machines")
	}
	c := newCampaign(t)
	begin := time.Now()
	all := c.machines()
	chosen := c.choose(all)
	c.each(len(all), func(i int) { c.liveAndFail(all[i], chosen[all[i].Name]) })
	order := c.random("processes").Perm(len(all))
	c.each(min(c.share(allProcesses), len(all)), func(i int) { c.liveInProcesses(all[order[i]]) })
	c.sum(all, time.Since(begin))
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UTC().Unix() / 86400) //nolint:gosec // because days are not negative
	}
	c := &campaign{
		t: t, shell: shell(t), folder: t.TempDir(), workers: make(chan *worker, runtime.NumCPU()), all: *lives == allOfThem,
		seed: number, counts: map[string]int{},
	}
	for range cap(c.workers) {
		c.workers <- newWorker(t, c.shell)
	}
	fmt.Printf("test-machines: -lives=%s -seed=%d\n", *lives, number)
	return c
}

// shell is what run.sh has found.
func shell(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PWSH")
	if path == "" {
		t.Fatal("PWSH is not set; make test-machines finds a PowerShell")
	}
	return path
}

func (c *campaign) machines() []Machine {
	c.t.Helper()
	all := slices.Concat(expect.Got(Golden(repository))(c.t), expect.Got(Generated(repository))(c.t))
	return slices.DeleteFunc(all, func(m Machine) bool { return *only != "" && m.Name != *only })
}

// choose draws the machines whose programs fail, whose commands throw, and whose power goes, each with the numbers of its kills.
func (c *campaign) choose(all []Machine) map[string][]int {
	chosen := map[string][]int{}
	order := c.random("machines").Perm(len(all))[:c.share(len(all))]
	for _, i := range order {
		chosen[all[i].Name] = []int{}
	}
	for number := range c.share(allKills) {
		name := all[order[number%len(order)]].Name
		chosen[name] = append(chosen[name], number)
	}
	return chosen
}

// share is the part of so many.
func (c *campaign) share(count int) int {
	if c.all || count == 0 {
		return count
	}
	return max(1, count/oneOf)
}

// random is for one purpose, the same in each run with this seed, in whatever order goroutines ask.
func (c *campaign) random(purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed, uint64(draw(purpose, 1<<31))))
}

// each does so many things, as many at a time as there are workers.
func (c *campaign) each(count int, do func(int)) {
	var group sync.WaitGroup
	turns := make(chan struct{}, cap(c.workers))
	for i := range count {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			do(i)
		})
	}
	group.Wait()
}

// run has a worker do a job, which is for something. A worker that has ended is replaced.
func (c *campaign) run(what string, one job, keep func(place) bool) error {
	w := <-c.workers
	err := w.do(one, keep)
	c.count(what+" ms", w.spent)
	if err != nil {
		_ = w.command.Process.Kill()
		w = newWorker(c.t, c.shell)
	}
	c.workers <- w
	return err
}

func (c *campaign) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *campaign) sum(all []Machine, took time.Duration) {
	c.t.Helper()
	used, wanted := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		into := wanted
		if len(m.Traits) > 0 {
			into = used
		}
		maps.Copy(into, expect.Got(fieldsOf(m.Plan))(c.t))
	}
	fmt.Printf("test-machines: %d machines lived, %d in processes of their own; "+
		"%d of %d fields of golden plans used by generated ones; "+
		"%d run steps failed; %d throws (%d ended Succeeded, %d Failed); %d kills; leaks %d; %.0f s, %.1f minutes\n"+
		"test-machines: of the processors' time, %d s went into lives, %d into failures, %d into throws, %d into kills, "+
		"%d into processes\n",
		c.counts["lives"], c.counts["processes"], len(used), len(wanted), c.counts["failures"], c.counts["throws"],
		c.counts["throws Succeeded"], c.counts["throws Failed"], c.counts["kills"], c.counts["leaks"], took.Seconds(), took.Minutes(),
		c.seconds("lives"), c.seconds("failures"), c.seconds("throws"), c.seconds("kills"), c.seconds("processes"))
}

// base is the folder of a machine, and what is beside it.
func (c *campaign) base(m Machine, what string) string { return filepath.Join(c.folder, m.Name+what) }

func (c *campaign) seconds(what string) int { return c.counts[what+" ms"] / 1000 }
