package pods

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// record is the log of a container.
type record struct {
	clock Clock

	mu    sync.Mutex
	lines []logLine
	// previous are those of the container's last life.
	previous []logLine
	ended    bool
	// more is closed when there is something new.
	more chan struct{}
}

type logLine struct {
	at   time.Time
	text string
}

func newRecord(clock Clock) *record { return &record{clock: clock, more: make(chan struct{})} }

// begin is the start of the container.
func (r *record) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		r.previous, r.lines = r.lines, nil
	}
	r.ended = false
}

// end is that of the container; who follows its log has read all of it then.
func (r *record) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.wake()
}

func (r *record) wake() {
	close(r.more)
	r.more = make(chan struct{})
}

// Write is part of io.Writer. Each write ends a line, if it does not say so itself.
func (r *record) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(text) {
		r.lines = append(r.lines, logLine{r.clock.Now(), strings.TrimSuffix(string(line), "\n") + "\n"})
	}
	r.wake()
	return len(text), nil
}

// tail is the end of the log.
func (r *record) tail(lines, length int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, line := range r.lines[max(0, len(r.lines)-lines):] {
		text.WriteString(line.text)
	}
	return text.String()[max(0, text.Len()-length):]
}

// logQuery is what a client asks for (PodLogOptions).
type logQuery struct {
	follow, previous, timestamps bool
	tail, limit                  int64 // -1 is all
	since                        time.Time
}

// copyTo writes the log, and what comes to it until the container ends if it is followed.
func (r *record) copyTo(ctx context.Context, out io.Writer, query logQuery) error {
	limited := &limitedWriter{out: out, left: query.limit}
	at := -1
	for {
		lines, ended, more := r.look(query, &at)
		for _, line := range lines {
			text := line.text
			if query.timestamps {
				text = line.at.UTC().Format(time.RFC3339Nano) + " " + text
			}
			if _, err := io.WriteString(limited, text); err != nil || limited.left == 0 {
				return err
			}
		}
		if !query.follow || query.previous || ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		}
	}
}

// look is what is new behind at, which is -1 at first.
func (r *record) look(query logQuery, at *int) (lines []logLine, ended bool, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.lines
	if query.previous {
		all = r.previous
	}
	if *at < 0 {
		*at = 0
		if query.tail >= 0 {
			*at = max(0, len(all)-int(query.tail))
		}
	}
	lines = slices.Clone(all[min(*at, len(all)):])
	*at = len(all)
	lines = slices.DeleteFunc(lines, func(line logLine) bool { return line.at.Before(query.since) })
	return lines, r.ended, r.more
}

// limitedWriter writes no more than so many bytes; fewer than 0 is all.
type limitedWriter struct {
	out  io.Writer
	left int64
}

func (w *limitedWriter) Write(text []byte) (int, error) {
	if w.left < 0 {
		return w.out.Write(text)
	}
	text = text[:min(int64(len(text)), w.left)]
	w.left -= int64(len(text))
	return w.out.Write(text)
}
