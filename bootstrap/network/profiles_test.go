package network

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The table of what each pair needs, in docs/networks.md, has what the profiles have.
func TestNeedsAreDocumented(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../docs/networks.md"))(t))
	_, table, _ := strings.Cut(page, "| Programs in the image |")
	_, table, _ = strings.Cut(table, "| --- | --- | --- | --- | --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, p := range profiles {
		want = append(want, p.needs())
	}
	expect.Same(t, "the table of docs/networks.md", strings.Join(want, "\n"), table)
}

// A table for contributors lists what the bootstrap makes for each pair, and when.
func TestMakesAreDocumented(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../docs/contributing/pods.md"))(t))
	_, table, _ := strings.Cut(page, "| CNI configuration that the bootstrap writes |\n| --- | --- | --- | --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want, got []string
	for _, p := range profiles {
		want = append(want, p.makes())
	}
	for line := range strings.SplitSeq(table, "\n") {
		got = append(got, made(strings.Split(strings.Trim(line, "| "), " | ")))
	}
	expect.Same(t, "the table of networks in docs/contributing/pods.md", want, got)
}

// makes of a pair: its clouds, the network before the join, the pods' network, the file, and what comes later.
func (p profile) makes() string {
	clouds := "both"
	switch {
	case p.azureOnly:
		clouds = "Azure"
	case p.mode == bootstrapv1.NetworkTransparent:
		clouds = "vSphere"
	}
	// What needs the Node's pod CIDR. Flannel's VXLAN needs it for kube-proxy alone.
	later := p.config != nil && (p.taken != "" || p.sourceVIP == vipReserved)
	return fmt.Sprintln(p.mode, p.cni, clouds, p.external, strings.ReplaceAll(p.hnsNetwork, "%d", "VNI"), p.file, later)
}

// made is the same of the cells of the page, whose names are in quotes.
func made(cells []string) string {
	name := func(cell int) string {
		found := regexp.MustCompile("^(?:network )?`([^`]+)`").FindStringSubmatch(cells[cell])
		return append(found, "", "")[1]
	}
	clouds := cells[2]
	if strings.HasPrefix(clouds, "vSphere, Azure") {
		clouds = "both"
	}
	return fmt.Sprintln(name(0), name(1), clouds, name(3), name(4), name(5),
		strings.Contains(cells[5], "after the join"))
}

// needs of a pair, as a row.
func (p profile) needs() string {
	var ports []string
	for _, rule := range p.ports {
		ports = append(ports, rule.protocol+" "+rule.ports)
	}
	cells := []string{
		quoted(string(p.mode)), quoted(string(p.cni)), quoted(p.programs...), quoted(p.features...), orDash(strings.Join(ports, ", ")),
		map[bool]string{true: "no", false: "yes"}[p.external != ""], map[bool]string{true: "yes", false: "no"}[p.booted],
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func quoted(names ...string) string {
	text := ""
	for i, name := range names {
		if name == "" {
			continue
		}
		if i > 0 {
			text += ", "
		}
		text += "`" + name + "`"
	}
	return orDash(text)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Each pair has a heading on the page that says what its users apply, with commands, and before the tables.
func TestWhatToApplyIsDocumented(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../docs/networks.md"))(t))
	for _, fault := range lacksWhatToApply(page) {
		t.Error("docs/networks.md: " + fault)
	}
	for _, change := range [][2]string{
		{"### What you apply: `Antrea`", "### Antrea"},
		{"\n```sh\n", "\n```\n"},
		{"\n**1. ", "\n**Then** "},
		{"\n## What you apply\n", "\n| Mode | CNI |\n| --- | --- |\n\n## What you apply\n"},
	} {
		if without := strings.ReplaceAll(page, change[0], change[1]); without == page || len(lacksWhatToApply(without)) == 0 {
			t.Errorf("a page that has %q in place of %q has no fault", change[1], change[0])
		}
	}
}

// lacksWhatToApply says for which pairs the page does not say what their users apply.
func lacksWhatToApply(page string) []string {
	sections := regexp.MustCompile("(?m)^##+ ").Split(page, -1)
	table := slices.IndexFunc(sections, func(section string) bool { return strings.Contains(section, "\n| Mode | CNI |") })
	var faults []string
	for _, p := range profiles {
		cni := "no `cni`"
		if p.cni != "" {
			cni = "`" + string(p.cni) + "`"
		}
		at := slices.IndexFunc(sections, func(section string) bool {
			heading, _, _ := strings.Cut(section, "\n")
			return strings.HasPrefix(heading, "What you apply: ") && strings.Contains(heading, cni) &&
				strings.Contains(heading, "`"+string(p.mode)+"`")
		})
		what := fmt.Sprintf("what you apply for %s in %s", cni, p.mode)
		switch {
		case at < 0:
			faults = append(faults, "no heading says "+what)
		case !strings.Contains(sections[at], "\n```sh\n") || !strings.Contains(sections[at], "\n**1. "):
			faults = append(faults, what+" is not in order, with commands")
		case table < at:
			faults = append(faults, what+" stands behind the tables")
		}
	}
	return faults
}
