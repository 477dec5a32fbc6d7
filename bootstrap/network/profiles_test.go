package network

import (
	"os"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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

// needs of a pair, as a row.
func (p profile) needs() string {
	var ports []string
	for _, rule := range p.ports {
		ports = append(ports, rule.protocol+" "+rule.ports)
	}
	if p.cni == bootstrapv1.CNIOVNKubernetes {
		ports = append(ports, "UDP `vxlanPort`")
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
