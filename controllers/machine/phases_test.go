package machine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// closed is a cluster that does not show its DNS.
type closed struct{ linuxNodes }

func (closed) DNS(context.Context, client.ObjectKey) (workload.DNS, error) {
	return workload.DNS{Refused: []string{"Service kube-system/kube-dns"}}, nil
}

// TestLinuxNotChecked: what the cluster did not show is told once, before there may be a VM, and only where no config of ours
// tells it.
func TestLinuxNotChecked(t *testing.T) {
	node := corev1.Node{}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	ofOurs := func(f *facts) {
		f.machine.Spec.Bootstrap.ConfigRef.Kind = "WindowsBootstrapConfig"
		f.machine.Spec.Bootstrap.ConfigRef.APIGroup = bootstrapv1.GroupVersion.Group
	}
	for name, c := range map[string]struct {
		change func(*facts)
		want   bool
	}{
		"own data":                    {func(*facts) {}, true},
		"own data, with a VM perhaps": {func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }, false},
		"a config that comes":         {ofOurs, false},
		"a config":                    {func(f *facts) { f.config = &bootstrapv1.WindowsBootstrapConfig{} }, false},
	} {
		r := newPhaseStage(t)
		r.Workload = closed{linuxNodes{node}}
		expect.OK(t, r.linuxFirst(t.Context(), world(c.change, func(f *facts) {
			f.cluster.Name, f.cluster.Status.Initialization.ControlPlaneInitialized = "prod", new(true)
		})))
		var told string
		select {
		case told = <-r.Events.(*events.FakeRecorder).Events:
		default:
		}
		const says = "Warning LinuxNotChecked Cluster prod does not show Service kube-system/kube-dns"
		expect.Same(t, name, c.want, strings.HasPrefix(told, says))
	}
}

// unkept are policies that cannot be had.
type unkept struct{}

// Answers implements Policies.
func (unkept) Answers() source.Source { return source.Func(nil) }

func (unkept) Kept(*clusterv1.Cluster, client.ObjectKey) (kept bool, warning string) {
	return true, "Cluster prod has no right"
}

// TestUnkept: that the policies cannot be had is told before there may be a VM, with a config of ours, too.
func TestUnkept(t *testing.T) {
	node := corev1.Node{}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	const says = "Warning LinuxNotChecked Cluster prod has no right"
	for name, c := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"a config":              {func(f *facts) { f.config = &bootstrapv1.WindowsBootstrapConfig{} }, says},
		"with a VM perhaps":     {func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }, ""},
		"user data of somebody": {func(*facts) {}, says},
	} {
		r := newPhaseStage(t)
		r.Workload, r.Policies = linuxNodes{node}, unkept{}
		expect.OK(t, r.linuxFirst(t.Context(), world(c.change, func(f *facts) {
			f.cluster.Name, f.cluster.Status.Initialization.ControlPlaneInitialized = "prod", new(true)
		})))
		var told string
		select {
		case told = <-r.Events.(*events.FakeRecorder).Events:
		default:
		}
		expect.Same(t, name, c.want, told)
	}
}

// TestReady has one thing after another that a new VM needs.
func TestReady(t *testing.T) {
	node := corev1.Node{}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	provisioned := func(f *facts) { f.cluster.Status.Initialization.InfrastructureProvisioned = new(true) }
	data := func(f *facts) { f.machine.Spec.Bootstrap.DataSecretName = new("m") }
	initialized := func(f *facts) { f.cluster.Status.Initialization.ControlPlaneInitialized = new(true) }
	for name, c := range map[string]struct {
		nodes   linuxNodes
		changes []func(*facts)
		want    phase.Stop // without its message
		says    string
	}{
		"no infrastructure": {
			linuxNodes{node},
			[]func(*facts){data, initialized},
			phase.Stop{Reason: infrav1.WaitingForClusterInfrastructureReason, Wakes: phase.Cluster},
			"is not provisioned yet",
		},
		"infrastructure lost": {
			linuxNodes{node},
			[]func(*facts){data, initialized, func(f *facts) {
				f.cluster.Status.Initialization.InfrastructureProvisioned = new(false)
			}},
			phase.Stop{Reason: infrav1.WaitingForClusterInfrastructureReason, Wakes: phase.Cluster},
			"is not provisioned yet",
		},
		"no infrastructure, and a config that a person must mend": {
			nil,
			[]func(*facts){func(f *facts) {
				f.config = &bootstrapv1.WindowsBootstrapConfig{}
				for kind, status := range map[string]metav1.ConditionStatus{
					bootstrapv1.StalledCondition: metav1.ConditionTrue, bootstrapv1.DataSecretAvailableCondition: metav1.ConditionFalse,
				} {
					conditions.Set(f.config, metav1.Condition{
						Type: kind, Status: status, Reason: bootstrapv1.ClusterNetworkInvalidReason, Message: "CIDRs overlap",
					})
				}
			}},
			phase.Stop{Reason: bootstrapv1.ClusterNetworkInvalidReason, Stalled: true, After: time.Minute},
			"is not ready: CIDRs overlap",
		},
		"no data": {
			linuxNodes{node},
			[]func(*facts){provisioned, initialized},
			phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: time.Minute},
			"has no bootstrap data yet",
		},
		"no control plane": {
			linuxNodes{node},
			[]func(*facts){provisioned, data},
			phase.Stop{Reason: infrav1.WaitingForControlPlaneReason, Wakes: phase.Cluster},
			"not initialized",
		},
		"no Linux Node": {
			nil,
			[]func(*facts){provisioned, data, initialized},
			phase.Stop{Reason: infrav1.WaitingForLinuxNodeReason, After: 5 * time.Second},
			"no Ready Node",
		},
		"all": {linuxNodes{node}, []func(*facts){provisioned, data, initialized}, phase.Stop{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPhaseStage(t)
			r.Workload = c.nodes
			stop := phase.Of(r.ready(t.Context(), world(c.changes...)))
			if !strings.Contains(stop.Message, c.says) {
				t.Errorf("message %q, want %q", stop.Message, c.says)
			}
			stop.Message = ""
			expect.Same(t, "stop", c.want, stop)
		})
	}
}

