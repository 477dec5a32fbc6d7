// Package progress tells the user of a command what it does while that takes long: on a terminal in one line that changes,
// elsewhere in a line now and then. What is done within a second, nobody is told.
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
	// every is how often a line on a terminal is written anew.
	every = time.Second
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
	doing    string
	part     string // of the step, if it has some
	begun    time.Time
	// told is when the last line was written that stays, drawn whether there is one to write over.
	told  time.Time
	drawn bool
	stop  func()
}

// Start begins a work of so many steps.
func Start(w io.Writer, total int) *Work {
	work := start(w, screen.IsTerminal(w), total, time.Now())
	ticker := time.NewTicker(every)
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
	return &Work{w: w, terminal: terminal, total: total, begun: now, told: now, stop: func() {}}
}

// Step begins the next step; doing says what is done, as in "reading the files".
func (p *Work) Step(doing string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.step++
	p.doing, p.part = doing, ""
}

// Part begins a part of the step, which is one of so many; what names it, as in "quota".
func (p *Work) Part(part, parts int, what string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.part = fmt.Sprintf(", %d of %d: %s", part, parts, what)
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
	case now.Sub(p.told) >= plainEvery:
		fmt.Fprintln(p.w, strings.TrimRight(p.line(now), " "))
		p.told = now
	}
}

// line says what is done, and which part of it; how many of how many steps that is, and for how long. It is as wide as any line
// before it.
func (p *Work) line(now time.Time) string {
	rest := fmt.Sprintf(" (%d of %d, %s)", p.step, p.total, now.Sub(p.begun).Truncate(time.Second))
	doing := []rune(screen.Line(p.doing + p.part))
	if most := width - len(rest); len(doing) > most {
		doing = append(doing[:most-3], []rune("...")...)
	}
	return fmt.Sprintf("%-*s", width, string(doing)+rest)
}
