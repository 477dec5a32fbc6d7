package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// brakePools are pools of TestHealthBrake: how many nodes they have, and how many Machines they have made in the end.
var brakePools = map[string]struct {
	reason   string
	replicas int32
	made     int
}{
	"one":   {"a pool of one is not beyond help", 1, 2},
	"two":   {"nor is one of two", 2, 4},
	"eight": {"the network is cut, not eight machines broken", 8, 8},
	"waves": {"two are lost, and a third before their successors have joined", 8, 11},
	"torn":  {"all are cut off, and nobody brakes", 8, 16},
	"new":   {"the first guest fails", 3, 4},
}

// TestHealthBrake runs Cluster API's MachineHealthCheck and MachineDeployment with the brake of docs/health.md.
//
//nolint:paralleltest // because its clock runs so fast that the work of other tests would make guests look silent
func TestHealthBrake(t *testing.T) {
	p := newPools(t, newStage(t, world.Start{Credentials: password}), haste)
	slow := well(deadline - time.Minute)
	p.first["new"], p.later["new"], p.later["waves"] = healthPools["failed"].first, later{1, slow}, later{8, slow}
	seen := p.watchBrake()
	for name, pool := range brakePools {
		p.create(t, name, pool.replicas, nil)
	}
	p.release(t, "torn")
	p.await(t, "pools to be whole", func() string { return p.incomplete("one", "two", "eight", "waves", "torn") })
	seen.begin()

	p.missKubelets(t, slices.Concat(p.machines["one"], p.machines["two"], p.machines["eight"], p.machines["torn"],
		p.machines["waves"][:2])...)
	cut := time.Now()
	p.await(t, "the first wave to be replaced", func() string {
		if all := p.machines["waves"]; len(all) < 10 || all[0].DeletionTimestamp.IsZero() || all[1].DeletionTimestamp.IsZero() {
			return fmt.Sprintf("%d machines", len(all))
		}
		return ""
	})
	p.missKubelets(t, p.machines["waves"][2])
	p.await(t, "all replacements", func() string {
		for name, pool := range brakePools {
			if len(p.machines[name]) < pool.made {
				return name
			}
		}
		return p.incomplete("one", "two", "waves", "torn", "new")
	})
	p.await(t, "three times the time of the rule", func() string {
		if left := 3*ruleTime - time.Since(cut); left > 0 {
			return left.String()
		}
		return ""
	})

	want := map[string]int{}
	for name, pool := range brakePools {
		want[name] = pool.made
	}
	made := p.made()
	made["torn"] = min(made["torn"], want["torn"]) // of many at once, Cluster API may make one too many, and take it back
	expect.Same(t, "machines made per pool", want, made)
	expect.Same(t, "machines of eight that were deleted at the same time", 2, seen.deleting["torn"])
	expect.Same(t, "machines of eight that were away at the same time", 2, seen.away["waves"])
	if seen.joinedBefore == 0 {
		t.Error("the failed guest of the new pool was replaced while no Machine of the pool had a Node")
	}
	t.Logf("%d of 2 others had a Node when the failed guest of the new pool was replaced", seen.joinedBefore)
	p.wantHeld(t, "eight")
}

// wantHeld checks what the brake says while it holds, and that it lets go when the kubelets are back.
func (p *pools) wantHeld(t *testing.T, pool string) {
	t.Helper()
	allowed := func() string {
		check := &clusterv1.MachineHealthCheck{}
		expect.OK(t, p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Name, Name: pool}, check))
		c := conditions.Get(check, clusterv1.MachineHealthCheckRemediationAllowedCondition)
		return string(c.Status) + " " + c.Reason + " " + c.Message
	}
	// Cluster API counts the unhealthy when the brake takes hold, and not again while nothing changes.
	if said := allowed(); !strings.HasPrefix(said, "False TooManyUnhealthy ") ||
		!strings.Contains(said, "(total: 8, unhealthy: ") || !strings.HasSuffix(said, ", maxUnhealthy: 2)") {
		t.Fatalf("the brake of a pool that is cut off says %q", said)
	}
	for _, m := range p.machines[pool] {
		setNode(t, p, p.NewMachine(m.Name).Load(t).Node, corev1.ConditionTrue, "")
	}
	p.await(t, "the brake to let go", func() string {
		said := allowed()
		if strings.HasPrefix(said, "True ") {
			return ""
		}
		return said
	})
	expect.Same(t, "machines that the pool has made", 8, len(p.machines[pool]))
}

// release takes the brake out of a pool's MachineHealthCheck.
func (p *pools) release(t *testing.T, pool string) {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Name, Name: pool}, check))
	braked := check.DeepCopy()
	check.Spec.Remediation = clusterv1.MachineHealthCheckRemediation{}
	expect.OK(t, p.Client.Patch(t.Context(), check, client.MergeFrom(braked)))
}

// brakeSeen is the most that was going on in a pool at any time.
type brakeSeen struct {
	began bool
	// deleting are Machines that were being deleted, away what lacks to the size of the pool: Machines with a Node that stay.
	deleting, away map[string]int
	// joinedBefore is how many Machines of the new pool had a Node when its first was deleted.
	joinedBefore int
}

// begin starts the count: until then, pools grow.
func (s *brakeSeen) begin() { s.began = true }

func (p *pools) watchBrake() *brakeSeen {
	s := &brakeSeen{deleting: map[string]int{}, away: map[string]int{}}
	replaced := false
	p.noted = func(pool string) {
		if s.began {
			s.deleting[pool] = max(s.deleting[pool], p.deleting(pool))
			s.away[pool] = max(s.away[pool], int(brakePools[pool].replicas)-p.staying(pool))
		}
		if pool == "new" && !replaced && !p.machines[pool][0].DeletionTimestamp.IsZero() {
			replaced, s.joinedBefore = true, p.staying(pool)
		}
	}
	return s
}

// deleting counts a pool's Machines that are being deleted, staying those with a Node that are not.
func (p *pools) deleting(pool string) (count int) {
	for _, m := range p.machines[pool] {
		if !m.DeletionTimestamp.IsZero() && !p.gone[m.UID] {
			count++
		}
	}
	return count
}

func (p *pools) staying(pool string) (count int) {
	for _, m := range p.machines[pool] {
		if m.DeletionTimestamp.IsZero() && m.Status.NodeRef.IsDefined() {
			count++
		}
	}
	return count
}

// incomplete says which of the pools have not all of their nodes.
func (p *pools) incomplete(names ...string) string {
	var missing []string
	for _, name := range names {
		if n := p.staying(name); n != int(brakePools[name].replicas) {
			missing = append(missing, fmt.Sprintf("%s has %d of %d", name, n, brakePools[name].replicas))
		}
	}
	return strings.Join(missing, ", ")
}
