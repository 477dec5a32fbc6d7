// Command reasondoc writes the rows of reasons on docs/conditions.md from the comments of the reasons' constants. The page has
// their order and sections, and the text around them. A comment has three parts, of which each begins a line:
//
//	// WaitingForOwnerReason: what it means.
//	// Cause: the likely cause.
//	// Run: `the command that shows more`
//
// A reason of both API groups has these parts in one of them. The command fails when a reason has no row or no such comment.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reasondoc FILE, in the root of the repository")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reasondoc:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	reasons, err := read()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, err := renew(string(before), reasons)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

const heading = "| Reason | Meaning | Likely cause | Command |"

var row = regexp.MustCompile("^\\| `(\\w+)` \\|")

// renew is the page with the rows of these reasons.
func renew(page string, reasons map[string]reason) (string, error) {
	var faults []error
	left := maps.Clone(reasons)
	lines := strings.SplitAfter(page, "\n")
	for i, inTable := 0, false; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		inTable = line == heading || inTable && strings.HasPrefix(line, "|")
		found := row.FindStringSubmatch(line)
		if !inTable || found == nil || found[1] == notOurs {
			continue
		}
		one, ok := left[found[1]]
		if !ok {
			faults = append(faults, fmt.Errorf("the row %s has no constant, or is there twice", found[1]))
			continue
		}
		lines[i] = one.row(found[1])
		delete(left, found[1])
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		faults = append(faults, fmt.Errorf("%s has no row: add | `%s` | to a table", name, name))
	}
	return strings.Join(lines, ""), errors.Join(faults...)
}

// notOurs is Cluster API's reason of a condition that is its own, too.
const notOurs = "NotPaused"

// row is a line of a table. A bar would end its cell.
func (r reason) row(name string) string {
	cell := strings.NewReplacer("|", `\|`)
	return fmt.Sprintf("| %#q | %s | %s | %s |\n", name, cell.Replace(r.meaning), cell.Replace(r.cause), cell.Replace(r.command))
}
