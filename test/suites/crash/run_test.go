package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// run is one machine's life, and the controllers that it is in the hands of.
type run struct {
	namespace *world.Namespace
	vcenter   *vcenter.Owner
	machine   *world.Machine
	release   func()   // lets clones end
	others    []string // VMs beside its own
	letGo     bool     // while its VM was being made, or was there

	controllers
}

// controllers are at work, in one process or one after another.
type controllers interface {
	// Process is the one that lives.
	Process() *world.Process
	// Effects lists what was changed in the machine's place.
	Effects() []string
	// Hit says whether all that was planned came about.
	Hit() bool
}

var machines atomic.Int32

// newRun makes the machine, without its bootstrap config, and waits until Cluster API has seen it.
func newRun(t *testing.T, at place, slow bool) *run {
	t.Helper()
	r := &run{namespace: at.Namespace, vcenter: at.vcenter.Owner(t), machine: at.NewMachine(fmt.Sprintf("m%d", machines.Add(1)))}
	r.others = at.others
	if slow {
		r.release = sync.OnceFunc(at.vcenter.HoldClones())
		t.Cleanup(r.release)
	}
	r.machine.CreateWithoutConfig(t)
	r.seen(t)
	return r
}

// seen waits until Cluster API has seen the machine.
func (r *run) seen(t *testing.T) {
	t.Helper()
	r.machine.Await(t, "owner", func(s world.State) string {
		if len(s.Windows.OwnerReferences) == 0 || len(s.Core.Finalizers) == 0 {
			return "Cluster API has not looked at the Machine"
		}
		return ""
	})
}

// begin makes the machine, and starts the first process once Cluster API has seen the machine: from then on what our controllers
// do follows from what the test does.
func begin(t *testing.T, at place, slow bool, plans ...world.Plan) *run {
	t.Helper()
	r := newRun(t, at, slow)
	var fronts []*vcenter.Door
	t.Cleanup(func() {
		for _, f := range fronts {
			f.Close()
		}
	})
	r.controllers = world.Succeed(t, plans, func(gate *world.Gate) (*world.Process, error) {
		if at.prepare != nil {
			at.prepare(gate)
		}
		f := front(r.vcenter, func() *world.Gate { return gate })
		fronts = append(fronts, f)
		r.namespace.SetCredentials(t, f.Credentials())
		return r.namespace.Launch(world.Options{VSphere: vsphere.Provider{}, Gate: gate, Now: proved.Clock(at.ahead), OwnClock: true})
	})
	return r
}

// claimed brings the machine as far as it gets alone, and then makes its bootstrap config.
func (r *run) claimed(t *testing.T) {
	t.Helper()
	r.machine.Await(t, "claim", world.Windows("Ready False "+infrav1.WaitingForBootstrapDataReason))
	wait.Eventually(t, "the claim in the cache", func(ctx context.Context) error {
		for _, cache := range r.Process().Caches {
			var seen infrav1.WindowsMachine
			if err := cache.Get(ctx, r.machine.Key, &seen); err != nil {
				return err
			}
			if seen.Status.ComputerName == "" {
				return errors.New("no computer name")
			}
		}
		return nil
	})
	r.machine.CreateConfig(t)
	// Cluster API looks for a config that was not there only every half minute.
	r.machine.Touch(t, r.machine.Core, "config")
}

// joined lets the guest do its work and the node join.
func (r *run) joined(t *testing.T) {
	t.Helper()
	s := r.machine.Await(t, "running VM", world.Windows("Ready True "+infrav1.RunningReason),
		world.Config("Ready Unknown "+infrav1.WaitingForGuestReason), world.DataSecretNamed)
	name := s.Windows.Status.ComputerName
	if vm := r.vcenter.Read(name, "runtime.powerState"); vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Fatalf("the VM is said to run and is %s", vm.Runtime.PowerState)
	}
	r.vcenter.SetExtra(name, "guestinfo.capwin.report",
		`{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"}}`)
	r.machine.Await(t, "report", world.Windows("BootstrapSucceeded Unknown "+infrav1.WaitingForNodeReason),
		world.Config("Ready Unknown "+infrav1.WaitingForNodeReason))
	if vm := r.vcenter.Extra(name); vm["guestinfo.userdata"] == "" {
		t.Error("the user data was taken away before the node had joined")
	}
	r.machine.Join(t)
	r.machine.Await(t, "joined", world.Windows("BootstrapSucceeded True "+infrav1.JoinedReason),
		world.Windows("UserDataRemoved True "+infrav1.UserDataRemovedReason),
		world.Config("Ready True "+infrav1.JoinedReason), world.Tokens(0), func(s world.State) string {
			if s.Core.Spec.ProviderID != s.Windows.Spec.ProviderID || !s.Core.Status.NodeRef.IsDefined() {
				return "Cluster API has not seen all"
			}
			if controllerutil.ContainsFinalizer(s.Config, bootstrapv1.ConfigFinalizer) {
				return "the config has its finalizer"
			}
			return ""
		})
	if vm := r.vcenter.Extra(name); vm["guestinfo.userdata"]+vm["guestinfo.userdata.encoding"] != "" {
		t.Error("the user data is still in the VM")
	}
}

// joinedAndGone is the rest of a life without a crash of the VM's: the node joins, the machine is deleted.
func (r *run) joinedAndGone(t *testing.T) {
	t.Helper()
	r.joined(t)
	name := r.machine.Load(t).Windows.Status.ComputerName
	r.look(t, name, 1, "cloned")
	r.machine.Delete(t)
	r.gone(t)
	r.look(t, name, 0, "cloned removed")
}

// gone waits until nothing is left, in Kubernetes and in the vCenter.
func (r *run) gone(t *testing.T) {
	t.Helper()
	r.machine.Await(t, "end", world.Gone)
}

// look compares what there is, and was, of the machine's VM with what should be.
func (r *run) look(t *testing.T, name string, running int, want string) {
	t.Helper()
	vms, have := r.vcenter.VMs(), strings.Join(r.vcenter.History(name), " ")
	if len(vms) != running+len(r.others) || have != want {
		t.Errorf("the VMs are %q, want %d and those of others; the vCenter saw %q, want %q", vms, running, have, want)
	}
}

// deleteWhileCreating asks for the deletion while the clone is under way, and lets the clone end only after the deletion was
// worked at several times.
func (r *run) deleteWhileCreating(t *testing.T) {
	t.Helper()
	wait.Until(t, "a request for a clone", func() (any, bool) {
		effects := r.Effects()
		return effects, slices.Contains(effects, "vcenter CloneVM_Task #1")
	})
	r.machine.Await(t, "provisioning", world.Windows("Ready False "+infrav1.ProvisioningReason))
	r.machine.Delete(t)
	r.machine.Await(t, "deleting", world.Windows("Ready False "+infrav1.DeletingReason))
	for worked := 0; worked < 3; {
		if r.Process().TryReconcile(world.Machines, r.machine.Key) {
			worked++
		}
	}
	if s := r.machine.Load(t); s.Windows == nil || !controllerutil.ContainsFinalizer(s.Windows, infrav1.MachineFinalizer) {
		r.letGo = true
		t.Error("the machine was let go while its clone was under way")
	}
	r.release()
}
