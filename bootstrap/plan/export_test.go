package plan

import (
	"maps"
	"slices"
)

// StartFacts is for tests alone.
func StartFacts() []string { return slices.Sorted(maps.Keys(startFacts())) }
