package kubelet

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"feature gate": "gate.name == '" + logQueryGate + "'", "arguments": apirules.Matches(plainArgument),
	})
}
