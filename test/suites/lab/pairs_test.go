package lab_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Every pair of the page of networks, which has those of the profiles, is joined by TestJoins, and every mode and CNI of the API
// is in one. What the lab takes for given of a pair is what the page says.
func TestEveryPairIsJoined(t *testing.T) {
	page := string(expect.Got(os.ReadFile("../../../docs/networks.md"))(t))
	_, table, _ := strings.Cut(page, "| Programs in the image |")
	table, _, _ = strings.Cut(table, "\n\n")
	var want, got []string
	inTable := map[string]bool{}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| "), "`", ""), " | ")
		// mode, CNI, programs, who makes the vSwitch, whether each start puts it in order
		want = append(want, strings.Join([]string{cells[0], cells[1], cells[2], cells[5], cells[6]}, " | "))
		inTable[cells[0]], inTable[cells[1]] = true, true
	}
	for _, m := range slices.Concat(modes, azureModes) {
		if row := m.row(); !m.dual && !slices.Contains(got, row) { // a pair may be joined in more than one world
			got = append(got, row)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	expect.Same(t, "the pairs of docs/networks.md, and those that are joined", want, got)
	for _, value := range networkEnums(t) {
		if !inTable[value] {
			t.Errorf("%s of spec.network is in no pair", value)
		}
	}
}

// row of the table of what a pair needs.
func (m mode) row() string {
	answer := map[bool]string{true: "yes", false: "no"}
	cells := []string{string(m.mode), string(m.cni), strings.Join(m.programs, ", "), answer[m.external == ""], answer[m.booted]}
	for i, cell := range cells {
		if cell == "" {
			cells[i] = "-"
		}
	}
	return strings.Join(cells, " | ")
}

// networkEnums are the values of mode and of cni, as the API's types have them.
func networkEnums(t *testing.T) []string {
	t.Helper()
	types := string(expect.Got(os.ReadFile("../../../api/bootstrap/v1beta1/network_types.go"))(t))
	var values []string
	for _, kind := range []string{"NetworkMode", "CNI"} {
		found := regexp.MustCompile(`Enum=([A-Za-z0-9;]+)\ntype ` + kind + ` string`).FindStringSubmatch(types)
		if found == nil {
			t.Fatalf("the API has no enum %s", kind)
		}
		values = append(values, strings.Split(found[1], ";")...)
	}
	return values
}
