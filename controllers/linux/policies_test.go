package linux

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// keeping is what is known of the policies of a Cluster.
type keeping struct {
	kept    bool
	warning string
	asked   *int
	pools   *string
}

func (k keeping) Kept(_ *clusterv1.Cluster, joining ...placement.Node) (kept bool, warning string) {
	*k.asked++
	for _, n := range joining {
		*k.pools += n.Name + " in " + n.Labels["pool"]
	}
	return k.kept, k.warning
}

// labelled has the config give its Node a label.
func labelled(key string, value bootstrapv1.LabelValue) func(*stage) {
	return func(s *stage) { s.candidate.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{key: value} }
}

// TestPolicies: the last thing that a machine waits for are the policies. Where they cannot be had, it passes with a warning.
// They are told which Node the machine will be, if a config says so. They are not asked for before Linux can carry the cluster.
func TestPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		kept    bool
		warning string
		change  func(*stage)
		want    phase.Stop
		asked   int
		pools   string
	}{
		"they act":        {true, "", func(*stage) {}, phase.Stop{}, 1, "win-1 in w"},
		"not yet":         {false, "", func(*stage) {}, polls("WaitingForLinuxPolicies"), 1, "win-1 in w"},
		"they cannot":     {true, "no right", func(*stage) {}, phase.Stop{}, 1, "win-1 in w"},
		"no Linux before": {false, "", func(s *stage) { s.nodes = nil }, polls("WaitingForLinuxNode"), 0, ""},
		"no config":       {true, "", func(s *stage) { s.candidate.Config = nil }, phase.Stop{}, 1, ""},
		"no Node of it":   {true, "", labelled("a b", ""), phase.Stop{}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked, pools := 0, ""
			s := newStage(labelled("pool", "w"), c.change)
			s.policies = keeping{c.kept, c.warning, &asked, &pools}
			passage, err := s.pass(t)
			got := phase.Of(err)
			got.Message = ""
			expect.Same(t, "stop", c.want, got)
			expect.Same(t, "unkept", c.warning, passage.Unkept)
			expect.Same(t, "asked", c.asked, asked)
			expect.Same(t, "told", c.pools, pools)
		})
	}
}
