package linux

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// FuzzReport: whatever a cluster shows, there is a report, which says nothing that a terminal obeys.
func FuzzReport(f *testing.F) {
	odd.Fuzz(f, checkReport)
}

func checkReport(t *testing.T, source *odd.Source) {
	c := Cluster{Seen: source.Seen(), Workloads: source.Workloads()}
	c.Policies = Policies{
		ServesMutating: source.Once(2), ServesValidating: source.Once(2), Hidden: source.Once(8), Tried: source.Once(2),
		Refuses: source.Once(2), Changes: source.Once(2),
	}
	if source.Once(2) {
		c.Policies.Present = append(names(policies.Validating()), names(policies.Mutating())...)
	}
	items := Report(c).Items
	if len(items) < 2+len(c.Workloads) {
		t.Errorf("%d findings on %d workloads", len(items), len(c.Workloads))
	}
	for _, one := range items {
		for _, text := range []string{one.Check, one.Message} {
			if text == "" || cloud.Clean(text, 1<<20) != text || strings.Contains(text, "%!") {
				t.Errorf("%q", text)
			}
		}
	}
}

// TestNodeOfThatName: a Node may be called what stands for a first one.
func TestNodeOfThatName(t *testing.T) {
	c := cluster("v1.36.3")
	c.Windows[0].Name, c.Windows[0].Taints = "a first Windows Node", nil
	if text := of(t, c, "Nodes").Message; strings.Contains(text, "there is none") {
		t.Error(text)
	}
}
