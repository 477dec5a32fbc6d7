package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestWork: what a user sees, by the second.
func TestWork(t *testing.T) {
	const s = time.Second
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type event func(*Work)
	step := func(doing string) event { return func(w *Work) { w.Step(doing) } }
	part := func(n int, what string) event { return func(w *Work) { w.Part(n, 9, what) } }
	after := func(d time.Duration) event { return func(w *Work) { w.tick(begun.Add(d)) } }
	for name, c := range map[string]struct {
		reason   string
		terminal bool
		events   []event
		want     []string
	}{
		"short work on a terminal": {"who waits less than a second needs no word", true, []event{step("reading"), step("asking")}, nil},
		"short work elsewhere":     {"a log has no room for it", false, []event{step("reading"), after(9 * s)}, nil},
		"long work on a terminal": {
			"the line is written over, and removed", true,
			[]event{step("reading"), after(1 * s), step("asking the vCenter"), after(2*s + s/2)},
			[]string{"reading (1 of 3, 1s)", "asking the vCenter (2 of 3, 2s)", ""},
		},
		"long work elsewhere": {
			"a line stays, so there are few", false,
			[]event{step("reading"), after(9 * s), after(10 * s), step("asking"), after(15 * s), after(19 * s), after(75 * s)},
			[]string{"reading (1 of 3, 10s)", "asking (2 of 3, 1m15s)"},
		},
		"parts": {
			"a step has parts of its own, and the next step begins without", true,
			[]event{
				step("asking"), after(1 * s), part(1, "login"), after(2 * s), part(2, "quota"), after(3 * s),
				step("writing"), after(4 * s),
			},
			[]string{
				"asking (1 of 3, 1s)", "asking, 1 of 9: login (1 of 3, 2s)", "asking, 2 of 9: quota (1 of 3, 3s)", "writing (2 of 3, 4s)",
				"",
			},
		},
		"before the first step": {"there is nothing to say yet", true, []event{after(5 * s)}, nil},
		"a long text": {
			"a longer line could not be written over", true,
			[]event{step(strings.Repeat("é", 100)), after(1 * s)},
			[]string{strings.Repeat("é", 63) + "... (1 of 3, 1s)", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			work := start(&out, c.terminal, 3, begun)
			for _, happens := range c.events {
				happens(work)
			}
			work.End()
			work.End()
			work.tick(begun.Add(time.Hour))
			if got := lines(out.String(), c.terminal); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// lines are the texts that stood in the line of a terminal one after the other, or the lines elsewhere.
func lines(out string, terminal bool) (all []string) {
	if !terminal {
		return strings.Split(out, "\n")[:strings.Count(out, "\n")]
	}
	written := strings.Split(out, "\r")
	for i, line := range written {
		// What is before the first return, and behind the last one, is an empty line.
		if i > 0 && i < len(written)-1 {
			all = append(all, strings.TrimRight(line, " "))
		}
	}
	return all
}

// TestLineHasItsWidth: a line is as wide as any before it, so that nothing of that one is left.
func TestLineHasItsWidth(t *testing.T) {
	now := time.Now()
	for _, doing := range []string{"", "reading", strings.Repeat("x", 500)} {
		work := start(&bytes.Buffer{}, true, 100, now)
		work.Step(doing)
		if got := len([]rune(work.line(now.Add(90 * time.Minute)))); got != width {
			t.Errorf("the line has %d characters, want %d", got, width)
		}
	}
}
