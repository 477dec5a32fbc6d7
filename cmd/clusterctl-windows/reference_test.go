package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const referencePage = "../../docs/clusterctl-windows.md"

// aboutPage is what stands before the commands.
const aboutPage = "testdata/reference.md"

// TestReferencePage: the page says what the commands' help says. make generate runs it with -update.
func TestReferencePage(t *testing.T) {
	root := newRoot(calledAs("clusterctl-windows"), streams{})
	page := readText(t, aboutPage) + once(pageOf(root))
	if *update {
		expect.OK(t, os.WriteFile(referencePage, []byte(page), 0o600))
	}
	expect.Same(t, "make generate writes the page", readText(t, referencePage), page)
}

// flagLine is a line of help about a flag: its name, and its sentence.
var flagLine = regexp.MustCompile(`^\s+(?:-\w, )?(--\S+)(?: \S+)?\s{2,}\S.*$`)

// longParagraph is how many words a paragraph has that nobody wants to read twice.
const longParagraph = 40

// once leaves out what stands on the page above: what FILE must have, the sentence of a flag, and that each command has help.
func once(page string) string {
	seen := map[string]bool{}
	paragraphs := strings.Split(page, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, "FILE must have ") && len(strings.Fields(paragraph)) >= longParagraph && seen[paragraph] {
			paragraphs[i] = "FILE must have the objects that stand above."
			continue
		}
		seen[paragraph] = true
		paragraphs[i] = withNewFlags(paragraph, seen)
	}
	return strings.Join(paragraphs, "\n\n")
}

// withNewFlags is a paragraph in which one line names the flags that stand above with the same sentence.
func withNewFlags(paragraph string, seen map[string]bool) string {
	var lines, above []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		words := strings.Join(strings.Fields(line), " ")
		flag := flagLine.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "  -h, --help "): // which the page says of all
		case flag != nil && seen[words]:
			above = append(above, flag[1])
		default:
			lines = append(lines, line)
		}
		seen[words] = true
	}
	if len(above) > 0 {
		named := "  as above: " + strings.Join(above, ", ")
		if end := slices.Index(lines, "```"); end >= 0 {
			return strings.Join(slices.Insert(lines, end, named), "\n")
		}
		lines = append(lines, named)
	}
	return strings.Join(lines, "\n")
}

// pageOf has a section for each command that does something.
func pageOf(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		var text strings.Builder
		for _, one := range cmd.Commands() {
			text.WriteString(pageOf(one))
		}
		return text.String()
	}
	if cmd.Name() == "help" {
		return ""
	}
	cmd.InitDefaultHelpFlag()
	sentence := strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:]
	return fmt.Sprintf("\n## %s\n\n%s.\n\n```\n%s```\n", cmd.CommandPath(), sentence, helpOf(cmd))
}

func helpOf(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.UsageString()
	}
	return cmd.Long + "\n\n" + cmd.UsageString()
}

// TestCommandsAreWhole: each command says what it does, and shows how.
func TestCommandsAreWhole(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, one := range cmd.Commands() {
			if one.Short == "" || !one.HasAvailableSubCommands() && !strings.HasPrefix(one.Example, "  clusterctl windows "+one.Name()) &&
				!strings.HasPrefix(one.Example, "  "+one.CommandPath()+" ") && one.Example != "  "+one.CommandPath() {
				t.Errorf("%s has the text %q and the example %q", one.CommandPath(), one.Short, one.Example)
			}
			look(one)
		}
		for line := range strings.Lines(helpOf(cmd)) {
			if len(strings.TrimSpace(line)) > 140 {
				t.Errorf("%s: a line of its help is too long: %s", cmd.CommandPath(), line)
			}
		}
	}
	look(newRoot(calledAs("clusterctl-windows"), streams{}))
}
