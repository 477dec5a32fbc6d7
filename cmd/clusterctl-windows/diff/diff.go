// Package diff compares what two versions of files make of their Windows machines, for the review of a change: whether a pool
// replaces its machines, and what of a node differs. Both versions are gathered and rendered as for a plan, without secrets.
//
// rolls.go decides what Cluster API does with the machines that exist; sections.go writes a machine as lines, in sections with
// stable names; lines.go compares the lines.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/words"
)

// Side is a version of the files, and how the user named them.
type Side struct {
	Named string
	Files *objects.Set
}

// change is a pool or a Machine in both versions. It is nil in that which does not have it.
type change struct{ old, current *preview.Machine }

// Text compares the machine of a name or, without a name, all pools and Machines: first those of the new version, then those that
// only the old one has.
func Text(old, current Side, machine string) (string, error) {
	old.Files.Source, current.Files.Source = "the files", "the files" // a note of both must not differ by their names
	changes, err := changesOf(old, current, machine)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, c := range changes {
		text, err := c.text(old.Named, current.Named)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

func changesOf(old, current Side, machine string) (changes []change, err error) {
	first, unknown, err := machinesOf(old, machine)
	if err != nil {
		return nil, err
	}
	second, unknownToo, err := machinesOf(current, machine)
	if err != nil {
		return nil, err
	}
	if unknown != nil && unknownToo != nil {
		return nil, unknownToo
	}
	for _, m := range second {
		match := sameIn(first, m)
		if match == nil && contains(old.Files, m.Source) {
			continue // where a version has one pool, any name is one of its machines
		}
		changes = append(changes, change{match, m})
	}
	for _, m := range first {
		if sameIn(second, m) == nil && !contains(current.Files, m.Source) {
			changes = append(changes, change{old: m})
		}
	}
	return changes, nil
}

// contains reports whether files have a pool or a Machine.
func contains(files *objects.Set, name string) bool {
	return slices.ContainsFunc(files.Items, func(object objects.Object) bool { return object.String() == name })
}

// machinesOf has one machine of each pool, each Machine, or that of the name. A version that does not have it, or none at all, is
// no error: then it is unknown.
func machinesOf(side Side, machine string) (found []*preview.Machine, unknown, err error) {
	found, err = preview.Pools(side.Files, machine)
	if _, ok := errors.AsType[*preview.NoMachineError](err); ok {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", side.Named, err)
	}
	for _, m := range found {
		m.Notes = withoutPlaces(m.Notes, side.Files)
		if m.Shown.Plan == nil {
			return nil, nil, fmt.Errorf("%s: the plan in Secret %s cannot be shown; leave out the Secret", side.Named, m.StoredIn)
		}
	}
	return found, nil, nil
}

// withoutPlaces replaces the lines of objects: they differ between two files also where nothing of a node does.
func withoutPlaces(notes []string, files *objects.Set) []string {
	var places []string
	for _, object := range files.Items {
		if object.Place != "" {
			places = append(places, object.Place)
		}
	}
	slices.SortFunc(places, func(a, b string) int { return len(b) - len(a) }) // line 3 is the beginning of line 30
	var left []string
	for _, note := range notes {
		for _, place := range places {
			note = strings.ReplaceAll(note, place, "the files")
		}
		left = append(left, note)
	}
	return left
}

// sameIn is the machine of the same pool, or the same Machine.
func sameIn(machines []*preview.Machine, wanted *preview.Machine) *preview.Machine {
	for _, m := range machines {
		if m.Source == wanted.Source {
			return m
		}
	}
	return nil
}

// text is a sentence about the machines that exist, and what differs of a node.
func (c change) text(old, current string) (string, error) {
	switch {
	case c.old == nil:
		return c.current.Source + " is new; plan without --diff shows what its node gets." + "\n", nil
	case c.current == nil:
		return c.old.Source + " is gone: " + whenGone(c.old) + "\n", nil
	}
	pool, node, err := c.hunks()
	if err != nil {
		return "", err
	}
	text := c.current.Source + ": " + c.happens() + " Nothing of a node changes."
	if len(node) > 0 {
		text = c.current.Source + ": " + c.happens() + " A new node is different:"
	}
	text += "\n"
	if len(pool)+len(node) > 0 {
		text += "--- " + words.OneLine(old) + "\n+++ " + words.OneLine(current) + "\n" + strings.Join(append(pool, node...), "")
	}
	return text, nil
}

// hunks are the sections that differ, of the pool and of its nodes. Of a secret they show only that it differs.
func (c change) hunks() (pool, node []string, err error) {
	if pool, err = compared(poolSections, c.old, c.current); err != nil {
		return nil, nil, err
	}
	if node, err = compared(nodeSections, c.old, c.current); err != nil {
		return nil, nil, err
	}
	if len(node) == 0 && !bytes.Equal(c.old.Guest.PlanJSON, c.current.Guest.PlanJSON) {
		node = []string{"@@ secrets @@\n A value that is masked differs.\n"}
	}
	return pool, node, nil
}

func compared(sections func(*preview.Machine) ([]section, error), old, current *preview.Machine) ([]string, error) {
	first, err := sections(old)
	if err != nil {
		return nil, err
	}
	second, err := sections(current)
	if err != nil {
		return nil, err
	}
	return hunksOf(first, second), nil
}
