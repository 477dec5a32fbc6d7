package crowd

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

var (
	chosen = flag.String("parties", "", "parties of TestParties, with commas: each alone; \"all\" are all, and then together")
	part   = flag.Int("part", 1, "by which the numbers of TestParties are divided")
	honest = flag.Int("honest", 50, "honest machines of TestParties, in both clouds together")
	acting = flag.Duration("acting", 90*time.Second, "how long a party of TestParties acts at least")
	// longest is the time after which a machine counts as one that never is Ready.
	longest = flag.Duration("longest", 15*time.Minute, "how long TestParties waits for honest machines")
)

// together is the name of all parties at once.
const together = "together"

const (
	// mostMemory is what a manager may take beside any party. Its Deployment allows twice as much.
	mostMemory = 512 << 20
	// noise is what the computer alone may make of the time of honest machines. In Azure they are seen each 15 seconds.
	noise = 45 * time.Second
)

// figures are those of a row of the table.
type figures struct {
	name         string
	alone, among stay
	removed      time.Duration // all honest machines
	parties      []*party
	work         map[string]time.Duration // of the processor, by component
	ended        []string                 // components that did not run to the end

	mu   sync.Mutex
	peak map[string]int // bytes, by component
}

// TestParties prints what each party takes from honest machines, and from the managers, and all of them together.
func TestParties(t *testing.T) {
	if *chosen == "" {
		t.Skip("takes an hour: run `make bench-hostile`")
	}
	names := strings.Split(*chosen, ",")
	if *chosen == "all" {
		names = append(slices.Sorted(maps.Keys(parties)), together)
	}
	var rows []*figures
	for _, name := range names {
		t.Run(name, func(t *testing.T) { rows = append(rows, measure(t, name)) })
	}
	t.Log("\n" + table(rows))
}

// measure has honest machines live without a party and beside it, in a world of their own with new managers.
func measure(t *testing.T, name string) *figures {
	t.Helper()
	begin := parties[name].begin
	if name == together {
		begin = everybody
	} else if begin == nil {
		t.Fatalf("there is no party %s: they are %v", name, slices.Sorted(maps.Keys(parties)))
	}
	shared = world.Own(t)
	t.Cleanup(func() { shared = nil })
	expect.OK(t, servers.InstallCAPZ(t.Context(), shared.Management))
	file := filepath.Join(t.TempDir(), "clouds.json")
	expect.OK(t, startAzure(t).WriteFile(file, azureCloud))
	arguments := []string{"--azure-clouds=" + file, "--azure-cloud=" + azureCloud}
	arguments = append(arguments, parties[name].arguments...)
	managers := expect.Got(servers.StartManagers(t.Context(), shared.Management, arguments...))(t)
	f := &figures{name: name, peak: map[string]int{}, work: map[string]time.Duration{}}
	withoutPause(t, time.Second, func(context.Context, int) { f.weigh(managers) })

	r := settle(t)
	f.alone = r.add(t, "alone", *honest)
	t.Logf("alone: Ready in %s", f.alone)
	ctx, cancel := context.WithTimeout(t.Context(), *acting)
	defer cancel()
	f.parties = begin(t)
	for _, p := range f.parties {
		p.awaitActs(t)
	}
	f.among = r.add(t, "among", *honest)
	if oneEnded() == nil {
		<-ctx.Done()
	}
	f.removed = r.leave(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("beside %s: Ready in %s; all removed in %.0f s", name, f.among, f.removed.Seconds())
	f.read(t)
	f.judge(t)
	t.Log("\n" + table([]*figures{f}))
	return f
}

// awaitActs gives a party the time to do what it is there for.
func (p *party) awaitActs(t *testing.T) {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), wait.Patience)
	defer cancel()
	began := time.Now()
	err := wait.Poll(ctx, func(ctx context.Context) error {
		if err := oneEnded(); err != nil {
			return wait.Final(err)
		}
		if p.look != nil {
			if err := p.look(ctx); err != nil {
				return err
			}
		}
		if acts := p.acts.Load(); acts < p.wanted {
			return fmt.Errorf("%s has acted %d times and not %d", p.name, acts, p.wanted)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s: acted %d times after %.0f s", p.name, p.acts.Load(), time.Since(began).Seconds())
}

// weigh notes what the managers have taken so far, and ends one that has more memory than its container may: Kubernetes would,
// and the computer has other work.
func (f *figures) weigh(managers []servers.Manager) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range managers {
		peak, err := shared.Management.PeakMemory(m.Component)
		if err != nil {
			continue // it has ended
		}
		f.peak[m.Component] = peak
		if int64(peak) > m.MemoryLimit {
			_ = shared.Management.Pause(m.Component) // else the test sees that it runs
		}
	}
}

// oneEnded is why a manager does not run any more.
func oneEnded() error {
	for _, component := range servers.Components {
		if shared.Management.Ended(component) != nil {
			return fmt.Errorf("the %s manager has ended", component)
		}
	}
	return nil
}

// read reads what the managers took.
func (f *figures) read(t *testing.T) {
	t.Helper()
	for _, component := range servers.Components {
		if err := shared.Management.Ended(component); err != nil {
			f.ended = append(f.ended, component)
			t.Errorf("the %s manager has ended beside %s, with %d MiB: %v", component, f.name, f.peak[component]>>20, err)
			continue
		}
		f.work[component] = expect.Got(shared.Management.Worked(component))(t)
	}
	for _, p := range f.parties {
		t.Logf("%s: acted %d times; %s; requests of the managers about it: %v", p.name, p.acts.Load(), p.note,
			requestsOf(t, []*tenant{{p.Namespace}}))
	}
}

// judge compares with what may be.
func (f *figures) judge(t *testing.T) {
	t.Helper()
	if among, most := f.among.p95(), max(2*f.alone.p95(), noise); among > most {
		t.Errorf("honest machines were Ready in %.0f s beside %s; wanted: at most %.0f s, which is twice as long as alone",
			among.Seconds(), f.name, most.Seconds())
	}
	for component, peak := range f.peak {
		if peak > mostMemory {
			t.Errorf("the %s manager took %d MiB beside %s; wanted: at most %d", component, peak>>20, f.name, mostMemory>>20)
		}
	}
}

// table is for people. Both times are those of 95 of 100 machines, and of the last one.
func table(rows []*figures) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "party\tReady alone\tReady beside it\tremoved\tMiB infrastructure, bootstrap\tCPU of both\tended")
	for _, f := range rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%.0f s\t%d, %d\t%.0f s, %.0f s\t%d\n", f.name, f.alone, f.among,
			f.removed.Seconds(), f.peak[servers.Infrastructure]>>20, f.peak[servers.Bootstrap]>>20,
			f.work[servers.Infrastructure].Seconds(), f.work[servers.Bootstrap].Seconds(), len(f.ended))
	}
	_ = w.Flush()
	return text.String()
}
