package machine

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
)

// measuredLife is a machine as the API server has it, which is looked at again and again.
type measuredLife struct {
	t       *testing.T
	windows *infrav1.WindowsMachine
	machine *clusterv1.Machine
	config  *bootstrapv1.WindowsBootstrapConfig
	now     time.Time
}

func newMeasuredLife(t *testing.T) *measuredLife {
	t.Helper()
	f := world()
	f.windows.CreationTimestamp, f.windows.Spec.VSphere = metav1.NewTime(begin), &infrav1.VSphereVM{}
	config := &bootstrapv1.WindowsBootstrapConfig{}
	config.Status.Conditions = []metav1.Condition{{
		Type: bootstrapv1.DataSecretAvailableCondition, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(begin.Add(5 * time.Minute)),
	}}
	return &measuredLife{t: t, windows: f.windows, machine: f.machine, config: config, now: begin.Add(5 * time.Minute)}
}

// measures are how often something was measured and the sum of it, by metric and labels.
type measures map[string][2]float64

// look reports what there is now, as Reconcile does, and says what that adds to the metrics. The same again adds nothing, whether
// the manager was started anew or not.
func (l *measuredLife) look(later time.Duration, change ...func(*facts)) measures {
	l.t.Helper()
	l.now = l.now.Add(later)
	var end error
	one := func() *facts {
		f := world(change...)
		f.now, f.machine, f.config = l.now, l.machine, l.config
		f.original, f.windows = l.windows.DeepCopy(), l.windows.DeepCopy()
		if f.vm != nil && f.vm.State != cloud.Running {
			end = phase.Wait(phase.VM, infrav1.ProvisioningReason, "cloning")
		}
		report(f, end)
		l.windows = f.windows
		return f
	}
	before := scrape.Now(l.t)
	measure(one())
	found := measuresSince(l.t, before)
	before = scrape.Now(l.t)
	measure(one())
	expect.Same(l.t, "measures of a second look", measures{}, measuresSince(l.t, before))
	return found
}

func measuresSince(t *testing.T, before scrape.Samples) measures {
	t.Helper()
	found := measures{}
	for _, name := range []string{"vm_creation_duration_seconds", "node_join_duration_seconds", "bootstrap_phase_duration_seconds"} {
		for series, count := range scrape.Since(t, before, "capwin_"+name+"_count") {
			sum := scrape.Since(t, before, "capwin_"+name+"_sum")
			_, labels, _ := strings.Cut(series, "_count")
			found[name+labels] = [2]float64{count, sum["capwin_"+name+"_sum"+labels]}
		}
	}
	for series, count := range scrape.Since(t, before, "capwin_bootstrap_failures_total") {
		found[strings.TrimPrefix(series, "capwin_")] = [2]float64{count, 0}
	}
	return found
}

func (l *measuredLife) join() {
	l.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: "m-abc"}
}

const durations = `,"durations":{"join":20,"verify":5,"of its own":7}`

var succeededWithDurations = reported("Succeeded", "5/5 verify", atEnd+durations)

func TestMeasure(t *testing.T) {
	l := newMeasuredLife(t)
	none := measures{}
	expect.Same(t, "a machine that waits", none, l.look(0))
	expect.Same(t, "a VM that is being made", none, l.look(time.Minute, vm(cloud.Creating, "")))
	expect.Same(t, "a VM that runs", measures{`vm_creation_duration_seconds{cloud="vsphere"}`: {1, 120}},
		l.look(time.Minute, vm(cloud.Running, "")))
	l.machine.Spec.ProviderID = "test://m-abc"
	expect.Same(t, "a guest at work", none, l.look(time.Minute, vm(cloud.Running, running)))
	l.join()
	expect.Same(t, "a Node", measures{`node_join_duration_seconds`: {1, 180}}, l.look(2*time.Minute, vm(cloud.Running, running)))
	expect.Same(t, "a guest that is through", measures{
		`bootstrap_phase_duration_seconds{phase="join"}`: {1, 20}, `bootstrap_phase_duration_seconds{phase="verify"}`: {1, 5},
	}, l.look(time.Minute, vm(cloud.Running, succeededWithDurations)))
	nodeHealthy(clusterv1.MachineNodeDeletedReason)(&facts{machine: l.machine})
	expect.Same(t, "a Node that was deleted", none, l.look(time.Minute, vm(cloud.Running, succeededWithDurations)))
	l.machine.Status.Conditions = nil
	expect.Same(t, "a Node that is there again", none, l.look(time.Minute, vm(cloud.Running, succeededWithDurations)))
	expect.Same(t, "a cloud that does not answer", none, l.look(time.Minute))
	l.windows.DeletionTimestamp = new(metav1.NewTime(l.now))
	expect.Same(t, "a machine that goes", none, l.look(time.Minute, vm(cloud.Running, succeededWithDurations)))
}

