package machine

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// answers is a cloud that gives the same answers always.
type answers struct {
	cloud.Cloud
	vm     cloud.VM
	server string
	err    error
	did    *[]string
}

func (a answers) Ensure(context.Context, cloud.Machine) (cloud.VM, error) {
	*a.did = append(*a.did, "Ensure")
	return a.vm, a.err
}

func (a answers) Observe(context.Context, cloud.Machine) (cloud.VM, error) {
	*a.did = append(*a.did, "Observe")
	return a.vm, a.err
}

func (a answers) Server(context.Context, cloud.Key) (string, error) { return a.server, a.err }

func (a answers) Delete(context.Context, cloud.Machine) (cloud.VM, error) {
	*a.did = append(*a.did, "Delete")
	return a.vm, a.err
}

// TestProvision says what each answer of a cloud means for a machine, with and without a VM before.
func TestProvision(t *testing.T) {
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	going := func(f *facts) { f.machine.DeletionTimestamp = new(metav1.Now()) }
	away := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away")
	for name, c := range map[string]struct {
		facts func(*facts)
		vm    cloud.VM
		err   error
		did   string
		want  phase.Stop // without its message
	}{
		"runs": {vm: cloud.VM{State: cloud.Running}, did: "Ensure"},
		"stopped": {
			vm: cloud.VM{State: cloud.Stopped}, did: "Ensure", want: phase.Stop{Reason: infrav1.VMNotRunningReason, Wakes: phase.VM},
		},
		"evicted": {
			vm: cloud.VM{State: cloud.Stopped, Why: cloud.Evicted}, did: "Ensure",
			want: phase.Stop{Reason: infrav1.VMEvictedReason, Wakes: phase.VM},
		},
		"deallocated": {
			vm: cloud.VM{State: cloud.Stopped, Why: cloud.Deallocated}, did: "Ensure",
			want: phase.Stop{Reason: infrav1.VMDeallocatedReason, Wakes: phase.VM},
		},
		"being made":    {did: "Ensure", want: phase.Stop{Reason: infrav1.ProvisioningReason, After: time.Minute}},
		"had one, runs": {facts: had, vm: cloud.VM{State: cloud.Running}, did: "Observe"},
		"goes, never had": {
			facts: going, err: cloud.ErrNotFound, did: "Observe",
			want: phase.Stop{Reason: infrav1.DeletingReason, Wakes: phase.Self},
		},
		"goes, it is there": {facts: going, vm: cloud.VM{State: cloud.Running}, did: "Observe"},
		"had one, it is gone": {
			facts: had, err: cloud.ErrNotFound, did: "Observe",
			want: phase.Stop{Reason: infrav1.VMVanishedReason, Stalled: true, After: 2 * time.Minute},
		},
		"away": {err: away, did: "Ensure", want: phase.Stop{Reason: infrav1.CloudUnreachableReason, BackOff: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			f := world(func(f *facts) { f.cloud, f.account = answers{vm: c.vm, err: c.err, did: &did}, "Secret cloud" })
			if c.facts != nil {
				c.facts(f)
			}
			stop := phase.Of((&Reconciler{}).provision(t.Context(), f))
			if aboutAccount[stop.Reason] && !strings.HasPrefix(stop.Message, "Secret cloud: ") {
				t.Errorf("the message names no account: %q", stop.Message)
			}
			stop.Message = ""
			expect.Same(t, "stop", c.want, stop)
			expect.Same(t, "asked", c.did, strings.Join(did, " "))
			if (f.vm != nil) != (c.err == nil) {
				t.Errorf("VM %+v", f.vm)
			}
		})
	}
}

