package repo

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// The page for administrators of a vCenter shows the privileges that the code lists: in its tables, and in its commands. A test
// of internal/cloud/vsphere carries the commands out, and compares them with what machines use.
func TestVCenterPrivileges(t *testing.T) {
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "vcenter.md")))(t))
	labels := map[string]string{}
	for role, kinds := range map[string][]string{
		"capwin-machines": {privileges.Folder, privileges.VM},
		"capwin-places":   {privileges.Template, privileges.Pool, privileges.Datastore, privileges.Networks},
	} {
		_, tables, _ := strings.Cut(page, "\n**"+role+"** ")
		tables, _, _ = strings.Cut(tables, "\n**")
		shown := needsShown(tables)
		for _, row := range rowsOf(tables) {
			labels[row[0]] = cmp.Or(labels[row[0]], row[1])
			expect.Same(t, "the words of the vSphere Client for "+row[0], labels[row[0]], row[1])
		}
		expect.Same(t, "tables of "+role, privilegesListed(kinds), shown)
		_, command, _ := strings.Cut(page, "govc role.create "+role+" ")
		command, _, _ = strings.Cut(command, "\ngovc ")
		words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
		expect.Same(t, "command for "+role, vcenter.PrivilegesOn(privileges.Needs, kinds...), words)
	}
}

// The third list is what the provider of Linux machines takes, which a test of test/suites/frontdoor runs with exactly that. Its
// role is for both providers.
func TestLinuxPrivileges(t *testing.T) {
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "vcenter.md")))(t))
	_, section, _ := strings.Cut(page, "\n## For the Linux machines\n")
	section, _, _ = strings.Cut(section, "\n## ")
	kinds := []string{
		privileges.Folder, privileges.VM, privileges.Template, privileges.Pool, privileges.Datastore, privileges.Networks,
	}
	_, without, _ := strings.Cut(section, "without `")
	without, _, _ = strings.Cut(without, "`")
	shown := needsShown(section)
	for _, need := range privileges.Needs {
		if need.When = ""; need.Privilege != without {
			shown = append(shown, needsListed([]privileges.Need{need}, kinds)...)
		}
	}
	slices.Sort(shown)
	expect.Same(t, "what the Linux machines need", needsListed(vcenter.LinuxNeeds, kinds), shown)
	_, command, _ := strings.Cut(section, "govc role.create capwin-linux ")
	command, _, _ = strings.Cut(command, "\ngovc ")
	both := vcenter.PrivilegesOn(slices.Concat(privileges.Needs, vcenter.LinuxNeeds), kinds[:2]...)
	expect.Same(t, "command for both", both, strings.Fields(strings.ReplaceAll(command, "\\\n", " ")))
	given := layoutCommands(section)
	expect.Same(t, "places", []string{"capwin-linux yes", "capwin-places no"}, given)
}

// needsShown are the rows of tables, in the form of needsListed. One with the column Call is of the VM, where all is always
// needed; the others are of CloneVM_Task, on the folder if they do not name another object.
func needsShown(tables string) (all []string) {
	const byClone = "`CloneVM_Task`"
	head := ""
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "| Privilege ") {
			head = line
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		row := cells(strings.TrimSpace(line))
		need := []string{row[0], byClone, privileges.Folder, row[len(row)-1]}
		switch {
		case strings.Contains(head, " Call "):
			need = []string{row[0], row[2], privileges.VM, "always"}
		case strings.Contains(head, " On "):
			need[2] = row[2]
		}
		all = append(all, strings.Join(need, " | "))
	}
	slices.Sort(all)
	return all
}

func privilegesListed(kinds []string) []string { return needsListed(privileges.Needs, kinds) }

func needsListed(needs []privileges.Need, kinds []string) (all []string) {
	for _, need := range needs {
		if slices.Contains(kinds, need.On) && !strings.HasPrefix(need.Privilege, "System.") {
			when := cmp.Or(need.When, "always")
			all = append(all, "`"+need.Privilege+"` | `"+need.Method+"` | "+need.On+" | "+when)
		}
	}
	slices.Sort(all)
	return all
}

// The tables "Where to give them" have what the commands give: that of both layouts, and those of the first choice and of the
// narrow one. The role of the cluster, which only some have, is in a block of its own.
func TestVCenterLayouts(t *testing.T) {
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "vcenter.md")))(t))
	_, tables, _ := strings.Cut(page, "\n## Where to give them\n")
	tables, commands, _ := strings.Cut(tables, "\n## With govc\n")
	tables, _, _ = strings.Cut(tables, "\n## ")
	both, tables, _ := strings.Cut(tables, "**First choice: ")
	first, narrow, _ := strings.Cut(tables, "**Second choice: ")
	blocks := strings.Split(commands, "```sh\n")
	expect.Same(t, "blocks of commands, and the text before them", true, len(blocks) > 5)
	for name, c := range map[string]struct{ table, commands string }{
		"both": {both, blocks[2]}, "first choice": {first, blocks[3]}, "narrow": {narrow, blocks[4] + blocks[5]},
	} {
		var listed []string
		for _, row := range rowsOf(c.table) {
			listed = append(listed, strings.ReplaceAll(row[1], "Read-only", "ReadOnly")+" "+row[2])
		}
		slices.Sort(listed)
		expect.Same(t, name, listed, layoutCommands(c.commands))
	}
}

// layoutCommands lists the role, and whether it propagates, of each object to which the commands give one.
func layoutCommands(text string) (all []string) {
	propagates := map[string]string{"-propagate=true": "yes", "-propagate=false": "no"}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) < 7 || words[1] != "permissions.set" {
			continue
		}
		for range words[7:] { // after the principal, the role and whether it propagates
			all = append(all, words[5]+" "+propagates[words[6]])
		}
	}
	slices.Sort(all)
	return all
}
