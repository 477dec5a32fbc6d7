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
)

// Side is a version of the files, and how the user named them.
type Side struct {
	Named string
	Files *objects.Set
}

// change is a pool or a Machine in both versions. It is nil in that which does not have it.
type change struct{ before, after *preview.Machine }

// Text compares the machine of a name or, without a name, all pools and Machines: first those of the new version, then those that
// only the old one has.
func Text(before, after Side, machine string) (string, error) {
	before.Files.Source, after.Files.Source = "the files", "the files" // a note of both must not differ by their names
	changes, err := changesOf(before, after, machine)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, one := range changes {
		text, err := one.text(before.Named, after.Named)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

func changesOf(before, after Side, machine string) (changes []change, err error) {
	first, unknown, err := machinesOf(before, machine)
	if err != nil {
		return nil, err
	}
	second, unknownToo, err := machinesOf(after, machine)
	if err != nil {
		return nil, err
	}
	if unknown != nil && unknownToo != nil {
		return nil, unknownToo
	}
	for _, one := range second {
		as := sameIn(first, one)
		if as == nil && has(before.Files, one.Of) {
			continue // where a version has one pool, any name is one of its machines
		}
		changes = append(changes, change{as, one})
	}
	for _, one := range first {
		if sameIn(second, one) == nil && !has(after.Files, one.Of) {
			changes = append(changes, change{before: one})
		}
	}
	return changes, nil
}

// has says whether files have a pool or a Machine.
func has(files *objects.Set, of string) bool {
	return slices.ContainsFunc(files.All, func(one objects.Object) bool { return one.String() == of })
}

// machinesOf has one machine of each pool, each Machine, or that of the name. A version that does not have it, or none at all, is
// no error: then it is unknown.
func machinesOf(side Side, machine string) (found []*preview.Machine, unknown, err error) {
	found, err = preview.Pools(side.Files, machine)
	if _, none := errors.AsType[*preview.NoMachineError](err); none {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", side.Named, err)
	}
	for _, one := range found {
		one.Notes = withoutPlaces(one.Notes, side.Files)
		if one.Shown.Plan == nil {
			return nil, nil, fmt.Errorf("%s: the plan in Secret %s cannot be shown; leave out the Secret", side.Named, one.StoredIn)
		}
	}
	return found, nil, nil
}

// withoutPlaces replaces the lines of objects: they differ between two files also where nothing of a node does.
func withoutPlaces(notes []string, files *objects.Set) []string {
	var places []string
	for _, one := range files.All {
		if one.Place != "" {
			places = append(places, one.Place)
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
func sameIn(all []*preview.Machine, as *preview.Machine) *preview.Machine {
	for _, one := range all {
		if one.Of == as.Of {
			return one
		}
	}
	return nil
}

// text is a sentence about the machines that exist, and what differs of a node.
func (c change) text(before, after string) (string, error) {
	switch {
	case c.before == nil:
		return c.after.Of + " is new; plan without --diff shows what its node gets." + "\n", nil
	case c.after == nil:
		return c.before.Of + " is gone: " + whenGone(c.before) + "\n", nil
	}
	pool, node, err := c.hunks()
	if err != nil {
		return "", err
	}
	text := c.after.Of + ": " + c.happens() + " Nothing of a node changes."
	if len(node) > 0 {
		text = c.after.Of + ": " + c.happens() + " A new node is different:"
	}
	text += "\n"
	if len(pool)+len(node) > 0 {
		text += "--- " + oneLine(before) + "\n+++ " + oneLine(after) + "\n" + strings.Join(append(pool, node...), "")
	}
	return text, nil
}

// hunks are the sections that differ, of the pool and of its nodes. Of a secret they show only that it differs.
func (c change) hunks() (pool, node []string, err error) {
	if pool, err = compared(poolSections, c.before, c.after); err != nil {
		return nil, nil, err
	}
	if node, err = compared(nodeSections, c.before, c.after); err != nil {
		return nil, nil, err
	}
	if len(node) == 0 && !bytes.Equal(c.before.Guest.PlanJSON, c.after.Guest.PlanJSON) {
		node = []string{"@@ secrets @@\n A value that is masked differs.\n"}
	}
	return pool, node, nil
}

func compared(sections func(*preview.Machine) ([]section, error), before, after *preview.Machine) ([]string, error) {
	first, err := sections(before)
	if err != nil {
		return nil, err
	}
	second, err := sections(after)
	if err != nil {
		return nil, err
	}
	return hunksOf(first, second), nil
}
