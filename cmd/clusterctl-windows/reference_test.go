package main

import (
	"fmt"
	"os"
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
	page := readText(t, aboutPage) + pageOf(root)
	if *update {
		expect.OK(t, os.WriteFile(referencePage, []byte(page), 0o600))
	}
	expect.Same(t, "make generate writes the page", readText(t, referencePage), page)
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
