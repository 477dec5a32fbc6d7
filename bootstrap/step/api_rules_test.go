package step

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"paths": apirules.Matches(PlainPath), "names": apirules.Matches(goodName),
		"places": strings.ToLower("[r'"+strings.Join(ownPlaces, "', r'")+"']") + ".exists(",
	})
}
