package machine

import (
	"cmp"
	"errors"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOverdue looks at a machine whose VM has been running for a while, and whose guest last told something in between.
func TestOverdue(t *testing.T) {
	const (
		silent  = "False GuestSilent, Stalled True GuestSilent"
		overdue = "False BootstrapOverdue, Stalled True BootstrapOverdue"
		waiting = "Unknown WaitingForGuest, Stalled False NotStalled"
		working = "Unknown Bootstrapping, Stalled False NotStalled"
		seen    = "Unknown WaitingForNode, Stalled False NotStalled"
		missing = "False NodeMissing, Stalled True NodeMissing"
		done    = "True Joined, Stalled False NotStalled"
		gaveUp  = "False BootstrapFailed, Stalled True BootstrapFailed"
	)
	at12 := vm(cloud.Running, running) // 12 seconds of the limit are used
	liar := vm(cloud.Running, `{"version":1,"state":"Running","elapsed":99999999999}`)
	const never = -1
	cases := map[string]struct {
		reason string
		// told is the report that comes some minutes after the VM ran; then the machine is looked at again. Its config has
		// the default limit of 30 minutes.
		told   func(*facts)
		after  time.Duration
		change func(*facts)
		look   time.Duration
		want   string
		wake   time.Duration // a minute when zero
	}{
		"silent, early": {reason: "Windows may take its time", look: 44 * time.Minute, want: waiting},
		"silent, almost": {
			reason: "the wake-up is for the very moment", look: 45*time.Minute - time.Second, want: waiting, wake: time.Second,
		},
		"silent, too long": {reason: "30 minutes for the guest, 15 for Windows", look: 45 * time.Minute, want: silent},
		"silent, short":    {reason: "the limit is the config's", change: deadline(300), look: 20 * time.Minute, want: silent},
		"silent, unknown": {
			reason: "a guest of another provider's user data tells nothing at all",
			change: func(f *facts) { f.config = nil }, look: 24 * time.Hour, want: waiting,
		},
		"silent, joined": {reason: "the node is the answer", change: withNode, look: 24 * time.Hour, want: done, wake: never},
		"told, early": {
			reason: "the limit counts from what was told",
			told:   at12, after: 40 * time.Minute, look: 80 * time.Minute, want: working,
		},
		"told, almost": {
			reason: "12 s of 30 minutes were used then",
			told:   at12, after: 40 * time.Minute, look: 85*time.Minute - 13*time.Second, want: working, wake: time.Second,
		},
		"told, too long": {
			reason: "its own deadline has passed in any case",
			told:   at12, after: 40 * time.Minute, look: 85*time.Minute - 12*time.Second, want: overdue,
		},
		"told, joined": {
			reason: "a Node proves more than a silent guest", told: at12, change: withNode, look: 24 * time.Hour, want: done, wake: never,
		},
		"done, early": {
			reason: "Cluster API may take a while",
			told:   vm(cloud.Running, succeeded), after: 20 * time.Minute, look: 29 * time.Minute, want: seen,
		},
		"done, almost": {
			reason: "the wake-up is for the very moment",
			told:   vm(cloud.Running, succeeded), after: 20 * time.Minute,
			look: 30*time.Minute - time.Second, want: seen, wake: time.Second,
		},
		"done, no Node": {
			reason: "10 minutes after the guest's success, whatever its limit",
			told:   vm(cloud.Running, succeeded), after: 20 * time.Minute, look: 30 * time.Minute, want: missing,
		},
		"done, no Node, limit not known": {
			reason: "the time is not the config's", change: func(f *facts) { f.config = nil },
			told: vm(cloud.Running, succeeded), look: 10 * time.Minute, want: missing,
		},
		"done, Nodes out of sight": {
			reason: "Cluster API does not reach the workload cluster, and would not see another machine's Node either",
			told:   vm(cloud.Running, succeeded), change: nodeHealthy(clusterv1.MachineNodeConnectionDownReason),
			look: 24 * time.Hour, want: seen,
		},
		"done, Nodes not to be read": {
			reason: "that is no word about the Node, either",
			told:   vm(cloud.Running, succeeded), change: nodeHealthy(clusterv1.MachineNodeInternalErrorReason),
			look: 24 * time.Hour, want: seen,
		},
		"done, Nodes in sight": {
			reason: "Cluster API looked for it",
			told:   vm(cloud.Running, succeeded), change: nodeHealthy(clusterv1.MachineNodeInspectionFailedReason),
			look: time.Hour, want: missing,
		},
		"done, joined": {
			reason: "nothing more is to come",
			told:   vm(cloud.Running, succeeded), change: withNode, look: 24 * time.Hour, want: done, wake: never,
		},
		"ten times as fast": {
			reason: "simulated guests have clocks that run faster", change: func(f *facts) { f.speed = 10 },
			look: 270 * time.Second, want: silent,
		},
		"failed": {reason: "it told so", told: vm(cloud.Running, failed), look: 24 * time.Hour, want: gaveUp},
		"more than the limit": {
			reason: "a guest that lies about its time gets the margin, and no panic", told: liar, look: 15 * time.Minute, want: overdue,
		},
		"cloud away": {
			reason: "the guest may have told the cloud more",
			told:   at12, change: func(f *facts) { f.vm = nil }, look: 24 * time.Hour, want: working,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := world(vm(cloud.Running, ""), deadline(0))
			report(f, nil)
			if c.told != nil {
				f.now = begin.Add(c.after)
				c.told(f)
				report(f, nil)
			}
			if c.change != nil {
				c.change(f)
			}
			f.now = begin.Add(c.look)
			var end error
			if f.vm == nil {
				end = &phase.Stop{Reason: infrav1.CloudUnreachableReason, Err: errors.New("away")}
			}
			report(f, end)
			got := short(f.windows, infrav1.BootstrapSucceededCondition) + ", Stalled " + short(f.windows, infrav1.StalledCondition)
			next := max(0, cmp.Or(c.wake, time.Minute))
			if got != c.want || nextLook(f) != next {
				t.Errorf("%s:\nwant %s, next look after %s\ngot  %s, next look after %s", c.reason, c.want, next, got, nextLook(f))
			}
			unchanged(t, f, end)
		})
	}
}

