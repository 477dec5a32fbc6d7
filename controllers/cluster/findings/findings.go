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
	// known has each finding of the last reading, by its name, and whether it was reported.
	known map[string]bool
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
	before := r.known
	r.known, r.pending, counts = map[string]bool{}, nil, map[placement.Problem]int{}
	for _, one := range found {
		name := NameOf(one)
		if _, twice := r.known[name]; twice || one.Problem == "" {
			continue
		}
		counts[one.Problem]++
		if r.known[name] = before[name]; !before[name] {
			r.pending = append(r.pending, one)
		}
	}
	for name, known := range before {
		if _, still := r.known[name]; known && !still {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return counts, gone
}

// Next returns as many findings as a minute has room for, which are reported from then on, and whether there are more.
func (r *Record) Next() (all []placement.Finding, more bool) {
	n := min(AtOnce, len(r.pending))
	if all, r.pending = r.pending[:n], r.pending[n:]; len(r.pending) == 0 {
		r.pending = nil // their texts need not be kept
	}
	for _, one := range all {
		r.known[NameOf(one)] = true
	}
	return all, r.pending != nil
}

// NoteOf has the sentence, and the commands that fit into an event: half a command helps nobody.
func NoteOf(f placement.Finding) string {
	note := cloud.Clean(f.Why, MaxNote)
	for _, command := range []struct{ before, text string }{
		{". In the workload cluster, this mends it: ", f.Mend},
		{". If the pods run on both systems: ", f.Allow},
	} {
		more := cloud.Clean(command.before+command.text, MaxNote)
		if command.text != "" && len(note)+len(more) <= MaxNote {
			note += more
		}
	}
	return note
}
