package machine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// row is what `kubectl get windowsmachines` would show.
type row struct {
	Phase                         infrav1.Phase
	Ready, VM, Bootstrap, Stalled string
	Node, Build, Cloud            string
	Provisioned                   bool
}

func rowOf(m *infrav1.WindowsMachine) row {
	return row{
		Phase: m.Status.Phase, Node: m.Status.NodeName, Build: m.Status.WindowsBuild,
		Ready: short(m, infrav1.ReadyCondition), VM: short(m, infrav1.VMProvisionedCondition),
		Bootstrap: short(m, infrav1.BootstrapSucceededCondition), Stalled: short(m, infrav1.StalledCondition),
		Cloud:       short(m, infrav1.CloudReachableCondition),
		Provisioned: ptr.Deref(m.Status.Initialization.Provisioned, false),
	}
}

func short(m *infrav1.WindowsMachine, kind string) string {
	c := conditions.Get(m, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

const (
	running   = `{"version":1,"uid":"u","state":"running","phase":{"index":2,"of":5,"name":"kubelet"},"elapsed":12,"facts":{"os":"20348.2700"}}`
	failed    = `{"version":1,"uid":"u","state":"failed","reason":"Made-up","message":"kubeadm.exe ended with exit code 1","phase":{"index":4,"of":5,"name":"join"},"exitCode":1,"elapsed":180,"lastLines":["a","x509: no"]}`
	succeeded = `{"version":1,"uid":"u","state":"succeeded","phase":{"index":5,"of":5,"name":"verify"},"elapsed":60,"facts":{"os":"20348.2700"}}`
)

func world(change ...func(*facts)) *facts {
	f := &facts{
		machine:  &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "ns", Generation: 3}},
		owner:    &clusterv1.Machine{},
		cluster:  &clusterv1.Cluster{},
		identity: cloud.Identity{Name: "m-abc", ProviderID: "test://m-abc"},
	}
	for _, c := range change {
		c(f)
	}
	return f
}

func vm(state cloud.State, report string) func(*facts) {
	return func(f *facts) { f.vm = &cloud.VM{State: state, Report: report} }
}

func withNode(f *facts) { f.owner.Status.NodeRef = clusterv1.MachineNodeReference{Name: "m-abc"} }