// TestRemove goes on only when the cloud says that nothing is left.
func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		left string
		err  error
		want phase.Stop
	}{
		"nothing left": {err: cloud.ErrNotFound},
		"asked for": {
			want: phase.Stop{Reason: infrav1.DeletingReason, Message: "VM m-abc is being deleted", After: 5 * time.Second},
		},
		"something left": {
			left: "a disk", want: phase.Stop{
				Reason: infrav1.DeletingReason, Message: "VM m-abc is being deleted: a disk", After: 5 * time.Second,
			},
		},
		"away": {
			"", cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away"),
			phase.Stop{Reason: infrav1.CloudUnreachableReason, Message: "Secret cloud: away", BackOff: true},
		},
		"an error": {"", errPhase, phase.Stop{Reason: clusterv1.InternalErrorReason, Err: errPhase}},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			f := world(func(f *facts) {
				f.cloud, f.account = answers{vm: cloud.VM{Detail: c.left}, err: c.err, did: &did}, "Secret cloud"
			})
			got := phase.Of((&Reconciler{}).remove(t.Context(), f))
			if got.Err != nil && c.want.Err != nil {
				got.Err, c.want.Err = nil, nil
			}
			expect.Same(t, "stop", c.want, got)
		})
	}
}

// TestHeldByAnother: a machine whose VM is gone, and which another finalizer keeps, says that it is deleted, not that it runs.
func TestHeldByAnother(t *testing.T) {
	f := world(wasRunning, isDeleting)
	f.windows.Finalizers = []string{"test/other"}
	expect.OK(t, (&Reconciler{}).next(t.Context(), f))
	report(f, nil)
	for _, name := range []string{infrav1.ReadyCondition, infrav1.VMRunningCondition} {
		expect.Same(t, name, "False Deleting", short(f.windows, name))
		expect.Same(t, name, "the VM is deleted", conditions.GetMessage(f.windows, name))
	}
	if f.windows.Status.Phase != infrav1.PhaseDeleting {
		t.Errorf("phase %s", f.windows.Status.Phase)
	}
}

// TestSameServer: a machine keeps the server on which its VM is, and an account for another one is of no use to it.
func TestSameServer(t *testing.T) {
	away := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away")
	for name, c := range map[string]struct {
		written, server string
		err             error
		want            string // the annotation
		reason          string
	}{
		"first":   {"", "one", nil, "one", ""},
		"same":    {"one", "one", nil, "one", ""},
		"another": {"one", "two", nil, "one", infrav1.IdentityMismatchReason},
		"away":    {"", "", away, "", infrav1.CloudUnreachableReason},
	} {
		f := world(func(f *facts) { f.cloud, f.account = answers{server: c.server, err: c.err}, "Secret cloud" })
		if c.written != "" {
			f.windows.Annotations = map[string]string{infrav1.ServerAnnotation: c.written}
		}
		stop := phase.Of((&Reconciler{}).sameServer(t.Context(), f))
		expect.Same(t, name+": annotation", c.want, f.windows.Annotations[infrav1.ServerAnnotation])
		if stop.Reason != c.reason || stop.Stalled != (c.reason == infrav1.IdentityMismatchReason) ||
			c.reason != "" && !strings.HasPrefix(stop.Message, "Secret cloud") {
			t.Errorf("%s: %+v", name, stop)
		}
	}
}

// TestPausedPhase: of paused machines only one that is deleted gets another phase.
func TestPausedPhase(t *testing.T) {
	pause := func(f *facts) { f.cluster.Spec.Paused = new(true) }
	going, stays := world(wasRunning, isDeleting, pause), world(wasRunning, pause)
	seen(going)
	seen(stays)
	expect.Same(t, "deleted", infrav1.PhaseDeleting, going.windows.Status.Phase)
	expect.Same(t, "not deleted", infrav1.PhaseRunning, stays.windows.Status.Phase)
}

// TestPhaseOfALostVM: a VM that was seen to run, and of which the cloud says that it is not there yet, is not said to be stopped.
func TestPhaseOfALostVM(t *testing.T) {
	f := world(wasRunning, vm(cloud.Creating, ""))
	report(f, phase.WaitFor(reread, infrav1.ProvisioningReason, "being made"))
	expect.Same(t, "phase", infrav1.PhaseProvisioning, f.windows.Status.Phase)
}
