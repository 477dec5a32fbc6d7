package machine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
)

// censusCache is a cache with these machines.
type censusCache struct {
	client.Reader
	machines []infrav1.WindowsMachine
	err      error
}

func (c censusCache) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	to.(*infrav1.WindowsMachineList).Items = c.machines
	return c.err
}

func censusMachine(phase infrav1.Phase, ready metav1.ConditionStatus, reason string, ago time.Duration) infrav1.WindowsMachine {
	m := infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(begin.Add(-time.Hour))}}
	m.Status.Phase = phase
	m.Status.Conditions = []metav1.Condition{{
		Type: infrav1.ReadyCondition, Status: ready, Reason: reason, LastTransitionTime: metav1.NewTime(begin.Add(-ago)),
	}}
	return m
}

func censusOf(t *testing.T, cache censusCache, change ...func(*Census)) scrape.Samples {
	t.Helper()
	elected := make(chan struct{})
	close(elected)
	c := Census{Client: cache, Elected: elected, Now: func() time.Time { return begin }}
	for _, one := range change {
		one(&c)
	}
	registry := prometheus.NewPedanticRegistry()
	expect.OK(t, registry.Register(c))
	problems := expect.Got(testutil.GatherAndLint(registry))(t)
	expect.Same(t, "what Prometheus' linter finds", 0, len(problems))
	return scrape.Of(t, registry)
}

func TestCensus(t *testing.T) {
	deleting := censusMachine(infrav1.PhaseDeleting, metav1.ConditionFalse, infrav1.DeletingReason, 50*time.Minute)
	deleting.DeletionTimestamp = new(metav1.NewTime(begin.Add(-10 * time.Minute)))
	paused := censusMachine(infrav1.PhaseFailed, metav1.ConditionFalse, infrav1.SpecInvalidReason, 50*time.Minute)
	paused.Status.Conditions = append(paused.Status.Conditions, metav1.Condition{
		Type: infrav1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason,
	})
	watched := censusMachine(infrav1.PhaseRunning, metav1.ConditionTrue, infrav1.RunningReason, time.Hour)
	watched.Labels = map[string]string{clusterv1.WatchLabel: "mine"}
	cache := censusCache{machines: []infrav1.WindowsMachine{
		{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(begin.Add(-2 * time.Minute))}},
		censusMachine(infrav1.PhaseProvisioning, metav1.ConditionFalse, infrav1.ProvisioningReason, 5*time.Minute),
		censusMachine(infrav1.PhaseProvisioning, metav1.ConditionFalse, infrav1.ProvisioningReason, 20*time.Minute),
		censusMachine(infrav1.PhaseProvisioning, metav1.ConditionFalse, infrav1.CloudUnreachableReason, time.Minute),
		deleting, paused, watched,
	}}
	expect.Same(t, "series", scrape.Samples{
		`capwin_machines{phase="NotYetSeen",reason="NotYetSeen"}`:         1,
		`capwin_machines{phase="Provisioning",reason="Provisioning"}`:     2,
		`capwin_machines{phase="Provisioning",reason="CloudUnreachable"}`: 1,
		`capwin_machines{phase="Deleting",reason="Deleting"}`:             1,
		`capwin_machines{phase="Failed",reason="SpecInvalid"}`:            1,
		`capwin_machines{phase="Running",reason="Running"}`:               1,
		`capwin_machine_not_ready_seconds{reason="NotYetSeen"}`:           120,
		`capwin_machine_not_ready_seconds{reason="Provisioning"}`:         1200,
		`capwin_machine_not_ready_seconds{reason="CloudUnreachable"}`:     60,
		`capwin_machine_not_ready_seconds{reason="Deleting"}`:             600,
	}, censusOf(t, cache))
	expect.Same(t, "series of a manager with a watch filter", scrape.Samples{`capwin_machines{phase="Running",reason="Running"}`: 1},
		censusOf(t, cache, func(c *Census) { c.WatchFilter = "mine" }))
	expect.Same(t, "series of a manager that waits for its turn", scrape.Samples{},
		censusOf(t, cache, func(c *Census) { c.Elected = make(chan struct{}) }))
	cache.err = errors.New("the cache is not filled")
	expect.Same(t, "series before the cache is filled", scrape.Samples{}, censusOf(t, cache))
}

// TestCensusIsBounded: whoever may write the status of machines makes no more series than there may be.
func TestCensusIsBounded(t *testing.T) {
	var cache censusCache
	for i := range 1000 {
		cache.machines = append(cache.machines,
			censusMachine(infrav1.PhaseFailed, metav1.ConditionFalse, fmt.Sprintf("Reason%d", i), time.Minute))
	}
	unphased := censusMachine("", metav1.ConditionFalse, "Reason1", time.Minute)
	unready := infrav1.WindowsMachine{}
	unready.Status.Phase = infrav1.PhaseRunning
	cache.machines = append([]infrav1.WindowsMachine{unphased, unready}, append(cache.machines[:999:999], cache.machines[0])...)
	found := censusOf(t, cache)
	expect.Same(t, "machines without a phase or a condition", 2.0, found[`capwin_machines{phase="NotYetSeen",reason="NotYetSeen"}`])
	expect.Same(t, "machines of a kind that is known", 2.0, found[`capwin_machines{phase="Failed",reason="Reason0"}`])
	expect.Same(t, "machines beyond the bound", 1000.0-128, found[`capwin_machines{phase="Other",reason="Other"}`])
	expect.Same(t, "series", 2*(128+1), len(found))
}
