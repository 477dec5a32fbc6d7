// Package progress shows what a command is doing while that takes long: on a terminal in one line that changes, elsewhere in a
// line now and then. Nothing is shown within the first second.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
)

const (
	// interval is the time between two updates of the line on a terminal.
	interval = time.Second
	// plainEvery is how often a line is written elsewhere, where each of them stays: in the log of a pipeline, in a file.
	plainEvery = 10 * time.Second
	// width is what a line may have in any terminal, so that it can be written over.
	width = 79
)

// Work is one command at work.
type Work struct {
	mutex    sync.Mutex
	w        io.Writer
	terminal bool
	total    int
	step     int
	action   string
	part     string // of the step, if it has some
	begun    time.Time
	// printed is when the last line was written that stays. drawn is true while the terminal has a line to overwrite.
	printed time.Time
	drawn   bool
	stop    func()
}

// Start begins a work of so many steps.
func Start(w io.Writer, total int) *Work {
	work := start(w, screen.IsTerminal(w), total, time.Now())
	ticker := time.NewTicker(interval)
	ended := make(chan struct{})
	work.stop = sync.OnceFunc(func() {
		ticker.Stop()
		close(ended)
	})
	go func() {
		for {
			select {
			case now := <-ticker.C:
				work.tick(now)
			case <-ended:
				return
			}
		}
	}()
	return work
}

func start(w io.Writer, terminal bool, total int, now time.Time) *Work {
	return &Work{w: w, terminal: terminal, total: total, begun: now, printed: now, stop: func() {}}
}

// Step begins the next step; action describes it, as in "reading the files".
func (p *Work) Step(action string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.step++
	p.action, p.part = action, ""
}

// Part begins a part of the step; name is its name, as in "quota".
func (p *Work) Part(part, parts int, name string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.part = fmt.Sprintf(", %d of %d: %s", part, parts, name)
}

// End removes the line, before the result is printed. It may be called twice.
func (p *Work) End() {
	p.stop()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.total = 0 // a tick that waits for the lock writes nothing more
	if p.drawn {
		screen.Redraw(p.w, strings.Repeat(" ", width))
		screen.Redraw(p.w, "")
		p.drawn = false
	}
}

// tick writes how far the work is.
func (p *Work) tick(now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case p.total == 0 || p.step == 0:
	case p.terminal:
		screen.Redraw(p.w, p.line(now))
		p.drawn = true
	case now.Sub(p.printed) >= plainEvery:
		fmt.Fprintln(p.w, strings.TrimRight(p.line(now), " "))
		p.printed = now
	}
}

// line shows the step and its part, its number among all steps, and the time since the start. It is padded to the full width, so
// that it overwrites an earlier line.
func (p *Work) line(now time.Time) string {
	rest := fmt.Sprintf(" (%d of %d, %s)", p.step, p.total, now.Sub(p.begun).Truncate(time.Second))
	action := []rune(screen.Line(p.action + p.part))
	if limit := width - len(rest); len(action) > limit {
		action = append(action[:limit-3], []rune("...")...)
	}
	return fmt.Sprintf("%-*s", width, string(action)+rest)
}
