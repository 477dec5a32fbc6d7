package step

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"paths": apirules.Matches(PlainPath), "names": apirules.Matches(goodName),
		"devices":            "!" + apirules.Matches(plan.DeviceName),
		"places of the join": below(joinPlaces), "places of the programs, and links": below(slices.Concat(programPlaces, otherNames)),
		"folders of reserved places": above(slices.Concat(joinPlaces, programPlaces, otherNames)),
	})
}

// below are the rules of a path, with a backslash at its end, for what is in one of the places.
func below(places []string) string {
	quoted := make([]string, len(places))
	for i, place := range places {
		quoted[i] = regexp.QuoteMeta(strings.ToLower(place))
	}
	return `path.matches(r'^(` + strings.Join(quoted, "|") + `)\\')`
}

// above are those for the folders in which the places are.
func above(places []string) string {
	folders := map[string]bool{}
	for _, place := range places {
		for i, c := range place {
			if c == '\\' {
				folders[strings.ToLower(place[:i+1])] = true
			}
		}
	}
	return `r'|` + strings.Join(slices.Sorted(maps.Keys(folders)), "|") + `|'.contains('|' + path + '|')`
}
