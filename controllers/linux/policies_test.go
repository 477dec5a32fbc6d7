package linux

import (
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// keeping is what is known of the policies of a Cluster.
type keeping struct {
	kept    bool
	warning string
	asked   *int
}

func (k keeping) Kept(*clusterv1.Cluster, client.ObjectKey) (kept bool, warning string) {
	*k.asked++
	return k.kept, k.warning
}

// TestPolicies: the last thing that a machine waits for are the policies. Where they cannot be had, it passes with a warning.
// They are not asked for before Linux can carry the cluster.
func TestPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		kept    bool
		warning string
		change  func(*stage)
		want    phase.Stop
		asked   int
	}{
		"they act":        {true, "", func(*stage) {}, phase.Stop{}, 1},
		"not yet":         {false, "", func(*stage) {}, polls("WaitingForLinuxPolicies"), 1},
		"they cannot":     {true, "no right", func(*stage) {}, phase.Stop{}, 1},
		"no Linux before": {false, "", func(s *stage) { s.nodes = nil }, polls("WaitingForLinuxNode"), 0},
		"no config":       {true, "", func(s *stage) { s.candidate.Config = nil }, phase.Stop{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := newStage(c.change)
			s.policies = keeping{c.kept, c.warning, &asked}
			passage, err := s.pass(t)
			got := phase.Of(err)
			got.Message = ""
			expect.Same(t, "stop", c.want, got)
			expect.Same(t, "unkept", c.warning, strings.Join(passage.Unkept, "; "))
			expect.Same(t, "asked", c.asked, asked)
		})
	}
}
