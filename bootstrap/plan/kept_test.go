package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestShorten: whatever a guest reports, 2 KiB of it are kept: what says how it goes, and the last lines.
func TestShorten(t *testing.T) {
	long := strings.Repeat("x", MaxReportBytes)
	of := func(fields string) string {
		return `{"version":1,"state":"Failed","reason":"JoinFailed",` + fields + `}`
	}
	numbered := func(count, size int) (lines []string) {
		for i := range count {
			lines = append(lines, fmt.Sprintf("%d %s", i, long[:size]))
		}
		return lines
	}
	list := func(lines []string) string { return `["` + strings.Join(lines, `","`) + `"]` }
	durations := `{"a":1`
	for i := range 500 {
		durations += fmt.Sprintf(`,"phase-%d":%d`, i, i)
	}
	for name, c := range map[string]struct {
		fields string
		good   func(*Report) bool
	}{
		"lines":     {`"lastLines":` + list(numbered(20, 200)), func(r *Report) bool { return len(r.LastLines) >= 7 }},
		"warnings":  {`"warnings":` + list(numbered(20, 300)), func(r *Report) bool { return len(r.Warnings) >= 5 }},
		"both":      {`"lastLines":` + list(numbered(20, 200)) + `,"warnings":` + list(numbered(20, 300)), nil},
		"a message": {`"message":"` + long[:15000] + `"`, func(r *Report) bool { return len(r.Message) >= 1024 }},
		"a message of a boot": {
			`"boot":{"state":"Failed","message":"` + long[:15000] + `"}`, func(r *Report) bool { return len(r.Boot.Message) >= 1024 },
		},
		"all texts": {
			`"message":"` + long[:3000] + `","step":"` + long[:3000] + `","at":"` + long[:3000] +
				`","phase":{"name":"` + long[:3000] + `"}`,
			func(r *Report) bool { return r.Message != "" && r.Step != "" },
		},
		"escapes": {`"message":"` + strings.Repeat("<&>", 3000) + `"`, func(r *Report) bool { return len(r.Message) >= 256 }},
		"letters of 3 bytes": {
			`"message":"` + strings.Repeat("€", 4000) + `"`, func(r *Report) bool { return !strings.Contains(r.Message, "\ufffd") },
		},
		"durations":     {`"durations":` + durations + `}`, func(r *Report) bool { return len(r.Durations) == 0 }},
		"one long line": {`"lastLines":["` + long[:9000] + `"]`, func(r *Report) bool { return len(r.LastLines[0]) > 256 }},
		"blanks":        {`"message":"m"` + strings.Repeat(" ", 9000), func(r *Report) bool { return r.Message == "m" }},
	} {
		kept := Shorten(of(c.fields))
		r, err := DecodeReport([]byte(kept))
		expect.OK(t, err)
		last := func(lines []string) bool { return len(lines) < 2 || strings.HasPrefix(lines[len(lines)-1], "19 ") }
		if len(kept) > KeptReportBytes || r.State != StateFailed || r.Reason != "JoinFailed" || c.good != nil && !c.good(r) ||
			!last(r.LastLines) || !last(r.Warnings) {
			t.Errorf("%s: %d bytes are kept: %s", name, len(kept), kept)
		}
		expect.Same(t, name+", once more", kept, Shorten(kept))
	}
	short := of(`"message":"m"`)
	expect.Same(t, "a short one", short, Shorten(short))
	expect.Same(t, "no report", long[:KeptReportBytes], Shorten(long))
	marked := Shorten(Mark + "uid|phase|step|JoinFailed|1|" + long[:5000])
	if r, err := DecodeReport([]byte(marked)); err != nil || r.Reason != "JoinFailed" || len(marked) > KeptReportBytes {
		t.Errorf("%d bytes: %s, %v", len(marked), marked, err)
	}
}
