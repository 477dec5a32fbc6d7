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
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// run is one machine's life, with a process that is killed where the plan says and started again.
type run struct {
	namespace *world.Namespace
	vcenter   *vcenter.Owner
	machine   *world.Machine
	release   func() // lets clones end

	mu        sync.Mutex
	processes []*world.Process
	fronts    []*vcenter.Door
	failed    error // of a restart
	over      bool
	kept      sync.WaitGroup
}

var machines atomic.Int32

// begin makes the machine, without its bootstrap config, and starts the process once Cluster API has seen the machine: from
// then on what our controllers do follows from what the test does.
func begin(t *testing.T, at place, slow bool, plan world.Plan) *run {
	t.Helper()
	r := &run{namespace: at.Namespace, vcenter: at.vcenter.Owner(t), machine: at.NewMachine(fmt.Sprintf("m%d", machines.Add(1)))}
	if slow {
		r.release = sync.OnceFunc(at.vcenter.HoldClones())
		t.Cleanup(r.release)
	}
	r.machine.CreateWithoutConfig(t)
	r.machine.Await(t, "owner", func(s world.State) string {
		if len(s.Windows.OwnerReferences) == 0 || len(s.Core.Finalizers) == 0 {
			return "Cluster API has not looked at the Machine"
		}
		return ""
	})
	expect.OK(t, r.launch(t, plan))
	t.Cleanup(func() { r.end(t) })
	return r
}

// launch starts a process and, once that was killed, another one.
func (r *run) launch(t *testing.T, plan world.Plan) error {
	gate := &world.Gate{Plan: plan}
	f := front(r.vcenter, gate)
	r.namespace.SetCredentials(t, f.Credentials())
	p, err := r.namespace.Launch(world.Options{VSphere: vsphere.Provider{}, Gate: gate})
	if err != nil {
		return err
	}
	r.processes, r.fronts = append(r.processes, p), append(r.fronts, f)
	r.kept.Go(func() {
		<-p.Ended()
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.over {
			r.failed = errors.Join(r.failed, r.launch(t, world.Plan{}))
		}
	})
	return nil
}

// process is the one that lives.
func (r *run) process() *world.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.processes[len(r.processes)-1]
}

// end stops what runs. A process that fails to stop is a violation: something in it hangs.
func (r *run) end(t *testing.T) {
	r.mu.Lock()
	r.over = true
	err := r.failed
	processes, fronts := r.processes, r.fronts
	r.mu.Unlock()
	err = errors.Join(err, processes[len(processes)-1].Stop())
	r.kept.Wait()
	for _, f := range fronts {
		f.Close()
	}
	expect.Fine(t, err)
	if t.Failed() {
		for i, p := range processes {
			t.Logf("process %d said:\n%s\nand did: %s", i+1, p.Log(), strings.Join(p.Gate.Effects(), "\n  "))
		}
	}
}

// claimed brings the machine as far as it gets alone, and then makes its bootstrap config.
func (r *run) claimed(t *testing.T) {
	t.Helper()
	r.machine.Await(t, "claim", world.Windows("Ready False "+infrav1.WaitingForBootstrapDataReason))
	wait.Eventually(t, "the claim in the cache", func(ctx context.Context) error {
		for _, cache := range r.process().Caches {
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
	s := r.machine.Await(t, "running VM", world.Windows("Ready False "+infrav1.WaitingForGuestReason), world.DataSecretNamed)
	name := s.Windows.Status.ComputerName
	if vm := r.vcenter.Read(name, "runtime.powerState"); vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Fatalf("the VM is said to run and is %s", vm.Runtime.PowerState)
	}
	r.vcenter.SetExtra(name, "guestinfo.capwin.report",
		`{"version":1,"state":"succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"}}`)
	r.machine.Await(t, "report", world.Windows("Ready False "+infrav1.WaitingForNodeReason))
	r.machine.Join(t)
	r.machine.Await(t, "joined", world.Windows("Ready True "+infrav1.JoinedReason), world.Tokens(0), func(s world.State) string {
		if s.Core.Spec.ProviderID != s.Windows.Spec.ProviderID || !s.Core.Status.NodeRef.IsDefined() {
			return "Cluster API has not seen all"
		}
		if controllerutil.ContainsFinalizer(s.Config, bootstrapv1.ConfigFinalizer) {
			return "the config has its finalizer"
		}
		return ""
	})
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
	if len(vms) != running || have != want {
		t.Errorf("the VMs are %q, want %d; the vCenter saw %q, want %q", vms, running, have, want)
	}
}

// effects lists what all processes did.
func (r *run) effects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, p := range r.processes {
		all = append(all, p.Gate.Effects()...)
	}
	return all
}

// hit says whether the plan was carried out.
func (r *run) hit() bool { return r.processes[0].Gate.Hit() }

// deleteWhileCreating asks for the deletion while the clone is under way, and lets the clone end only after the deletion was
// worked at several times.
func (r *run) deleteWhileCreating(t *testing.T) {
	t.Helper()
	wait.Until(t, "a request for a clone", func() (any, bool) {
		effects := r.effects()
		return effects, slices.Contains(effects, "vcenter CloneVM_Task #1")
	})
	r.machine.Await(t, "provisioning", world.Windows("Ready False "+infrav1.ProvisioningReason))
	r.machine.Delete(t)
	r.machine.Await(t, "deleting", world.Windows("Ready False "+infrav1.DeletingReason))
	for worked := 0; worked < 3; {
		if r.process().TryReconcile(world.Machines, r.machine.Key) {
			worked++
		}
	}
	if s := r.machine.Load(t); s.Windows == nil || !controllerutil.ContainsFinalizer(s.Windows, infrav1.MachineFinalizer) {
		t.Error("the machine was let go while its clone was under way")
	}
	r.release()
}
