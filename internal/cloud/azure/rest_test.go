package azure

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestRestOfFailedRequests: what is there with all marks, and belongs to no VM, is left of requests that Azure refused, or
// accepted and then ended as failed. What the last accepted request makes is none of it, until its VM says what it has.
func TestRestOfFailedRequests(t *testing.T) {
	m := blue.Machine()
	refused, accepted := next.Put{Sent: blue.Noon, Answer: next.Refused}, next.Put{Sent: blue.Noon, Answer: next.Accepted}
	failed := map[string]bool{"11111111-aaaa-bbbb-cccc-555555555555": true}
	has := lists.Record{Adapters: []string{blue.NIC.Key()}}
	for name, c := range map[string]struct {
		of    work
		shown *lists.Record
		want  int
	}{
		"nothing failed":                     {work{Memory: next.Memory{Put: accepted}}, &lists.Record{}, 0},
		"the request was refused":            {work{Memory: next.Memory{Put: refused}}, nil, 1},
		"a VM failed, and none is asked for": {work{Memory: next.Memory{Put: next.Put{}}, failed: failed}, nil, 1},
		"a VM failed, the next one is made":  {work{Memory: next.Memory{Put: accepted}, failed: failed}, nil, 0},
		"a VM failed, the next one is there": {work{Memory: next.Memory{Put: accepted}, failed: failed}, &lists.Record{}, 1},
		"the next one has it":                {work{Memory: next.Memory{Put: accepted}, failed: failed}, &has, 0},
	} {
		s := (&lists.Lists{}).Scope(blue.Group)
		stateIn(s).Remnants = map[string]lists.Remnant{blue.NIC.Key(): {ID: blue.NIC, UniqueID: blue.ID, Mark: blue.Mark()}}
		rest := c.of.rest(stateIn(s), m, c.shown)
		expect.Same(t, name, c.want, len(rest))
	}
}

// TestRestIsOurs: what another management cluster marked is not what our request left.
func TestRestIsOurs(t *testing.T) {
	refused := work{Memory: next.Memory{Put: next.Put{Sent: blue.Noon, Answer: next.Refused}}}
	for manager, want := range map[types.UID]int{blue.Machine().Cluster.Manager: 1, "elsewhere": 0} {
		s, mark := (&lists.Lists{}).Scope(blue.Group), blue.Mark()
		mark.Cluster.Manager = manager
		stateIn(s).Remnants = map[string]lists.Remnant{blue.NIC.Key(): {ID: blue.NIC, UniqueID: blue.ID, Mark: mark}}
		expect.Same(t, string(manager), want, len(refused.rest(stateIn(s), blue.Machine(), nil)))
	}
}
