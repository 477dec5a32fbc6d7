package step

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"paths": apirules.Matches(PlainPath), "names": apirules.Matches(goodName),
		"devices": "!" + apirules.Matches(plan.DeviceName),
		"places":  strings.ToLower("[r'"+strings.Join(slices.Concat(ownPlaces, otherNames), "', r'")+"']") + ".exists(",
	})
}
