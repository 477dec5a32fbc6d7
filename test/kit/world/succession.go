package world

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Succession is one process after another: each of the first has a plan, and when one was killed the next begins.
type Succession struct {
	// End stops what runs. A process that fails to stop is an error: something in it hangs.
	End func()

	plans []Plan
	start func(*Gate) (*Process, error)

	mu        sync.Mutex
	processes []*Process
	failed    error // of a start
	over      bool
	kept      sync.WaitGroup
}

// Succeed starts the first process; each has the next of the plans. What they do is counted together: the second Login is #2,
// whoever does it. The last process ends with the test.
func Succeed(t *testing.T, plans []Plan, start func(*Gate) (*Process, error)) *Succession {
	t.Helper()
	s := &Succession{plans: plans, start: start}
	s.End = sync.OnceFunc(func() { s.end(t) })
	expect.OK(t, s.launch())
	t.Cleanup(s.End)
	return s
}

func (s *Succession) launch() error {
	gate := &Gate{}
	if n := len(s.processes); n < len(s.plans) {
		gate.Plan = s.plans[n]
	}
	if n := len(s.processes); n > 0 {
		gate.counts = s.processes[n-1].Gate.counted()
	}
	p, err := s.start(gate)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	s.kept.Go(func() {
		<-p.Ended()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.over {
			s.failed = errors.Join(s.failed, s.launch())
		}
	})
	return nil
}

func (s *Succession) end(t *testing.T) {
	s.mu.Lock()
	s.over = true
	failed, last := s.failed, s.processes[len(s.processes)-1]
	s.mu.Unlock()
	expect.Fine(t, errors.Join(failed, last.Stop()))
	s.kept.Wait()
	if t.Failed() {
		for i, p := range s.processes {
			t.Logf("process %d said:\n%s\nand did: %s", i+1, p.Log(), strings.Join(p.Gate.Effects(), "\n  "))
		}
	}
}

// Process is the one that lives.
func (s *Succession) Process() *Process {
	all := s.all()
	return all[len(all)-1]
}

// Effects lists what all processes did.
func (s *Succession) Effects() []string {
	var effects []string
	for _, p := range s.all() {
		effects = append(effects, p.Gate.Effects()...)
	}
	return effects
}

// Hit says whether all plans were carried out.
func (s *Succession) Hit() bool {
	hits := 0
	for _, p := range s.all() {
		if p.Gate.Hit() {
			hits++
		}
	}
	return hits == len(s.plans)
}

func (s *Succession) all() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}
