package permissions

import (
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// Proof is a call that another test sees than the one that compares the table.
type Proof struct{ Call, Test string }

// guarded is what the API server asks about when its plugin OwnerReferencesPermissionEnforcement sees an owner that must not be
// deleted before what it owns. It is no request of its own.
const guarded = " with blockOwnerDeletion"

// Elsewhere are the permissions that no request of a pool's life takes in the lab.
var Elsewhere = map[string]Proof{
	"bootstrap: patch secrets":                   {Call: "PATCH /api/v1/namespaces/NAMESPACE/secrets/NAME", Test: "TestOwnedAgain"},
	"bootstrap: patch events.events.k8s.io":      {Call: patchEvent, Test: "TestToldTwice"},
	"infrastructure: patch events.events.k8s.io": {Call: patchEvent, Test: "TestToldTwice"},

	"bootstrap: update windowsbootstrapconfigs/finalizers.bootstrap.cluster.x-k8s.io": {
		Call: "POST /api/v1/namespaces/NAMESPACE/secrets" + guarded, Test: "TestLifeOfAPool",
	},
	"infrastructure: update windowsmachines/finalizers.infrastructure.cluster.x-k8s.io": {
		Call: "POST /apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/NAMESPACE/ipaddressclaims" + guarded, Test: "TestLifeOfAPool",
	},
}

const patchEvent = "PATCH /apis/events.k8s.io/v1/namespaces/NAMESPACE/events/NAME"

// Proved checks that a manager of ours has made the calls that stand in the table as this test's.
func Proved(t *testing.T, m *servers.Management, names ...string) {
	t.Helper()
	audit, err := m.Audit()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		proof := Elsewhere[name]
		i := slices.IndexFunc(audit.Used, func(p servers.Permission) bool { return p.String() == name })
		if proof.Test != t.Name() || i < 0 || !slices.Contains(audit.Calls[audit.Used[i]], proof.Call) {
			t.Errorf("%q must be proved here by %q, and the table has %+v", name, audit.Calls, proof)
		}
	}
}
