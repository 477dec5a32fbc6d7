package machine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// deadline gives the machine a config, with the default of 30 minutes when it is 0.
func deadline(seconds int32) func(*facts) {
	return func(f *facts) {
		f.config = &bootstrapv1.WindowsBootstrapConfig{Spec: bootstrapv1.WindowsBootstrapConfigSpec{DeadlineSeconds: seconds}}
	}
}

// TestSentences has what a person reads, in whole sentences.
func TestSentences(t *testing.T) {
	const (
		progress = infrav1.BootstrapProgressCondition
		ready    = infrav1.ReadyCondition
		boot     = infrav1.EveryBootSucceededCondition
	)
	cases := map[string]struct {
		reason    string
		facts     *facts
		condition string
		want      string
	}{
		"at work": {
			"phase, step, elapsed and limit",
			world(deadline(0), vm(cloud.Running, `{"version":1,"state":"running","phase":{"index":4,"of":11,"name":"network"},"step":"hns-network","elapsed":120}`)),
			ready, "Bootstrap 4/11 network, step hns-network, 2m of at most 30m",
		},
		"at work, user data of another provider": {
			"nobody knows the limit",
			world(vm(cloud.Running, `{"version":1,"state":"running","phase":{"index":4,"of":11,"name":"network"},"step":"hns-network","elapsed":125}`)),
			ready, "Bootstrap 4/11 network, step hns-network, 2m5s",
		},
		"rebooting": {
			"down time is not counted, and looks like silence",
			world(deadline(3600), vm(cloud.Running, `{"version":1,"state":"rebooting","phase":{"index":2,"of":11,"name":"windows"},"step":"feature","elapsed":50}`)),
			progress, "Bootstrap 2/11 windows, step feature, rebooting, 50s of at most 1h",
		},
		"named failure": {
			"exit code, the name of the failure, the reason to look up",
			world(deadline(0), vm(cloud.Running, `{"version":1,"state":"failed","reason":"ApiServerCaMismatch","message":"couldn't validate the identity of the API Server (kubeadm.exe ended with exit code 1)","phase":{"index":9,"of":11,"name":"join"},"exitCode":1,"elapsed":180,"lastLines":["a","b"]}`)),
			ready, `Bootstrap 9/11 join failed after 3m: exit 1, "couldn't validate the identity of the API Server" (ApiServerCaMismatch)`,
		},
		"failure that has no name": {
			"the last line that is no stack",
			world(deadline(0), vm(cloud.Running, `{"version":1,"state":"failed","reason":"JoinFailed","message":"kubeadm.exe ended with exit code 1","phase":{"index":9,"of":11,"name":"join"},"exitCode":1,"elapsed":3725,`+
				`"lastLines":["could not do it","k8s.io/kubernetes/cmd/kubeadm/app/discovery.For","\tk8s.io/kubernetes/cmd/kubeadm/app/discovery/discovery.go:41","main.main","runtime.goexit"]}`)),
			ready, `Bootstrap 9/11 join failed after 1h2m5s: exit 1, "could not do it" (JoinFailed)`,
		},
		"failure of a silent program": {
			"then its exit code is all that there is",
			world(vm(cloud.Running, `{"version":1,"state":"failed","reason":"PreJoinScriptFailed","message":"cmd.exe ended with exit code -7","phase":{"index":3,"of":11,"name":"pre-join"},"exitCode":-7,"elapsed":1,"lastLines":[""]}`)),
			ready, `Bootstrap 3/11 pre-join failed after 1s: exit -7, "cmd.exe ended with exit code -7" (PreJoinScriptFailed)`,
		},
		"failure with quotes and paths": {
			"they are to be read, not to be parsed",
			world(vm(cloud.Running, `{"version":1,"state":"failed","reason":"FilesFailed","message":"copy \"C:\\a b\": no","phase":{"index":1,"of":7,"name":"prepare"},"elapsed":1}`)),
			ready, `Bootstrap 1/7 prepare failed after 1s: "copy 'C:\a b': no" (FilesFailed)`,
		},
		"failure without a program": {
			"there is no exit code",
			world(vm(cloud.Running, `{"version":1,"state":"failed","reason":"BootstrapTimeout","message":"the deadline of 1800 s has passed","phase":{"index":9,"of":11,"name":"join"},"elapsed":1800}`)),
			ready, `Bootstrap 9/11 join failed after 30m: "the deadline of 1800 s has passed" (BootstrapTimeout)`,
		},
		"program that hangs": {
			"what was stopped is said",
			world(vm(cloud.Running, `{"version":1,"state":"failed","reason":"ApiServerUnreachable","message":"the API server does not answer (kubeadm.exe did not end within 900 s and was stopped)","phase":{"index":9,"of":11,"name":"join"},"elapsed":950,"lastLines":["a"]}`)),
			ready, `Bootstrap 9/11 join failed after 15m50s: "the API server does not answer (kubeadm.exe did not end within 900 s and was stopped)" (ApiServerUnreachable)`,
		},
		"done": {
			"how long it took", world(deadline(0), vm(cloud.Running, succeeded)),
			progress, "Bootstrap succeeded after 1m of at most 30m",
		},
		"done, with a warning": {
			"what may fail is not hidden",
			world(deadline(0), vm(cloud.Running, `{"version":1,"state":"succeeded","elapsed":600,"warnings":["defender: no"]}`)),
			progress, `Bootstrap succeeded after 10m of at most 30m, with a warning: "defender: no"`,
		},
		"done, with warnings": {
			"the rest is in status.bootstrap.warnings",
			world(deadline(0), vm(cloud.Running, `{"version":1,"state":"succeeded","elapsed":600,"warnings":["a","b"]}`)),
			progress, `Bootstrap succeeded after 10m of at most 30m, with 2 warnings, the last: "b"`,
		},
		"start failed": {
			"step and reason of the guest", world(vm(cloud.Running, bootFailed)),
			boot, "at the last start of the node: hns-network: no address (NetworkNotReady)",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, phase.Outcome{})
			if diff := cmp.Diff(c.want, conditions.Get(c.facts.machine, c.condition).Message); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestOverdue looks at a machine whose VM has been running for a while, and whose guest last told something in between.
func TestOverdue(t *testing.T) {
	const (
		silent  = "False GuestSilent, Stalled True GuestSilent"
		overdue = "False BootstrapOverdue, Stalled True BootstrapOverdue"
		waiting = "Unknown WaitingForGuest, Stalled False NotStalled"
		working = "True Bootstrapping, Stalled False NotStalled"
		done    = "True BootstrapSucceeded, Stalled False NotStalled"
	)
	at12 := vm(cloud.Running, running) // 12 seconds of the limit are used
	cases := map[string]struct {
		reason string
		// told is the report that comes some minutes after the VM ran; then the machine is looked at again.
		told   func(*facts)
		after  time.Duration
		change func(*facts)
		look   time.Duration
		want   string
		wake   time.Duration
	}{
		"silent, early":      {reason: "Windows may take its time", change: deadline(0), look: 44 * time.Minute, want: waiting, wake: time.Minute},
		"silent, almost":     {reason: "the wake-up is for the very moment", change: deadline(0), look: 45*time.Minute - time.Second, want: waiting, wake: time.Second},
		"silent, too long":   {reason: "30 minutes for the guest, 15 for Windows", change: deadline(0), look: 45 * time.Minute, want: silent, wake: time.Minute},
		"silent, short":      {reason: "the limit is the config's", change: deadline(300), look: 20 * time.Minute, want: silent, wake: time.Minute},
		"silent, unknown":    {reason: "a guest of another provider's user data tells nothing at all", look: 24 * time.Hour, want: waiting, wake: time.Minute},
		"silent, joined":     {reason: "the node is the answer", change: both(deadline(0), withNode), look: 24 * time.Hour, want: done},
		"told, early":        {reason: "the limit counts from what was told", told: at12, after: 40 * time.Minute, change: deadline(0), look: 80 * time.Minute, want: working, wake: time.Minute},
		"told, almost":       {reason: "12 s of 30 minutes were used then", told: at12, after: 40 * time.Minute, change: deadline(0), look: 85*time.Minute - 13*time.Second, want: working, wake: time.Second},
		"told, too long":     {reason: "its own deadline has passed in any case", told: at12, after: 40 * time.Minute, change: deadline(0), look: 85*time.Minute - 12*time.Second, want: overdue, wake: time.Minute},
		"told, joined":       {reason: "the rest was asked for too, but nothing stalls", told: at12, change: both(deadline(0), withNode), look: 24 * time.Hour, want: "False BootstrapOverdue, Stalled False NotStalled"},
		"told, joined early": {reason: "a joined machine is looked at again for this alone", told: at12, change: both(deadline(0), withNode), look: 10 * time.Minute, want: working, wake: 35*time.Minute - 12*time.Second},
		"done":               {reason: "nothing more is to be heard", told: vm(cloud.Running, succeeded), change: deadline(0), look: 24 * time.Hour, want: done, wake: time.Minute},
		"failed":             {reason: "it told so", told: vm(cloud.Running, failed), change: deadline(0), look: 24 * time.Hour, want: "False BootstrapFailed, Stalled True BootstrapFailed", wake: time.Minute},
		"more than the limit": {
			reason: "a guest that lies of its time gets the margin, and no panic",
			told:   vm(cloud.Running, `{"version":1,"state":"running","elapsed":99999999999}`), change: deadline(0), look: 15 * time.Minute, want: overdue, wake: time.Minute,
		},
		"cloud away": {
			reason: "the guest may have told the cloud more", told: at12, change: both(deadline(0), func(f *facts) { f.vm = nil }), look: 24 * time.Hour, want: working, wake: time.Minute,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := world(vm(cloud.Running, ""), deadline(0))
			report(f, phase.Outcome{})
			if c.told != nil {
				f.now = begin.Add(c.after)
				c.told(f)
				report(f, phase.Outcome{})
			}
			f.config = nil
			if c.change != nil {
				c.change(f)
			}
			f.now = begin.Add(c.look)
			outcome := phase.Outcome{}
			if f.vm == nil {
				outcome = phase.Outcome{Reason: infrav1.CloudUnreachableReason, Err: errors.New("away")}
			}
			report(f, outcome)
			got := short(f.machine, infrav1.BootstrapProgressCondition) + ", Stalled " + short(f.machine, infrav1.StalledCondition)
			if got != c.want || wake(f) != c.wake {
				t.Errorf("%s:\nwant %s, next look after %s\ngot  %s, next look after %s", c.reason, c.want, c.wake, got, wake(f))
			}
			settled(t, f, outcome)
		})
	}
}

func both(first, second func(*facts)) func(*facts) { return func(f *facts) { first(f); second(f) } }

// settled checks that time alone changes nothing in a status, once it says what it says: it would be written again and again.
func settled(t *testing.T, f *facts, outcome phase.Outcome) {
	t.Helper()
	before := f.machine.DeepCopy()
	f.now = f.now.Add(100 * time.Millisecond)
	report(f, outcome)
	if diff := cmp.Diff(before.Status, f.machine.Status); diff != "" {
		t.Errorf("the status changes with the clock:\n%s", diff)
	}
}

// TestOverdueIsOver has guests that speak, or join, after they were given up.
func TestOverdueIsOver(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*facts)
		want   string
	}{
		"speaks":        {"it was slow", vm(cloud.Running, running), "True Bootstrapping, Ready False Bootstrapping"},
		"joins":         {"it cannot speak", withNode, "True BootstrapSucceeded, Ready True Joined"},
		"starts again":  {"a VM that was restarted has its time again", func(f *facts) { f.vm.State = cloud.Stopped }, "Unknown WaitingForGuest, Ready False VMNotRunning"},
		"says no more":  {"it stays given up", func(*facts) {}, "False GuestSilent, Ready False GuestSilent"},
		"is not looked": {"it stays so while the cloud is away", func(f *facts) { f.vm = nil }, "False GuestSilent, Ready False GuestSilent"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := world(vm(cloud.Running, ""), deadline(0))
			report(f, phase.Outcome{})
			f.now = begin.Add(time.Hour)
			report(f, phase.Outcome{})
			f.now = f.now.Add(time.Minute)
			c.change(f)
			outcome := phase.Outcome{}
			if f.vm != nil && f.vm.State == cloud.Stopped {
				outcome = phase.Wait(infrav1.VMNotRunningReason, "stopped")
			}
			report(f, outcome)
			got := short(f.machine, infrav1.BootstrapProgressCondition) + ", Ready " + short(f.machine, infrav1.ReadyCondition)
			if got != c.want {
				t.Errorf("%s: want %s, got %s", c.reason, c.want, got)
			}
		})
	}
}

