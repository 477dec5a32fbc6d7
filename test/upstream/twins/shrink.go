package twins

import (
	"errors"
	"regexp"
	"slices"
)

// errEnough ends a shrinking that has tried often enough.
var errEnough = errors.New("enough")

// shrinker makes a case as small as it gets, while it stays allowed and its first difference stays at the same place.
type shrinker struct {
	run   func(c *Case) (*Verdict, error)
	place string
	best  *Verdict
	tries int
}

var numbered = regexp.MustCompile(`\[\d+\]|\b\d+\b|[0-9a-f]{32}`)

// place is where a difference is, without the numbers of steps and files, and whether one side has nothing there.
func place(d Difference) string {
	at := numbered.ReplaceAllString(d.Where, "")
	switch {
	case d.Lab == absent{}:
		return at + " (not in the lab)"
	case d.Node == absent{}:
		return at + " (not on the node)"
	}
	return at
}

// Shrink has at most so many tries.
func Shrink(v *Verdict, run func(c *Case) (*Verdict, error), tries int) (*Verdict, error) {
	s := &shrinker{run: run, place: place(v.New[0]), best: v, tries: tries}
	for smaller := true; smaller; {
		before := size(s.best.Case)
		for _, pass := range []func() error{s.dropCulture, s.dropParts, s.shorten} {
			if err := pass(); errors.Is(err, errEnough) {
				return s.best, nil
			} else if err != nil {
				return s.best, err
			}
		}
		smaller = size(s.best.Case) < before
	}
	return s.best, nil
}

func size(c *Case) int { return len(encode(c.Plan)) + len(encode(c.World)) + len(c.Culture) }

func (s *shrinker) dropCulture() error {
	if s.best.Case.Culture == "" {
		return nil
	}
	_, err := s.try(func(c *Case) bool { c.Culture = ""; return true })
	return err
}

// try takes a change if the difference is still there; it says whether it is.
func (s *shrinker) try(change func(c *Case) bool) (bool, error) {
	old := s.best.Case
	c := &Case{
		Seed: old.Seed, Number: old.Number, Culture: old.Culture, World: clone(old.World).(tree),
		Plan: clone(old.Plan).(tree),
	}
	if !change(c) || !allowed(c.Plan) {
		return false, nil
	}
	if s.tries--; s.tries < 0 {
		return false, errEnough
	}
	v, err := s.run(c)
	still := err == nil && len(v.New) > 0 && place(v.New[0]) == s.place // a case that cannot be run is no smaller case
	if still {
		s.best = v
	}
	return still, nil
}

// dropParts leaves out whatever can be left out, from the outside to the inside: a phase first, then its steps, then their
// fields.
func (s *shrinker) dropParts() error {
	for depth := 1; ; depth++ {
		all := places(s.best.Case, depth)
		if len(all) == 0 {
			return nil
		}
		for _, at := range slices.Backward(all) { // from the end, so that the places before stay where they are
			if !at.mayGo() {
				continue
			}
			if _, err := s.try(func(c *Case) bool { return drop(c, at) }); err != nil {
				return err
			}
		}
	}
}

// way leads to a part of a case: names of fields, and indexes as ints. It begins with "plan" or "world".
type way []any

// mayGo: what is in a world is left out as a whole, for half an adapter is none; but of a command, all but what it is called.
func (at way) mayGo() bool {
	if at[0] == "plan" {
		return at[1] != "machine" && (at[1] != "report" || len(at) > 2) // which every plan of a renderer has
	}
	return len(at) <= 3 || at[1] == "commands" && at[3] != "argv"
}

// free are fields whose texts may be any.
var free = []any{
	"text", "content", "out", "err", "say", "argv", "undo", "command", "value", "message", "environment",
	"redact", "files",
}

func (at way) isFree() bool {
	return at.mayGo() && slices.ContainsFunc(free, func(name any) bool { return slices.Contains(at, name) })
}

// places are all parts at a depth, in order.
func places(c *Case, depth int) []way {
	var found []way
	var walk func(node any, at way)
	walk = func(node any, at way) {
		if len(at) == depth+1 {
			found = append(found, slices.Clone(at))
			return
		}
		switch node := node.(type) {
		case tree:
			for name := range sortedKeys(node) {
				walk(node[name], append(at, name))
			}
		case []any:
			for i, child := range node {
				walk(child, append(at, i))
			}
		}
	}
	walk(c.World, way{"world"})
	walk(c.Plan, way{"plan"})
	return found
}

// drop says whether there was something at the end of a way to leave out.
func drop(c *Case, at way) bool {
	return change(c, at, func(parent any, last any) (any, bool) {
		switch parent := parent.(type) {
		case tree:
			name, _ := last.(string)
			_, had := parent[name]
			delete(parent, name)
			return parent, had
		case []any:
			i, ok := last.(int)
			if !ok || i >= len(parent) {
				return parent, false
			}
			return slices.Delete(parent, i, i+1), true
		}
		return parent, false
	})
}

// change replaces the part that holds the end of a way.
func change(c *Case, at way, do func(parent, last any) (any, bool)) bool {
	var inside func(node any, rest way) (any, bool)
	inside = func(node any, rest way) (any, bool) {
		if len(rest) == 1 {
			return do(node, rest[0])
		}
		switch node := node.(type) {
		case tree:
			name, _ := rest[0].(string)
			made, done := inside(node[name], rest[1:])
			if done {
				node[name] = made
			}
			return node, done
		case []any:
			i, ok := rest[0].(int)
			if !ok || i >= len(node) {
				return node, false
			}
			made, done := inside(node[i], rest[1:])
			node[i] = made
			return node, done
		}
		return node, false
	}
	whole := any(c.Plan)
	if at[0] == "world" {
		whole = c.World
	}
	_, done := inside(whole, at[1:])
	return done
}

// shorten makes long texts short, and lists of parts one text.
func (s *shrinker) shorten() error {
	for depth := 1; ; depth++ {
		all := places(s.best.Case, depth)
		if len(all) == 0 {
			return nil
		}
		for _, at := range all {
			if !at.isFree() {
				continue
			}
			for _, smaller := range smallerTexts(valueAt(s.best.Case, at)) {
				done, err := s.try(func(c *Case) bool { return replace(c, at, smaller) })
				if err != nil {
					return err
				}
				if done {
					break
				}
			}
		}
	}
}

func smallerTexts(value any) []any {
	text, ok := value.(string)
	runes := []rune(text)
	if !ok || len(runes) < 2 {
		return nil
	}
	half := len(runes) / 2
	return []any{"", "a", string(runes[:half]), string(runes[half:]), string(runes[1:]), string(runes[:len(runes)-1])}
}

func valueAt(c *Case, at way) any {
	var found any
	change(c, at, func(parent, last any) (any, bool) {
		switch parent := parent.(type) {
		case tree:
			name, _ := last.(string)
			found = parent[name]
		case []any:
			if i, ok := last.(int); ok && i < len(parent) {
				found = parent[i]
			}
		}
		return parent, false
	})
	return found
}

func replace(c *Case, at way, value any) bool {
	return change(c, at, func(parent, last any) (any, bool) {
		switch parent := parent.(type) {
		case tree:
			name, _ := last.(string)
			if _, had := parent[name]; !had {
				return parent, false
			}
			parent[name] = value
			return parent, true
		case []any:
			i, ok := last.(int)
			if !ok || i >= len(parent) {
				return parent, false
			}
			parent[i] = value
			return parent, true
		}
		return parent, false
	})
}