// TestOwned: a Machine that goes gets no VM, unless there may be one.
func TestOwned(t *testing.T) {
	going := func(f *facts) { f.machine.DeletionTimestamp = new(metav1.Now()) }
	held := func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	moved := func(f *facts) { f.machine.Spec.ProviderID = "test://m-abc" }
	for name, c := range map[string]struct {
		changes []func(*facts)
		want    string
		stalled bool
	}{
		"owned": {nil, "", false},
		"refused": {
			[]func(*facts){func(f *facts) { f.refused = "it names another" }}, infrav1.OwnerNotSupportedReason, true,
		},
		"no Machine":            {[]func(*facts){func(f *facts) { f.machine = nil }}, infrav1.WaitingForOwnerReason, false},
		"no Cluster":            {[]func(*facts){func(f *facts) { f.cluster = nil }}, infrav1.WaitingForOwnerReason, false},
		"goes, never had a VM":  {[]func(*facts){going}, infrav1.DeletingReason, false},
		"goes, may have a VM":   {[]func(*facts){going, held}, "", false},
		"goes, had its VM":      {[]func(*facts){going, had}, "", false},
		"goes, moved with a VM": {[]func(*facts){going, moved}, "", false},
	} {
		stop := phase.Of((&Reconciler{}).owned(t.Context(), world(c.changes...)))
		if stop.Reason != c.want || stop.Stalled != c.stalled {
			t.Errorf("%s: %+v, want %q, stalled %t", name, stop, c.want, c.stalled)
		}
		wakes := map[string]phase.Source{
			"no Machine": phase.Self, "no Cluster": phase.Cluster, "goes, never had a VM": phase.Self,
		}[name]
		if !c.stalled && (stop.After != 0 || stop.Wakes != wakes) {
			t.Errorf("%s: %+v, want only %q to wake it", name, stop, wakes)
		}
	}
}

// TestHadVM: the Machine knows of a VM, if there is one.
func TestHadVM(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*facts)
		want   bool
	}{
		"never":      {func(*facts) {}, false},
		"no Machine": {func(f *facts) { f.machine = nil }, false},
		"moved":      {func(f *facts) { f.machine.Spec.ProviderID = "test://m-abc" }, true},
		"it ran":     {func(f *facts) { f.machine, f.windows.Status.Initialization.Provisioned = nil, new(true) }, true},
	} {
		expect.Same(t, name, c.want, hadVM(world(c.change)))
	}
}

// TestCloudMachine has all that a cloud must know.
func TestCloudMachine(t *testing.T) {
	f := world(adapters(pooled))
	f.windows.Annotations = map[string]string{infrav1.ServerAnnotation: "one"}
	f.windows.Status.Initialization.Provisioned = new(true)
	f.cluster.Name, f.cluster.UID = "blue", "uid-1"
	expect.Same(t, "machine", cloud.Machine{
		Identity: f.identity, Key: client.ObjectKey{Namespace: "ns", Name: "m"},
		Cluster: cloud.ClusterMark{Name: "blue", UID: "uid-1", Manager: "uid-2"}, Spec: f.windows.Spec, Status: f.windows.Status,
		NetworkInterfaces: fromPool, Server: "one", Proof: cloud.Proof{Asked: cloud.Existed},
	}, (&Reconciler{Clouds: inClouds(vsphere.Provider{}), Manager: "uid-2"}).cloudMachine(f))
}

