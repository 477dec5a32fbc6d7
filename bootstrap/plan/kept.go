package plan

import (
	"encoding/json"
	"strings"
)

// KeptReportBytes bounds what is kept of a report, of which a manager has one for each machine.
const KeptReportBytes = 2 << 10

// longestText is a little more than the status of a machine shows of a message. It shows half as much of a warning, and a quarter
// of a line.
const longestText = 1<<10 + 64

// Shorten is what is kept of a report: all of a short one.
func Shorten(report string) string {
	if len(report) <= KeptReportBytes {
		return strings.Clone(report) // a part would keep the whole in memory
	}
	return shortened(report)
}

// shortened is what is kept of a longer one. It loses what is not shown of its texts, then the oldest of its lines and warnings,
// and then the ends of its texts. What cannot be read is cut, and cannot be read after that either.
func shortened(report string) string {
	r, err := DecodeReport([]byte(report))
	if err != nil {
		return strings.Clone(report[:KeptReportBytes])
	}
	r.cut(longestText)
	for len(r.LastLines)+len(r.Warnings) > 0 {
		if text := r.encode(); len(text) <= KeptReportBytes {
			return text
		}
		if len(r.LastLines) >= len(r.Warnings) {
			r.LastLines = r.LastLines[1:]
		} else {
			r.Warnings = r.Warnings[1:]
		}
	}
	for limit := longestText; ; limit /= 2 {
		r.cut(limit)
		if text := r.encode(); len(text) <= KeptReportBytes {
			return text
		}
	}
}

func (r *Report) encode() string {
	text, _ := json.Marshal(r) //nolint:errchkjson // because it has only texts and numbers
	return string(text)
}

// cut leaves so many bytes of each text, and no durations where they are long, too.
func (r *Report) cut(limit int) {
	texts := []*string{
		&r.UID, &r.Reason, &r.Message, &r.Phase.Name, &r.Step, &r.At, &r.Facts.OS, &r.Facts.MemoryMiB, &r.Facts.CPUs, &r.Facts.Updated,
	}
	if r.Boot != nil {
		texts = append(texts, (*string)(&r.Boot.State), &r.Boot.Reason, &r.Boot.Message, &r.Boot.At)
	}
	for i, line := range r.LastLines {
		r.LastLines[i] = begin(line, limit/4)
	}
	for i, warning := range r.Warnings {
		r.Warnings[i] = begin(warning, limit/2)
	}
	for _, text := range texts {
		*text = begin(*text, limit)
	}
	if len(r.Durations)*32 > limit {
		r.Durations = nil
	}
}

func begin(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