// unchanged checks that time alone changes nothing in a status, once it says what it says: it would be written again and again.
func unchanged(t *testing.T, f *facts, end error) {
	t.Helper()
	before := f.windows.DeepCopy()
	f.now = f.now.Add(100 * time.Millisecond)
	report(f, end)
	expect.Same(t, "the status some time later", before.Status, f.windows.Status)
}

// TestOverdueIsOver has guests that speak, or join, after they were given up.
func TestOverdueIsOver(t *testing.T) {
	const (
		givenUp = "False GuestSilent, Ready False GuestSilent"
		waiting = "Unknown WaitingForGuest, Ready True Running"
	)
	stopped := func(f *facts) { f.vm.State = cloud.Stopped }
	cases := map[string]struct {
		reason string
		change func(*facts)
		want   string
	}{
		"speaks":        {"it was slow", vm(cloud.Running, running), "Unknown Bootstrapping, Ready True Running"},
		"joins":         {"it cannot speak", withNode, "True Joined, Ready True Running"},
		"is stopped":    {"nothing was heard of a VM that is off", stopped, "False GuestSilent, Ready False VMNotRunning"},
		"starts again":  {"a VM that was restarted has its time again", restarted, waiting},
		"says no more":  {"it stays given up", func(*facts) {}, givenUp},
		"is not looked": {"it stays so while the cloud is away", func(f *facts) { f.vm = nil }, givenUp},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := world(vm(cloud.Running, ""), deadline(0))
			report(f, nil)
			f.now = begin.Add(time.Hour)
			report(f, nil)
			f.now = f.now.Add(time.Minute)
			c.change(f)
			var end error
			if f.vm != nil && f.vm.State == cloud.Stopped {
				end = phase.Wait(phase.VM, infrav1.VMNotRunningReason, "stopped")
			}
			report(f, end)
			got := short(f.windows, infrav1.BootstrapSucceededCondition) + ", Ready " + short(f.windows, infrav1.ReadyCondition)
			if got != c.want {
				t.Errorf("%s: want %s, got %s", c.reason, c.want, got)
			}
		})
	}
}

