package servers

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// StartsVariable names the environment variable of a file in which each program that starts here has a line, whoever starts it.
const StartsVariable = "CAPWIN_STARTS"

// NoteStart writes into the file that a program has started. Without a file it does nothing.
func NoteStart(name string) error {
	file := os.Getenv(StartsVariable)
	if file == "" {
		return nil
	}
	starts, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note the start of %s: %w", name, err)
	}
	defer func() { _ = starts.Close() }()
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("note the start of %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(starts, "%s\t%s\n", name, folder); err != nil { // one write, which no other line can part
		return fmt.Errorf("note the start of %s: %w", name, err)
	}
	return nil
}

// isManager says whether a program is a manager of Cluster API, of another of its providers, or ours.
func isManager(name string) bool {
	return strings.HasPrefix(name, "cap") || name == ipam.name || name == caaph.name
}

// Starts sums up the file: how many API servers and managers were started, and in which folders.
func Starts(text, root string) string {
	counts, servers := map[string]int{}, map[string]int{}
	managers := 0
	for line := range strings.Lines(text) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		counts[name]++
		if name == "kube-apiserver" {
			if below, inside := strings.CutPrefix(folder, root); inside {
				folder = "." + below
			}
			servers[folder]++
		}
		if isManager(name) {
			managers++
		}
	}
	var each, where []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		each = append(each, fmt.Sprintf("%d %s", counts[name], name))
	}
	for _, folder := range slices.Sorted(maps.Keys(servers)) {
		where = append(where, fmt.Sprintf("%d in %s", servers[folder], folder))
	}
	return fmt.Sprintf("started: %d API servers (%s), %d managers (all programs: %s)",
		counts["kube-apiserver"], strings.Join(where, ", "), managers, strings.Join(each, ", "))
}
