package identities

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHolder: metrics and the log name an account by its holder, which must differ from all other holders, and be readable.
func TestHolder(t *testing.T) {
	machine := types.NamespacedName{Namespace: "team", Name: "m"}
	identity := types.NamespacedName{Namespace: "ids", Name: "prod"}
	for want, use := range map[string]Use{
		"team/the manager's own identity":                         {Machine: machine},
		"team/the manager's own identity in AzureChinaCloud":      {Machine: machine, Cloud: "AzureChinaCloud"},
		"team/AzureClusterIdentity ids/prod":                      {Machine: machine, Identity: identity},
		"team/AzureClusterIdentity ids/prod in AzureUSGovernment": {Machine: machine, Identity: identity, Cloud: "AzureUSGovernment"},
	} {
		expect.Same(t, "holder", want, use.Holder().String())
	}
}
