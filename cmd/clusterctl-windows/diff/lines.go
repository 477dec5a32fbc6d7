package diff

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/words"
)

// section is a part of what a machine is, by a name that does not depend on what stands before it.
type section struct {
	name  string
	lines []string
	// exact are all fields, which count where the lines are the same.
	exact []string
}

// hunksOf has a hunk for each section that differs, in the order of the new version; sections that only the old one has follow
// the one behind which they stood.
func hunksOf(old, current []section) (hunks []string) {
	for _, name := range merged(namesOf(old), namesOf(current)) {
		first, second := sectionOf(old, name), sectionOf(current, name)
		if name == orderOfSteps && sameOrder(first.lines, second.lines) {
			continue
		}
		changed := compareLines(first.lines, second.lines)
		if len(changed) == 0 {
			changed = compareLines(first.exact, second.exact)
		}
		if len(changed) > 0 {
			hunks = append(hunks, "@@ "+words.OneLine(name)+" @@\n"+strings.Join(changed, ""))
		}
	}
	return hunks
}

func namesOf(sections []section) (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

func sectionOf(sections []section, name string) section {
	for _, s := range sections {
		if s.name == name {
			return s
		}
	}
	return section{}
}

// orderOfSteps is a section that differs only where steps that both versions have change places.
const orderOfSteps = "order of steps"

func sameOrder(old, current []string) bool {
	common := func(names, kept []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(kept, name) })
	}
	return slices.Equal(common(old, current), common(current, old))
}

// merged puts names that only the first list has behind their neighbours.
func merged(first, second []string) []string {
	names := slices.Clone(second)
	index := 0
	for _, name := range first {
		if i := slices.Index(names, name); i >= 0 {
			index = i + 1
			continue
		}
		names = slices.Insert(names, index, name)
		index++
	}
	return names
}

// context is how many equal lines are shown around those that differ.
const context = 2

// edit is a line of one or both versions: ' ', '-' or '+'.
type edit struct {
	mark byte
	line string
}

// compareLines has the lines that differ and those around them; ... stands for lines between that are left out.
func compareLines(old, current []string) (text []string) {
	list := edits(old, current)
	lastShown := -1
	for i, e := range list {
		if !nearChange(list, i) {
			continue
		}
		if lastShown >= 0 && lastShown != i-1 {
			text = append(text, " ...\n")
		}
		lastShown = i
		text = append(text, string(e.mark)+words.OneLine(e.line)+"\n")
	}
	return text
}

func nearChange(list []edit, index int) bool {
	nearby := list[max(0, index-context):min(len(list), index+context+1)]
	return slices.ContainsFunc(nearby, func(e edit) bool { return e.mark != ' ' })
}

// mostCompared bounds the table of edits. What is larger, such as a file of a user that is another one, is replaced as a whole.
const mostCompared = 4 << 20

// edits turn one list of lines into the other, with the fewest changes.
func edits(old, current []string) (list []edit) {
	begin := 0
	for begin < min(len(old), len(current)) && old[begin] == current[begin] {
		begin++
	}
	end := 0
	for end < min(len(old), len(current))-begin && old[len(old)-1-end] == current[len(current)-1-end] {
		end++
	}
	list = marked(list, ' ', old[:begin])
	list = append(list, middle(old[begin:len(old)-end], current[begin:len(current)-end])...)
	return marked(list, ' ', old[len(old)-end:])
}

func marked(list []edit, mark byte, lines []string) []edit {
	for _, line := range lines {
		list = append(list, edit{mark, line})
	}
	return list
}

// middle are the edits of lists that differ in their first and last lines. It removes before it adds.
func middle(old, current []string) (list []edit) {
	if (len(old)+1)*(len(current)+1) > mostCompared {
		return marked(marked(list, '-', old), '+', current)
	}
	common := commonLines(old, current)
	i, j := 0, 0
	for i < len(old) && j < len(current) {
		switch {
		case old[i] == current[j]:
			list = append(list, edit{' ', old[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			list = append(list, edit{'-', old[i]})
			i++
		default:
			list = append(list, edit{'+', current[j]})
			j++
		}
	}
	return marked(marked(list, '-', old[i:]), '+', current[j:])
}

// commonLines has for each pair of tails how many lines they have in common, in their order.
func commonLines(old, current []string) [][]int32 {
	table := make([][]int32, len(old)+1)
	for i := range table {
		table[i] = make([]int32, len(current)+1)
	}
	for i, line := range slices.Backward(old) {
		for j := len(current) - 1; j >= 0; j-- {
			if line == current[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}