// TestPatches are the writes of the phases: what they say, that they happen once, and that none is lost.
func TestPatches(t *testing.T) {
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{"test/other", infrav1.MachineFinalizer} }
	deleted := func(m *infrav1.WindowsMachine) { m.DeletionTimestamp = new(metav1.NewTime(begin)) }
	going := func(f *facts) { f.going = true }
	note := `/removed":"2026-05-04T03:02:01Z"`
	for name, c := range map[string]struct {
		of      *infrav1.WindowsMachine
		facts   func(*facts)
		do      func(*Reconciler, context.Context, *facts) error
		says    string // of the first patch; none when empty
		fails   error
		want    error
		outcome func(*infrav1.WindowsMachine) bool
	}{
		"identity": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says:    `"providerID":"test://m-abc"`,
			outcome: func(m *infrav1.WindowsMachine) bool { return m.Spec.ProviderID == "test://m-abc" },
		},
		"identity again": {of: stored(), do: (*Reconciler).recordIdentity},
		"identity, refused": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says: "providerID", fails: errPhase, want: errPhase,
		},
		"identity of one that is gone": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says: "providerID", fails: errGone, want: errGone,
		},
		"hold": {
			of: stored(), do: (*Reconciler).hold, says: `"finalizers":["windowsmachine.infrastructure.cluster.x-k8s.io/vm"]`,
			outcome: func(m *infrav1.WindowsMachine) bool { return slices.Contains(m.Finalizers, infrav1.MachineFinalizer) },
		},
		"hold again":    {of: stored(held), do: (*Reconciler).hold},
		"hold, refused": {of: stored(), do: (*Reconciler).hold, says: "finalizers", fails: errPhase, want: errPhase},
		"hold, changed": {
			of: stored(), do: (*Reconciler).hold, says: "resourceVersion", fails: errOutdated, want: errOutdated,
		},
		"hold what is gone": {of: stored(), do: (*Reconciler).hold, says: "finalizers", fails: errGone, want: errGone},
		"release":           {of: stored(held, deleted), do: (*Reconciler).release, says: `"finalizers":["test/other"]`},
		"release, refused": {
			of: stored(held, deleted), do: (*Reconciler).release, says: "finalizers", fails: errPhase, want: errPhase,
		},
		"release what is gone":      {of: stored(held, deleted), do: (*Reconciler).release, says: "finalizers", fails: errGone},
		"removed, the Secret stays": {of: stored(held, deleted), do: (*Reconciler).noteRemoved},
		"removed, the Secret goes": {
			of: stored(held, deleted), facts: going, do: (*Reconciler).noteRemoved, says: note, outcome: isRemoved,
		},
		"removed, and cannot say so": {
			of: stored(held, deleted), facts: going, do: (*Reconciler).noteRemoved, says: note, fails: errPhase, want: errPhase,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPhaseStage(t, c.of)
			s.fails["patch WindowsMachine"] = c.fails
			f := s.read(t)
			if c.facts != nil {
				c.facts(f)
			}
			if err := c.do(s.Reconciler, t.Context(), f); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if len(s.patched) != min(len(c.says), 1) || c.says != "" && !strings.Contains(s.patched[0], c.says) {
				t.Errorf("patches %q, want one with %q", s.patched, c.says)
			}
			if c.outcome != nil && !c.outcome(s.read(t).windows) {
				t.Errorf("the API server has %+v", s.read(t).windows)
			}
			if c.fails == nil && c.outcome != nil { // the next phase goes on from here
				expect.OK(t, c.do(s.Reconciler, t.Context(), f))
				expect.Same(t, "patches", 1, len(s.patched))
			}
		})
	}
}

func isRemoved(m *infrav1.WindowsMachine) bool { return removed(&facts{windows: m}) }

// TestRemoved: what another deletion left, such as in a backup, does not count.
func TestRemoved(t *testing.T) {
	for annotation, want := range map[string]bool{"2026-05-04T03:02:01Z": true, "2026-05-04T03:02:00Z": false, "": false} {
		m := stored(func(m *infrav1.WindowsMachine) {
			m.DeletionTimestamp = new(metav1.NewTime(begin.In(time.FixedZone("", 3600))))
			m.Annotations = map[string]string{infrav1.RemovedAnnotation: annotation}
		})
		if isRemoved(m) != want {
			t.Errorf("%q: %t", annotation, !want)
		}
	}
}
