package health

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// brakePools are pools of TestHealthBrake: how many nodes they have, what happens to them, and how many Machines they have made
// in the end.
var brakePools = map[string]struct {
	reason   string
	replicas int32
	play     func(*testing.T, *pool)
	made     int
}{
	"one":   {"a pool of one is not beyond help", 1, cutOff, 2},
	"two":   {"nor is one of two", 2, cutOff, 4},
	"eight": {"the network is cut, not eight machines broken", 8, cutOffAndHeld, 8},
	"waves": {"two are lost, and a third before their successors have joined", 8, lostInWaves, 11},
	"torn":  {"all are cut off, and nobody brakes", 8, cutOffWithoutBrake, 16},
	"new":   {"the first guest fails", 3, failedInANewPool, 4},
}

// TestHealthBrake runs Cluster API's MachineHealthCheck and MachineDeployment with the brake of docs/health.md.
func TestHealthBrake(t *testing.T) {
	t.Parallel()
	for name, row := range brakePools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, p *pool) {
				p.create(t, row.replicas, nil)
				p.replicas = int(row.replicas)
				row.play(t, p)
				expect.Same(t, row.reason+": machines made", row.made, len(p.machines))
				expect.Same(t, row.reason+": machines with a Node in the end", p.replicas, p.staying())
			})
		})
	}
}

// whole lets the pool grow.
func (p *pool) whole(t *testing.T) {
	t.Helper()
	p.until(t, "a pool of all nodes", func() bool { return p.staying() == p.replicas })
}

// cutOff has all kubelets silent for three times the time of the rule. Those of new machines are not.
func cutOff(t *testing.T, p *pool) {
	p.whole(t)
	p.missKubelets(t, p.machines...)
	p.pass(t, 3*unknownRule)
}

// cutOffAndHeld has the brake take hold, and let go when the kubelets are back.
func cutOffAndHeld(t *testing.T, p *pool) {
	cutOff(t, p)
	// Cluster API counts the unhealthy when the brake takes hold, and not again while nothing changes.
	if shown := p.allowed(t); !strings.HasPrefix(shown, "False TooManyUnhealthy ") ||
		!strings.Contains(shown, "(total: 8, unhealthy: ") || !strings.HasSuffix(shown, ", maxUnhealthy: 2)") {
		t.Errorf("the brake of a pool that is cut off shows %q", shown)
	}
	for _, m := range p.machines {
		p.setNode(t, m.Name, corev1.ConditionTrue)
	}
	p.pass(t, unknownRule)
	if shown := p.allowed(t); !strings.HasPrefix(shown, "True ") {
		t.Errorf("the brake of a pool that is back shows %q", shown)
	}
}

// allowed is what the brake shows.
func (p *pool) allowed(t *testing.T) string {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, p.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, check))
	c := conditions.Get(check, clusterv1.MachineHealthCheckRemediationAllowedCondition)
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

// lostInWaves loses two nodes, and a third while those that replace them bootstrap.
func lostInWaves(t *testing.T, p *pool) {
	p.later, p.from = well(2*unknownRule), 8
	p.whole(t)
	away := 0
	p.noted = func() { away = max(away, p.replicas-p.staying()) }
	p.missKubelets(t, p.machines[:2]...)
	p.until(t, "the first wave to be replaced", func() bool {
		return len(p.machines) == 10 && !p.machines[0].DeletionTimestamp.IsZero() && !p.machines[1].DeletionTimestamp.IsZero()
	})
	p.missKubelets(t, p.machines[2])
	lost := time.Now()
	p.whole(t)
	p.until(t, "the third to be replaced", func() bool { return !p.machines[2].DeletionTimestamp.IsZero() })
	if !p.machines[8].Status.NodeRef.IsDefined() && !p.machines[9].Status.NodeRef.IsDefined() {
		t.Error("the third machine was replaced before another node had joined")
	}
	t.Logf("the third machine was replaced %s after it was lost", p.machines[2].DeletionTimestamp.Sub(lost))
	p.whole(t)
	expect.Same(t, "machines that were away at the same time", 2, away)
}

// cutOffWithoutBrake shows what maxInFlight does alone.
func cutOffWithoutBrake(t *testing.T, p *pool) {
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, p.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, check))
	check.Spec.Remediation = clusterv1.MachineHealthCheckRemediation{}
	expect.OK(t, p.management.Update(t.Context(), check))
	deleting := 0
	p.noted = func() { deleting = max(deleting, p.deleting()) }
	cutOff(t, p)
	expect.Same(t, "machines that were deleted at the same time", 2, deleting)
}

// failedInANewPool has the first guest fail, and the others come late.
func failedInANewPool(t *testing.T, p *pool) {
	p.first, p.later, p.from = reports(gaveUp), well(2*bootstrapRule), 1
	joined := -1
	p.noted = func() {
		if joined < 0 && !p.machines[0].DeletionTimestamp.IsZero() {
			joined = p.staying()
		}
	}
	p.pass(t, 2*deadline)
	if joined < 1 {
		t.Errorf("the failed guest was replaced when %d machines of the pool had a Node", joined)
	}
	t.Logf("%d of 2 others had a Node when the failed guest was replaced", joined)
}
