package machine

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

var (
	machinesDesc = prometheus.NewDesc("capwin_machines",
		"WindowsMachines by phase and by the reason of their condition Ready.", []string{"phase", "reason"}, nil)
	notReadyDesc = prometheus.NewDesc("capwin_machine_not_ready_seconds",
		"How long the machine that has waited the longest has not been Ready, or has been deleted, by the reason of Ready.",
		[]string{"reason"}, nil)
)

const (
	// notYetSeen is the reason and phase of a machine that has no status yet.
	notYetSeen = "NotYetSeen"

	// overflow is the phase and reason of the machines that come after the first maxStandings kinds. Ours are fewer, but other
	// clients may write a status, too.
	overflow     = "Other"
	maxStandings = 128

	// censusTimeout is how long a scrape waits for the cache, which has the machines unless the manager has just started.
	censusTimeout = 5 * time.Second
)

// Census counts the machines that there are whenever a scrape asks. It is a prometheus.Collector.
type Census struct {
	// Client reads from the cache.
	Client client.Reader
	// Elected is closed when this manager is the one that is active: no machine is to be counted twice.
	Elected <-chan struct{}
	// Now is the clock.
	Now func() time.Time
	// WatchFilter is the value of the watch-filter label, if the manager is limited by it.
	WatchFilter string
}

// Describe is part of prometheus.Collector.
func (c Census) Describe(ch chan<- *prometheus.Desc) {
	ch <- machinesDesc
	ch <- notReadyDesc
}

// Collect is part of prometheus.Collector.
func (c Census) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-c.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), censusTimeout)
	defer cancel()
	var list infrav1.WindowsMachineList
	// The machines are only read, so that a scrape need not copy thousands of them.
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return // the cache is not filled yet; the next scrape gets it
	}
	found := c.count(list.Items)
	for s, number := range found.machines {
		ch <- prometheus.MustNewConstMetric(machinesDesc, prometheus.GaugeValue, float64(number), s.phase, s.reason)
	}
	for reason, longest := range found.notReady {
		ch <- prometheus.MustNewConstMetric(notReadyDesc, prometheus.GaugeValue, longest.Seconds(), reason)
	}
}

// standing is how machines are.
type standing struct{ phase, reason string }

// numbers are how many machines are so, and how long the one that has waited the longest has not been Ready.
type numbers struct {
	machines map[standing]int
	notReady map[string]time.Duration
}

func (c Census) count(machines []infrav1.WindowsMachine) numbers {
	found := numbers{map[standing]int{}, map[string]time.Duration{}}
	for i := range machines {
		m := &machines[i]
		if c.WatchFilter != "" && !labels.HasWatchLabel(m, c.WatchFilter) {
			continue
		}
		s := standingOf(m)
		if _, ok := found.machines[s]; !ok && len(found.machines) >= maxStandings {
			s = standing{overflow, overflow}
		}
		found.machines[s]++
		if start := notReadySince(m); !start.IsZero() {
			found.notReady[s.reason] = max(found.notReady[s.reason], c.Now().Sub(start))
		}
	}
	return found
}

func standingOf(m *infrav1.WindowsMachine) standing {
	ready := conditions.Get(m, infrav1.ReadyCondition)
	if ready == nil || m.Status.Phase == "" {
		return standing{notYetSeen, notYetSeen}
	}
	return standing{string(m.Status.Phase), ready.Reason}
}

// notReadySince is when a machine began to wait, or was deleted; zero if it is Ready, or paused.
func notReadySince(m *infrav1.WindowsMachine) time.Time {
	ready := conditions.Get(m, infrav1.ReadyCondition)
	switch {
	case conditions.IsTrue(m, infrav1.PausedCondition), conditions.IsTrue(m, infrav1.ReadyCondition):
		return time.Time{}
	case !m.DeletionTimestamp.IsZero():
		return m.DeletionTimestamp.Time
	case ready == nil:
		return m.CreationTimestamp.Time
	}
	return ready.LastTransitionTime.Time
}

// measure counts what has ended since the last look. It compares the object with what was written before, so that each thing
// counts once, whichever manager looks, and no restart counts it again. What a machine did before it was moved here counts there.
func measure(f *facts) {
	if f.machine == nil || !ran(f.original) && f.machine.Spec.ProviderID != "" { // a move takes the status away
		return
	}
	if provider := f.clouds.Find(f.windows).Provider; provider != nil && !ran(f.original) && ran(f.windows) {
		metrics.Made(provider.Name(), f.now.Sub(wish(f)))
	}
	if conditions.GetReason(f.windows, infrav1.BootstrapSucceededCondition) != infrav1.WaitingForGuestReason {
		measureGuest(f)
	}
}

// measureGuest counts what a guest has done, once nobody waits for its first report. Only one that takes back its own word can
// count its end again, no more often than its words are taken over.
func measureGuest(f *facts) {
	if isNew(f, hasNode) && !conditions.IsTrue(f.original, infrav1.BootstrapSucceededCondition) {
		running := conditions.Get(f.windows, infrav1.VMRunningCondition)
		metrics.Joined(f.now.Sub(running.LastTransitionTime.Time))
	}
	if isNew(f, bootstrapFailed) {
		metrics.Failed(conditions.GetReason(f.windows, infrav1.BootstrapSucceededCondition))
	}
	if isNew(f, guestEnded) {
		for _, d := range f.windows.Status.Bootstrap.Durations {
			metrics.Phase(d.Phase, time.Duration(ptr.Deref(d.Seconds, 0))*time.Second)
		}
	}
}

// isNew reports whether something is true of the object, and was not true of it before.
func isNew(f *facts, holds func(*infrav1.WindowsMachine) bool) bool {
	return holds(f.windows) && !holds(f.original)
}

func ran(m *infrav1.WindowsMachine) bool {
	return ptr.Deref(m.Status.Initialization.Provisioned, false)
}

// hasNode reports whether a Node has joined for a VM that runs.
func hasNode(m *infrav1.WindowsMachine) bool { return m.Status.NodeName != "" && ran(m) }

func bootstrapFailed(m *infrav1.WindowsMachine) bool {
	return conditions.IsFalse(m, infrav1.BootstrapSucceededCondition)
}

// guestEnded reports whether the guest is through with its bootstrap, well or not.
func guestEnded(m *infrav1.WindowsMachine) bool {
	progress := m.Status.Bootstrap
	return progress != nil && (progress.State == string(plan.StateSucceeded) || progress.State == string(plan.StateFailed))
}

// wish is when the VM could be asked for: the machine was there, and so was its user data, which waits for the control plane.
func wish(f *facts) time.Time {
	start := f.windows.CreationTimestamp.Time
	data := conditions.Get(f.config, bootstrapv1.DataSecretAvailableCondition)
	if data != nil && data.LastTransitionTime.After(start) {
		start = data.LastTransitionTime.Time
	}
	return start
}
