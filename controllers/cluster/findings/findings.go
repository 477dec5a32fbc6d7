// Package findings keeps which findings on where the pods of a workload cluster go were reported, and words them. It is pure.
package findings

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

const (
	// AtOnce is of how many findings of a Cluster people learn in a minute.
	AtOnce = 10
	// MaxNote is how long the note of an Event may be.
	MaxNote = 1024

	maxName = 320 // of a workload with its kind and namespace
)

// Record has which findings of a Cluster were reported. The zero value has none.
type Record struct {
	// reported has each finding of the last reading, by its name, and whether it was reported.
	reported map[string]bool
	// pending are those that were not.
	pending []placement.Finding
}

// NameOf is the same for what is wrong with the same object, whichever Nodes it comes to.
func NameOf(f placement.Finding) string {
	return string(f.Problem) + "{" + cloud.Clean(f.Of, maxName) + "}"
}

// Take notes all findings of a reading. It returns how many there are of each problem, and the names of those that were
// reported and are gone.
func (r *Record) Take(found []placement.Finding) (counts map[placement.Problem]int, gone []string) {
	previous := r.reported
	r.reported, r.pending, counts = map[string]bool{}, nil, map[placement.Problem]int{}
	for _, finding := range found {
		name := NameOf(finding)
		if _, twice := r.reported[name]; twice || finding.Problem == "" {
			continue
		}
		counts[finding.Problem]++
		if r.reported[name] = previous[name]; !previous[name] {
			r.pending = append(r.pending, finding)
		}
	}
	for name, reported := range previous {
		if _, found := r.reported[name]; reported && !found {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return counts, gone
}

// Next returns as many findings as a minute has room for, which are reported from then on, and whether there are more. Take
// returns for how many of those there is room beside what others report.
func (r *Record) Next(take func(wanted int) int) (batch []placement.Finding, pending bool) {
	n := take(min(AtOnce, len(r.pending)))
	if batch, r.pending = r.pending[:n], r.pending[n:]; len(r.pending) == 0 {
		r.pending = nil // their texts need not be kept
	}
	for _, finding := range batch {
		r.reported[NameOf(finding)] = true
	}
	return batch, r.pending != nil
}

// NoteOf has the sentence, and the commands that fit into an event: half a command helps nobody.
func NoteOf(f placement.Finding) string {
	note := cloud.Clean(f.Why, MaxNote)
	for _, command := range []struct{ prefix, text string }{
		{". In the workload cluster, this mends it: ", f.Mend},
		{". If the pods run on both systems: ", f.Allow},
	} {
		part := cloud.Clean(command.prefix+command.text, MaxNote)
		if command.text != "" && len(note)+len(part) <= MaxNote {
			note += part
		}
	}
	return note
}
