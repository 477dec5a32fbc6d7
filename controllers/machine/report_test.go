package machine

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// row is what `kubectl get windowsmachines` would show, by column.
type row map[string]string

// but is the row with other cells; a cell may stand for several columns.
func (r row) but(cells row) row {
	r = maps.Clone(r)
	for columns, cell := range cells {
		for column := range strings.FieldsSeq(columns) {
			r[column] = cell
		}
	}
	return r
}

// Rows that others differ from: all is done, the guest is at work, there is no VM yet.
var (
	joinedRow = row{}.but(row{
		"Phase": "Running", "Ready VM": "True Running", "Provisioned": "true", "Bootstrap": "True Joined", "LastBoot": "",
		"Stalled": "False NotStalled", "Cloud": "Unknown CloudNotAsked", "Build": "20348.2700", "Node": "m-abc",
	})
	atWorkRow = joinedRow.but(row{
		"Phase": "Bootstrapping", "Node": "", "Bootstrap": "Unknown Bootstrapping",
	})
	pendingRow = joinedRow.but(row{
		"Phase": "Pending", "Ready VM": "False WaitingForBootstrapData", "Provisioned": "false",
		"Bootstrap": "Unknown WaitingForGuest", "Build": "", "Node": "",
	})
)

func rowOf(m *infrav1.WindowsMachine) row {
	return row{
		"Phase": string(m.Status.Phase), "Node": m.Status.NodeName, "Build": m.Status.WindowsBuild,
		"Ready": short(m, infrav1.ReadyCondition), "VM": short(m, infrav1.VMRunningCondition),
		"Bootstrap": short(m, infrav1.BootstrapSucceededCondition), "Stalled": short(m, infrav1.StalledCondition),
		"LastBoot": short(m, infrav1.LastBootSucceededCondition), "Cloud": short(m, infrav1.CloudReachableCondition),
		"Provisioned": strconv.FormatBool(ptr.Deref(m.Status.Initialization.Provisioned, false)),
	}
}

func short(m *infrav1.WindowsMachine, kind string) string {
	c := conditions.Get(m, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// reported is the report of a guest in a phase such as "2/5 kubelet", with more fields.
func reported(state, phase, fields string) string {
	var index, of int
	var name string
	_, _ = fmt.Sscanf(phase, "%d/%d %s", &index, &of, &name)
	return fmt.Sprintf(`{"version":1,"state":%q,"phase":{"index":%d,"of":%d,"name":%q},%s}`, state, index, of, name, fields)
}

const atEnd = `"elapsed":60,"facts":{"os":"20348.2700"}`

var (
	running = reported("Running", "2/5 kubelet", `"elapsed":12,"facts":{"os":"20348.2700"}`)
	failed  = reported("Failed", "4/5 join", `"reason":"Made-up","message":"kubeadm.exe ended with exit code 1",`+
		`"exitCode":1,"elapsed":180,"lastLines":["a","x509: no"]`)
	succeeded   = reported("Succeeded", "5/5 verify", atEnd)
	bootRunning = reported("Succeeded", "1/1 every-boot", atEnd+`,"boot":{"state":"Running"}`)
	bootFailed  = reported("Succeeded", "5/5 verify", atEnd+
		`,"boot":{"state":"Failed","reason":"NetworkNotReady","message":"hns-network: no address"}`)
)

// begin is when the worlds are looked at for the first time.
var begin = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func world(change ...func(*facts)) *facts {
	f := &facts{
		windows: &infrav1.WindowsMachine{
			ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "ns", Generation: 3},
			Spec:       infrav1.WindowsMachineSpec{ProviderID: "test://m-abc"},
		},
		machine:  &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}},
		cluster:  &clusterv1.Cluster{},
		identity: cloud.Identity{Name: "m-abc", ProviderID: "test://m-abc"},
		now:      begin,
		clouds:   worldClouds,
	}
	for _, c := range change {
		c(f)
	}
	return f
}

func vm(state cloud.State, report string) func(*facts) {
	return func(f *facts) {
		f.vm = &cloud.VM{State: state, Report: report}
		reads(f, report)
	}
}

// reads has the guest's report read.
func reads(f *facts, report string) { f.guest, f.unread = readReport(report) }

func withNode(f *facts) { f.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: "m-abc"} }

// nodeHealthy is what Cluster API says of the machine's Node.
func nodeHealthy(reason string) func(*facts) {
	return func(f *facts) {
		f.machine.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionUnknown, Reason: reason,
		}}
	}
}

// seen reports what there is.
func seen(f *facts) { report(f, nil) }