func TestMeasureFailures(t *testing.T) {
	l := newMeasuredLife(t)
	l.look(time.Minute, vm(cloud.Running, running))
	l.machine.Spec.ProviderID = "test://m-abc"
	expect.Same(t, "a guest that fails", measures{
		`bootstrap_failures_total{reason="BootstrapFailed"}`: {1, 0},
		`bootstrap_phase_duration_seconds{phase="join"}`:     {1, 3},
	}, l.look(time.Minute, vm(cloud.Running, strings.Replace(failed, `"elapsed"`, `"durations":{"join":3},"elapsed"`, 1))))
	l.join()
	expect.Same(t, "its Node", measures{`node_join_duration_seconds`: {1, 120}}, l.look(time.Minute, vm(cloud.Running, failed)))
	expect.Same(t, "a guest that takes its failure back", measures{}, l.look(time.Hour, vm(cloud.Running, succeeded)))

	silent := newMeasuredLife(t)
	silent.look(time.Minute, vm(cloud.Running, ""))
	expect.Same(t, "a guest that never reports", measures{`bootstrap_failures_total{reason="GuestSilent"}`: {1, 0}},
		silent.look(24*time.Hour, vm(cloud.Running, "")))
}

// TestMeasureMoved: what a machine did before clusterctl moved it here counts where it was; the move takes its status away.
func TestMeasureMoved(t *testing.T) {
	l := newMeasuredLife(t)
	l.machine.Spec.ProviderID = "test://m-abc"
	l.join()
	expect.Same(t, "a machine that was moved", measures{}, l.look(0, vm(cloud.Running, succeededWithDurations)))
	failing := newMeasuredLife(t)
	failing.machine.Spec.ProviderID = "test://m-abc"
	expect.Same(t, "a failed one that was moved", measures{}, failing.look(0, vm(cloud.Running, failed)))
}

// TestMeasureWithoutConfig: another provider made the user data, and nothing says when.
func TestMeasureWithoutConfig(t *testing.T) {
	l := newMeasuredLife(t)
	l.config = nil
	l.windows.Spec = infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}
	expect.Same(t, "a VM that runs", measures{`vm_creation_duration_seconds{cloud="azure"}`: {1, 360}},
		l.look(time.Minute, vm(cloud.Running, "")))
}

// TestWish: user data that were there before the machine do not count.
func TestWish(t *testing.T) {
	f := world()
	f.windows.CreationTimestamp = metav1.NewTime(begin)
	expect.Same(t, "no config", begin, wish(f))
	f.config = &bootstrapv1.WindowsBootstrapConfig{}
	expect.Same(t, "no word of it", begin, wish(f))
	for after, want := range map[time.Duration]time.Time{-time.Hour: begin, time.Hour: begin.Add(time.Hour)} {
		f.config.Status.Conditions = []metav1.Condition{{
			Type: bootstrapv1.DataSecretAvailableCondition, LastTransitionTime: metav1.NewTime(begin.Add(after)),
		}}
		expect.Same(t, "with a config", want, wish(f))
	}
	measure(&facts{windows: f.windows, original: f.windows}) // of no Machine: nothing to measure
}