// restarted is seen off in between.
func restarted(f *facts) {
	stopped := *f
	stopped.vm = &cloud.VM{State: cloud.Stopped}
	report(&stopped, phase.Wait(phase.VM, infrav1.VMNotRunningReason, "stopped"))
	f.now = f.now.Add(time.Minute)
}

// TestNodeComesLate has a machine whose Node is found after it was given up, and one whose Nodes go out of sight.
func TestNodeComesLate(t *testing.T) {
	const missing = "False NodeMissing, Ready False NodeMissing"
	cases := map[string]struct {
		reason string
		change func(*facts)
		want   string
	}{
		"joins":      {"late is not never", withNode, "True Joined, Ready True Running"},
		"stays away": {"nothing has changed", func(*facts) {}, missing},
		"cloud away": {"it stays so while the cloud is away", func(f *facts) { f.vm = nil }, missing},
		"out of sight": {
			"an outage is no reason",
			nodeHealthy(clusterv1.MachineNodeConnectionDownReason), "Unknown WaitingForNode, Ready True Running",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := world(vm(cloud.Running, succeeded), deadline(0))
			report(f, nil)
			f.now = begin.Add(time.Hour)
			report(f, nil)
			c.change(f)
			report(f, nil)
			got := short(f.windows, infrav1.BootstrapSucceededCondition) + ", Ready " + short(f.windows, infrav1.ReadyCondition)
			if got != c.want {
				t.Errorf("%s: want %s, got %s", c.reason, c.want, got)
			}
			unchanged(t, f, nil)
		})
	}
}

// TestSwitchedOff has a VM that is switched off, and maybe on again, when its guest was given up for what it had told.
func TestSwitchedOff(t *testing.T) {
	f := world(vm(cloud.Running, running), deadline(0))
	report(f, nil)
	look := func(after time.Duration, state cloud.State, end error, want string) {
		t.Helper()
		f.now = begin.Add(after)
		vm(state, running)(f)
		report(f, end)
		unchanged(t, f, end)
		got := short(f.windows, infrav1.BootstrapSucceededCondition) + ", Stalled " + short(f.windows, infrav1.StalledCondition)
		if got != want {
			t.Errorf("after %s: want %s, got %s", after, want, got)
		}
	}
	const (
		off     = "Unknown WaitingForVM, Stalled False NotStalled"
		overdue = "False BootstrapOverdue, Stalled True BootstrapOverdue"
		working = "Unknown Bootstrapping, Stalled False NotStalled"
	)
	stopped := phase.Wait(phase.VM, infrav1.VMNotRunningReason, "stopped")
	look(time.Minute, cloud.Stopped, stopped, off)
	look(24*time.Hour, cloud.Stopped, stopped, off) // its time stands still
	look(25*time.Hour, cloud.Running, nil, working)
	look(26*time.Hour, cloud.Running, nil, overdue)
	look(27*time.Hour, cloud.Stopped, stopped, overdue)
	look(28*time.Hour, cloud.Running, nil, working)
}

// TestNothingIsDue of a guest that failed: no look is made for it.
func TestNothingIsDue(t *testing.T) {
	f := world(vm(cloud.Running, failed), deadline(0), seen)
	expect.Same(t, "due", time.Time{}, due(f))
	expect.Same(t, "next look", time.Minute, nextLook(f))
	expect.Same(t, "due of a Node", time.Time{}, due(world(vm(cloud.Running, running), deadline(0), seen, withNode)))
}

// TestNodeNames: only what has joined has a Node, and only such a Node can be deleted.
func TestNodeNames(t *testing.T) {
	deleted := nodeHealthy(clusterv1.MachineNodeDeletedReason)
	expect.Same(t, "never joined", false, joined(world(deleted)) && nodeDeleted(world(deleted)))
	expect.Same(t, "deleted", true, nodeDeleted(world(withNode, deleted)))
	expect.Same(t, "deleted with its machine", false, nodeDeleted(world(withNode, deleted, isDeleting)))
	expect.Same(t, "deleted, told, then its machine", true, nodeDeleted(world(withNode, deleted, seen, isDeleting)))
	expect.Same(t, "the Node", "m-abc", nodeName(world(withNode)))
	expect.Same(t, "no Machine", "", nodeName(&facts{windows: world().windows}))
}