func isDeleting(f *facts) { f.windows.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

// was is a machine that had a running VM before, whose guest said so much.
func was(said string) func(*facts) {
	return func(f *facts) {
		before := world(vm(cloud.Running, said))
		report(before, nil)
		f.windows = before.windows
	}
}

func seenStopped(f *facts) {
	vm(cloud.Stopped, running)(f)
	report(f, phase.Wait(phase.VM, infrav1.VMNotRunningReason, "stopped"))
	f.vm = nil
}

// wasRunning is a machine that had reported a running, joined VM before.
func wasRunning(f *facts) {
	before := world(vm(cloud.Running, succeeded), withNode)
	report(before, nil)
	f.windows, f.machine = before.windows, before.machine
}

func TestReport(t *testing.T) {
	errBoom := errors.New("boom")
	away := &phase.Stop{Reason: infrav1.CloudUnreachableReason, Message: "no answer", Err: errBoom}
	off := phase.Wait(phase.VM, infrav1.VMNotRunningReason, "stopped")
	gone := phase.Stall(infrav1.VMVanishedReason, "gone")
	moved := func(f *facts) { f.machine.Spec.ProviderID = "test://m-abc" }
	// What these rows have is the same whatever went before.
	const failure = "BootstrapFailed"
	givenUp := row{"Phase": "Failed", "Ready Bootstrap": "False " + failure, "Stalled": "True " + failure, "Build": ""}
	isOff := row{"Phase": "Stopped", "Ready VM": "False VMNotRunning"}
	isGone := row{"Phase": "Failed", "Ready VM": "False VMVanished", "Stalled": "True VMVanished"}
	isAway := row{"Ready VM Cloud": "False CloudUnreachable"}
	idle, never := row{"Bootstrap": "Unknown WaitingForVM"}, row{"Bootstrap": "False VMVanished"}
	cases := map[string]struct {
		reason string
		facts  *facts
		end    error
		want   row
	}{
		"waits": {
			"the reason of the phase that waits is the reason of Ready",
			world(), phase.Wait(phase.VM, infrav1.WaitingForBootstrapDataReason, "none yet"), pendingRow,
		},
		"being made": {
			"the cloud is at work",
			world(vm(cloud.Creating, "")), phase.Wait(phase.VM, infrav1.ProvisioningReason, "cloning"),
			pendingRow.but(row{"Phase": "Provisioning", "Ready VM": "False Provisioning"}),
		},
		"silent guest": {
			"provisioned is said before the guest has spoken, or Cluster API would not look for the node",
			world(vm(cloud.Running, "")), nil,
			atWorkRow.but(row{"Bootstrap": "Unknown WaitingForGuest", "Build": ""}),
		},
		"guest at work": {"progress is no failure", world(vm(cloud.Running, running)), nil, atWorkRow},
		"guest failed": {
			"a bootstrap that failed is final and says so to GitOps tools; a reason that is not documented is replaced",
			world(vm(cloud.Running, failed)), nil, atWorkRow.but(givenUp),
		},
		"guest failed after its node joined": {
			"what comes after the join was asked for too, and what is due at every boot is not done on such a node",
			world(vm(cloud.Running, failed), withNode), nil, joinedRow.but(givenUp),
		},
		"guest at work after its node joined": {
			"the node is there, and the guest tells what it still does",
			world(vm(cloud.Running, running), withNode), nil, joinedRow,
		},
		"started again": {
			"a start is told of beside the bootstrap",
			world(wasRunning, vm(cloud.Running, bootRunning)), nil, joinedRow.but(row{"LastBoot": "Unknown LastBootRunning"}),
		},
		"start failed": {
			"the Node says whether pods can run; the machine says what went wrong, and is as ready as before",
			world(wasRunning, vm(cloud.Running, bootFailed)), nil, joinedRow.but(row{"LastBoot": "False NetworkNotReady"}),
		},
		"guest done": {
			"the node is still to be seen",
			world(vm(cloud.Running, succeeded)), nil,
			atWorkRow.but(row{"Bootstrap": "Unknown WaitingForNode"}),
		},
		"joined": {"all is well", world(vm(cloud.Running, succeeded), withNode), nil, joinedRow},
		"joined without a word": {
			"a node that joined is better proof than a guest whose tools are dead",
			world(vm(cloud.Running, ""), withNode), nil, joinedRow.but(row{"Build": ""}),
		},
		"cloud down": {
			"an outage of the cloud makes no running machine unready",
			world(wasRunning), away, joinedRow.but(row{"Cloud": "False CloudUnreachable"}),
		},
		"cloud down before there was a VM": {
			"there it is the reason",
			world(), away, pendingRow.but(row{"Ready VM Cloud": "False CloudUnreachable"}),
		},
		"node deleted": {
			"people are told, and nothing is wrong with the VM",
			world(wasRunning, vm(cloud.Running, succeeded), nodeHealthy(clusterv1.MachineNodeDeletedReason)), nil,
			joinedRow.but(row{"Bootstrap": "True NodeDeleted", "Node": ""}),
		},
		"node deleted, and back": {
			"a kubelet that starts registers its Node again",
			world(wasRunning, vm(cloud.Running, succeeded), nodeHealthy(clusterv1.MachineNodeDeletedReason), seen,
				nodeHealthy(clusterv1.MachineNodeHealthyReason)), nil, joinedRow,
		},
		"node deleted with the machine": {
			"Nodes go with their machines",
			world(wasRunning, isDeleting, nodeHealthy(clusterv1.MachineNodeDeletedReason)), phase.Poll(infrav1.DeletingReason, "removing"),
			joinedRow.but(row{"Phase": "Deleting", "Ready VM": "False Deleting"}),
		},
		"vanished": {"a VM that is gone is no outage", world(wasRunning), gone, joinedRow.but(isGone)},

		"stopped": {"a VM that was stopped is not running", world(wasRunning, vm(cloud.Stopped, succeeded)), off, joinedRow.but(isOff)},
		"stopped at work": {
			"the guest of a VM that is off does nothing",
			world(was(running), vm(cloud.Stopped, running)), off, atWorkRow.but(isOff).but(idle),
		},
		"stopped before its guest said a word": {
			"such a VM is not said to run",
			world(was(""), vm(cloud.Stopped, "")), off, atWorkRow.but(isOff).but(idle).but(row{"Build": ""}),
		},
		"stopped at work after its node joined": {
			"the bootstrap is done for Cluster API, and not at work",
			world(was(running), withNode, vm(cloud.Stopped, running)), off,
			joinedRow.but(isOff),
		},
		"stopped, and the cloud is away": {
			"it did not run when it was seen last",
			world(was(running), seenStopped), away, atWorkRow.but(isOff).but(isAway).but(idle),
		},
		"vanished at work": {"nor will the guest of one that is gone", world(was(running)), gone, atWorkRow.but(isGone).but(never)},
		"vanished, moved":  {"the Machine knows that there was a VM", world(moved), gone, pendingRow.but(isGone).but(never)},
		"name taken": {
			"a new Machine has another name",
			world(), phase.Stall(infrav1.NameTakenReason, "taken"),
			pendingRow.but(row{"Phase": "Failed", "Ready VM Bootstrap": "False NameTaken", "Stalled": "True NameTaken"}),
		},
		"no template": {
			"a new Machine has the same",
			world(), phase.Stall(infrav1.TemplateNotFoundReason, "none"),
			pendingRow.but(row{"Phase": "Failed", "Ready VM": "False TemplateNotFound", "Stalled": "True TemplateNotFound"}),
		},
		"of a Machine that is deleted": {
			"its hooks may keep it like this for long",
			world(), phase.Wait(phase.VM, infrav1.DeletingReason, "no VM"),
			pendingRow.but(row{"Phase": "Deleting", "Ready VM": "False Deleting"}),
		},
		"address lost": {
			"a new Machine has another one",
			world(), phase.Stall(infrav1.AddressLostReason, "changed"),
			pendingRow.but(row{"Phase": "Failed", "Ready VM Bootstrap": "False AddressLost", "Stalled": "True AddressLost"}),
		},
		"node deleted while the cloud is away": {
			"that is known of Cluster API",
			world(wasRunning, nodeHealthy(clusterv1.MachineNodeDeletedReason)), away,
			joinedRow.but(row{"Bootstrap": "True NodeDeleted", "Node": "", "Cloud": "False CloudUnreachable"}),
		},
		"moved, and the cloud is away": {
			"there was a VM", world(moved), away,
			pendingRow.but(isAway).but(idle).but(row{"Phase": "Provisioning"}),
		},
		"stopped before it ever ran, and the cloud is away": {
			"there may be no VM at all",
			world(seenStopped), away,
			pendingRow.but(isAway).but(row{"Bootstrap": "Unknown Bootstrapping", "Build": "20348.2700"}),
		},
		"deleting, the cloud is away": {
			"it goes all the same", world(wasRunning, isDeleting), away,
			joinedRow.but(row{"Phase": "Deleting"}).but(isAway),
		},
		"deleting after its guest failed": {
			"nothing is left to be mended",
			world(was(failed), isDeleting), phase.Poll(infrav1.DeletingReason, "removing"),
			atWorkRow.but(givenUp).but(row{"Phase": "Deleting", "Ready VM": "False Deleting", "Stalled": "False NotStalled", "Build": ""}),
		},
		"error": {
			"an error without a reason is not hidden",
			world(), errBoom, pendingRow.but(row{"Ready VM": "Unknown InternalError"}),
		},
		"deleting": {
			"a machine that is being deleted is not ready, whatever its guest says",
			world(wasRunning, isDeleting), phase.Poll(infrav1.DeletingReason, "removing"),
			joinedRow.but(row{"Phase": "Deleting", "Ready VM": "False Deleting"}),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, c.end)
			expect.Same(t, c.reason, c.want, rowOf(c.facts.windows))
			assertWhole(t, c.facts.windows)
			again := c.facts.windows.DeepCopy()
			report(c.facts, c.end)
			// If it changed, nothing would ever settle.
			expect.Same(t, "a second report", again.Status, c.facts.windows.Status, cmpopts.EquateEmpty())
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
