// Command crdcheck compares the CRDs with those of the last release, and fails if they take back what a user may rely on. A CRD
// cannot be converted without a webhook, so what was released stays: docs/decisions/002-no-webhook-server.md.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

const (
	beforeRelease = `There is no release yet: if this has to be, run make renew-crds WHY="..." and commit what it writes.`
	afterRelease  = "Users have %s, and nothing converts their objects: keep what it has, and add optional fields instead " +
		"(docs/decisions/002-no-webhook-server.md).\n"
	notLooser = "A rule or pattern that accepts all that it accepted before may get a line in hack/crdcheck/looser.go."
)

func main() {
	switch {
	case len(os.Args) == 1:
		os.Exit(report(check(".", looser)))
	case len(os.Args) == 3 && os.Args[1] == "renew":
		os.Exit(report(result{}, renew(".", os.Args[2])))
	default:
		fmt.Fprintln(os.Stderr, "usage: crdcheck, or crdcheck renew WHY, in the root of the repository")
		os.Exit(2)
	}
}

// result is what a comparison found.
type result struct {
	against  string
	released bool
	arguable bool
	problems []string
}

// check compares the CRDs in the repository with what they are held to.
func check(root string, looser map[string]string) (result, error) {
	held, err := lastAgreed(root)
	if err != nil {
		return result{}, err
	}
	now, err := definitionsInTree(root)
	if err != nil {
		return result{}, err
	}
	r := result{against: held.name, released: held.released, problems: held.problems}
	unused := maps.Clone(looser)
	for _, one := range compare(held.definitions, now) {
		line := one.String()
		if one.arguable && looser[line] != "" {
			delete(unused, line)
			continue
		}
		r.arguable = r.arguable || one.arguable
		r.problems = append(r.problems, line)
	}
	for _, line := range slices.Sorted(maps.Keys(unused)) {
		r.problems = append(r.problems, fmt.Sprintf("hack/crdcheck/looser.go: this line is not needed, remove it: %q", line))
	}
	return r, nil
}

// report tells a result, and returns the code that the program ends with.
func report(r result, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crdcheck:", err)
		return 2
	}
	if r.against != "" {
		fmt.Println("CRDs compared with " + r.against)
	}
	for _, problem := range r.problems {
		fmt.Println(problem)
	}
	switch {
	case len(r.problems) == 0:
		return 0
	case r.released:
		fmt.Printf(afterRelease, r.against)
	default:
		fmt.Println(beforeRelease)
	}
	if r.arguable {
		fmt.Println(notLooser)
	}
	return 1
}
