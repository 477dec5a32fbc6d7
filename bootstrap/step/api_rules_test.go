package step

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"paths": apirules.Matches(PlainPath), "names": apirules.Matches(goodName),
		"devices":                "!" + apirules.Matches(plan.DeviceName),
		"places of the join":     listed(joinPlaces),
		"places of the programs": listed(programPlaces), "links of Windows": listed(otherNames),
	})
}

func listed(places []string) string {
	return strings.ToLower("[r'"+strings.Join(places, "', r'")+"']") + ".exists("
}