func isDeleting(f *facts) { f.machine.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

// wasRunning is a machine that had reported a running, joined VM before.
func wasRunning(f *facts) {
	before := world(vm(cloud.Running, succeeded), withNode)
	report(before, phase.Outcome{})
	f.machine, f.owner = before.machine, before.owner
}

func TestReport(t *testing.T) {
	errBoom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		facts   *facts
		outcome phase.Outcome
		want    row
	}{
		"waits": {
			"the reason of the phase that waits is the reason of Ready",
			world(), phase.Wait(infrav1.WaitingForBootstrapDataReason, "none yet"),
			row{Phase: "Pending", Ready: "False WaitingForBootstrapData", VM: "False WaitingForBootstrapData", Bootstrap: "Unknown Provisioning", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked"},
		},
		"being made": {
			"the cloud is at work",
			world(vm(cloud.Creating, "")), phase.Wait(infrav1.ProvisioningReason, "cloning"),
			row{Phase: "Provisioning", Ready: "False Provisioning", VM: "False Provisioning", Bootstrap: "Unknown Provisioning", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked"},
		},
		"silent guest": {
			"provisioned is said before the guest has spoken, or Cluster API would not look for the node",
			world(vm(cloud.Running, "")),
			phase.Outcome{},
			row{Phase: "Bootstrapping", Ready: "False WaitingForGuest", VM: "True Provisioned", Bootstrap: "Unknown WaitingForGuest", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Provisioned: true},
		},
		"guest at work": {
			"progress is no failure",
			world(vm(cloud.Running, running)),
			phase.Outcome{},
			row{Phase: "Bootstrapping", Ready: "False Bootstrapping", VM: "True Provisioned", Bootstrap: "Unknown Bootstrapping", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Provisioned: true},
		},
		"guest failed": {
			"a bootstrap that failed is final and says so to GitOps tools; a reason that is not documented is replaced",
			world(vm(cloud.Running, failed)),
			phase.Outcome{},
			row{Phase: "Failed", Ready: "False BootstrapFailed", VM: "True Provisioned", Bootstrap: "False BootstrapFailed", Stalled: "True BootstrapFailed", Cloud: "Unknown CloudNotAsked", Provisioned: true},
		},
		"guest done": {
			"the node is still to be seen",
			world(vm(cloud.Running, succeeded)),
			phase.Outcome{},
			row{Phase: "Bootstrapping", Ready: "False WaitingForNode", VM: "True Provisioned", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Provisioned: true},
		},
		"joined": {
			"all is well",
			world(vm(cloud.Running, succeeded), withNode),
			phase.Outcome{},
			row{Phase: "Running", Ready: "True Joined", VM: "True Provisioned", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Node: "m-abc", Provisioned: true},
		},
		"joined without a word": {
			"a node that joined is better proof than a guest whose tools are dead",
			world(vm(cloud.Running, ""), withNode),
			phase.Outcome{},
			row{Phase: "Running", Ready: "True Joined", VM: "True Provisioned", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Node: "m-abc", Provisioned: true},
		},
		"cloud down": {
			"an outage of the cloud makes no running machine unready",
			world(wasRunning),
			phase.Outcome{Reason: infrav1.CloudUnreachableReason, Message: "no answer", Err: errBoom},
			row{Phase: "Running", Ready: "True Joined", VM: "True Provisioned", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "False CloudUnreachable", Build: "20348.2700", Node: "m-abc", Provisioned: true},
		},
		"cloud down before there was a VM": {
			"there it is the reason",
			world(),
			phase.Outcome{Reason: infrav1.CloudUnreachableReason, Message: "no answer", Err: errBoom},
			row{Phase: "Pending", Ready: "False CloudUnreachable", VM: "False CloudUnreachable", Bootstrap: "Unknown Provisioning", Stalled: "False NotStalled", Cloud: "False CloudUnreachable"},
		},
		"vanished": {
			"a VM that is gone is no outage",
			world(wasRunning), phase.Stall(infrav1.VMVanishedReason, "gone"),
			row{Phase: "Failed", Ready: "False VMVanished", VM: "False VMVanished", Bootstrap: "True BootstrapSucceeded", Stalled: "True VMVanished", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Node: "m-abc", Provisioned: true},
		},
		"stopped": {
			"a VM that somebody stopped is said to be",
			world(wasRunning, vm(cloud.Stopped, succeeded)), phase.Wait(infrav1.VMNotRunningReason, "stopped"),
			row{Phase: "Bootstrapping", Ready: "False VMNotRunning", VM: "False VMNotRunning", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Node: "m-abc", Provisioned: true},
		},
		"error": {
			"an error without a reason is not hidden",
			world(), phase.Fail(errBoom),
			row{Phase: "Pending", Ready: "Unknown InternalError", VM: "Unknown InternalError", Bootstrap: "Unknown Provisioning", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked"},
		},
		"deleting": {
			"a machine that goes is not ready, whatever its guest says",
			world(wasRunning, isDeleting), phase.Poll(infrav1.DeletingReason, "removing"),
			row{Phase: "Deleting", Ready: "False Deleting", VM: "False Deleting", Bootstrap: "True BootstrapSucceeded", Stalled: "False NotStalled", Cloud: "Unknown CloudNotAsked", Build: "20348.2700", Node: "m-abc", Provisioned: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, c.outcome)
			if diff := cmp.Diff(c.want, rowOf(c.facts.machine)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			assertWhole(t, c.facts.machine)
			again := c.facts.machine.DeepCopy()
			report(c.facts, c.outcome)
			if diff := cmp.Diff(again.Status, c.facts.machine.Status, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a second report on the same facts changes the status, so that nothing ever settles:\n%s", diff)
			}
		})
	}
}

// assertWhole checks what the API server would refuse: conditions without a reason stop every later write.
func assertWhole(t *testing.T, m *infrav1.WindowsMachine) {
	t.Helper()
	if m.Status.ObservedGeneration != m.Generation {
		t.Errorf("observedGeneration is %d", m.Status.ObservedGeneration)
	}
	for _, c := range m.Status.Conditions {
		if c.Reason == "" || c.LastTransitionTime.IsZero() {
			t.Errorf("condition %s lacks a reason or a time: %+v", c.Type, c)
		}
	}
}

func TestReportPaused(t *testing.T) {
	f := world(func(f *facts) { f.cluster.Spec.Paused = new(true) })
	report(f, phase.Outcome{})
	if got := short(f.machine, infrav1.PausedCondition); got != "True Paused" {
		t.Errorf("Paused is %q", got)
	}
	if got := short(f.machine, infrav1.ReadyCondition); got != "Unknown Paused" {
		t.Errorf("observedGeneration must never be written without Ready, or kstatus takes the machine for done; Ready is %q", got)
	}
}

func TestFailureMessage(t *testing.T) {
	f := world(vm(cloud.Running, failed))
	report(f, phase.Outcome{})
	got := conditions.Get(f.machine, infrav1.ReadyCondition).Message
	want := `Bootstrap 4/5 join failed after 3m0s: exit 1, kubeadm.exe ended with exit code 1; last line: "x509: no"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProgressOfUntrustedReports(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cases := map[string]struct {
		reason, report string
		want           *infrav1.BootstrapProgress
	}{
		"none":          {"a guest that is silent", "", nil},
		"no JSON":       {"nonsense is nothing", "{", nil},
		"unknown state": {"a state that the API has not would be refused by the API server", `{"version":1,"state":"dancing"}`, nil},
		"other version": {"a report of another kind is none", `{"version":2,"state":"running"}`, nil},
		"too large":     {"a guest cannot fill the API server", `{"version":1,"state":"running","message":"` + strings.Repeat("x", 70000) + `"}`, nil},
		"control characters": {
			"nothing that a terminal would obey", `{"version":1,"state":"running","phase":{"index":1,"of":2,"name":"a[31m` + "\\u001b" + `"},"elapsed":-4}`,
			&infrav1.BootstrapProgress{State: "running", Phase: "1/2 a[31m "},
		},
		"long": {
			"cut to the size of the field", `{"version":1,"state":"failed","message":"` + long + `","lastLines":["` + long + `"],"reason":"nope"}`,
			&infrav1.BootstrapProgress{State: "failed", Phase: "0/0 ", Reason: "BootstrapFailed", Message: long[:1021] + "...", LastLines: []string{long[:253] + "..."}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := progressOf(c.report)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
