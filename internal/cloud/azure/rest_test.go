package azure

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRestOfFailedRequests: what is there with all marks, and belongs to no VM, is left of requests that Azure refused, or
// accepted and then ended as failed. What the last accepted request makes is none of it, until its VM says what it has.
func TestRestOfFailedRequests(t *testing.T) {
	m := blueMachine()
	refused, accepted := next.Put{Sent: blueNoon, Answer: next.Refused}, next.Put{Sent: blueNoon, Answer: next.Accepted}
	failed := map[string]bool{"11111111-aaaa-bbbb-cccc-555555555555": true}
	has := lists.Record{Adapters: []string{blueNIC.Key()}}
	for name, c := range map[string]struct {
		of    work
		shown *lists.Record
		want  int
	}{
		"nothing failed":                     {work{put: accepted}, &lists.Record{}, 0},
		"the request was refused":            {work{put: refused}, nil, 1},
		"a VM failed, and none is asked for": {work{put: next.Put{}, failed: failed}, nil, 1},
		"a VM failed, the next one is made":  {work{put: accepted, failed: failed}, nil, 0},
		"a VM failed, the next one is there": {work{put: accepted, failed: failed}, &lists.Record{}, 1},
		"the next one has it":                {work{put: accepted, failed: failed}, &has, 0},
	} {
		s := (&lists.Lists{}).Scope(blueGroup)
		stateIn(s).Remnants = map[string]lists.Remnant{blueNIC.Key(): {ID: blueNIC, UniqueID: blueID, Mark: blueMark()}}
		rest := c.of.rest(stateIn(s), m, c.shown)
		expect.Same(t, name, c.want, len(rest))
	}
}
