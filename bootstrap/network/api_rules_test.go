package network

import (
	"fmt"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"firewall rules": apirules.In(ownRules),
		"node ports":     fmt.Sprintf("self.?nodePorts.?first.orValue(%d)", defaultNodePorts.Last),
		"dynamic ports":  fmt.Sprintf(">= %d", fewestDynamicPorts-1),
	})
}
