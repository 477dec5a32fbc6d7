package windows

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"users": apirules.In(builtInUsers),
	})
}
