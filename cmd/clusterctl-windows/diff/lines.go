package diff

import (
	"slices"
	"strings"
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
func hunksOf(before, after []section) (hunks []string) {
	for _, name := range merged(namesOf(before), namesOf(after)) {
		first, second := sectionOf(before, name), sectionOf(after, name)
		if name == orderOfSteps && sameOrder(first.lines, second.lines) {
			continue
		}
		changed := compareLines(first.lines, second.lines)
		if len(changed) == 0 {
			changed = compareLines(first.exact, second.exact)
		}
		if len(changed) > 0 {
			hunks = append(hunks, "@@ "+oneLine(name)+" @@\n"+strings.Join(changed, ""))
		}
	}
	return hunks
}

func namesOf(sections []section) (names []string) {
	for _, one := range sections {
		names = append(names, one.name)
	}
	return names
}

func sectionOf(sections []section, name string) section {
	for _, one := range sections {
		if one.name == name {
			return one
		}
	}
	return section{}
}

// orderOfSteps is a section that differs only where steps that both versions have change places.
const orderOfSteps = "order of steps"

func sameOrder(before, after []string) bool {
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(others, name) })
	}
	return slices.Equal(without(before, after), without(after, before))
}

// merged puts names that only the first list has behind their neighbours.
func merged(first, second []string) []string {
	all := slices.Clone(second)
	at := 0
	for _, name := range first {
		if i := slices.Index(all, name); i >= 0 {
			at = i + 1
			continue
		}
		all = slices.Insert(all, at, name)
		at++
	}
	return all
}

// context is how many equal lines are shown around those that differ.
const context = 2

// edit is a line of one or both versions: ' ', '-' or '+'.
type edit struct {
	mark byte
	line string
}

// compareLines has the lines that differ and those around them; ... stands for lines between that are left out.
func compareLines(before, after []string) (text []string) {
	all := edits(before, after)
	last := -1
	for i, one := range all {
		if !nearChange(all, i) {
			continue
		}
		if last >= 0 && last != i-1 {
			text = append(text, " ...\n")
		}
		last = i
		text = append(text, string(one.mark)+oneLine(one.line)+"\n")
	}
	return text
}

// oneLine keeps a text from looking like several lines of a diff, whoever wrote it.
func oneLine(text string) string { return strings.NewReplacer("\r", "", "\n", `\n`).Replace(text) }

func nearChange(all []edit, at int) bool {
	around := all[max(0, at-context):min(len(all), at+context+1)]
	return slices.ContainsFunc(around, func(one edit) bool { return one.mark != ' ' })
}

// mostCompared bounds the table of edits. What is larger, such as a file of a user that is another one, is replaced as a whole.
const mostCompared = 4 << 20

// edits turn one list of lines into the other, with the fewest changes.
func edits(before, after []string) (all []edit) {
	begin := 0
	for begin < min(len(before), len(after)) && before[begin] == after[begin] {
		begin++
	}
	end := 0
	for end < min(len(before), len(after))-begin && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	all = marked(all, ' ', before[:begin])
	all = append(all, middle(before[begin:len(before)-end], after[begin:len(after)-end])...)
	return marked(all, ' ', before[len(before)-end:])
}

func marked(all []edit, mark byte, lines []string) []edit {
	for _, line := range lines {
		all = append(all, edit{mark, line})
	}
	return all
}

// middle are the edits of lists that differ in their first and last lines. It removes before it adds.
func middle(before, after []string) (all []edit) {
	if (len(before)+1)*(len(after)+1) > mostCompared {
		return marked(marked(all, '-', before), '+', after)
	}
	common := commonLines(before, after)
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			all = append(all, edit{' ', before[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			all = append(all, edit{'-', before[i]})
			i++
		default:
			all = append(all, edit{'+', after[j]})
			j++
		}
	}
	return marked(marked(all, '-', before[i:]), '+', after[j:])
}

// commonLines has for each pair of tails how many lines they have in common, in their order.
func commonLines(before, after []string) [][]int32 {
	table := make([][]int32, len(before)+1)
	for i := range table {
		table[i] = make([]int32, len(after)+1)
	}
	for i, line := range slices.Backward(before) {
		for j := len(after) - 1; j >= 0; j-- {
			if line == after[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}