func TestAllocatable(t *testing.T) {
	sized := func(f *facts) { f.machine.Spec.VSphere = &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384} }
	spec := func(s bootstrapv1.WindowsBootstrapConfigSpec) func(*facts) {
		return func(f *facts) { f.config = &bootstrapv1.WindowsBootstrapConfig{Spec: s} }
	}
	reserved := spec(bootstrapv1.WindowsBootstrapConfigSpec{Reservations: bootstrapv1.Reservations{
		System:   bootstrapv1.Reserved{CPU: "1", Memory: "2Gi"},
		Kube:     bootstrapv1.Reserved{CPU: "500m", Memory: "1Gi"},
		Eviction: bootstrapv1.Eviction{MemoryAvailable: "512Mi"},
	}})
	cases := map[string]struct {
		reason string
		facts  *facts
		want   map[corev1.ResourceName]string
	}{
		"no VM yet":    {"it is written together with the first word of the VM", world(sized, deadline(0)), nil},
		"other config": {"nobody knows what another provider reserves", world(sized, vm(cloud.Creating, "")), nil},
		"no size":      {"the template's is not known here", world(vm(cloud.Creating, ""), deadline(0)), map[corev1.ResourceName]string{"pods": "110"}},
		"explicit": {
			"the size less what is reserved", world(sized, reserved, vm(cloud.Creating, "")),
			map[corev1.ResourceName]string{"cpu": "2500m", "memory": "12800Mi", "pods": "110"},
		},
		"changed since": {
			"what nothing would be rendered of says nothing of the VM",
			world(sized, vm(cloud.Creating, ""), spec(bootstrapv1.WindowsBootstrapConfigSpec{Reservations: bootstrapv1.Reservations{System: bootstrapv1.Reserved{Memory: "1Mi"}}})), nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, phase.Wait(infrav1.ProvisioningReason, "cloning"))
			var got map[corev1.ResourceName]string
			for name, amount := range c.facts.machine.Status.Allocatable {
				if got == nil {
					got = map[corev1.ResourceName]string{}
				}
				got[name] = amount.String()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The time of a condition is that of the look that changed it: overdue counts from it.
func TestConditionsHaveTheTimeOfTheLook(t *testing.T) {
	f := world(vm(cloud.Running, ""))
	report(f, phase.Outcome{})
	f.now = begin.Add(time.Hour)
	report(f, phase.Outcome{})
	if got := conditions.GetLastTransitionTime(f.machine, infrav1.VMProvisionedCondition); !got.Equal(&metav1.Time{Time: begin}) {
		t.Errorf("the VM runs since %s and not since %s", got, begin)
	}
}
