package machine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestLife has a machine from its first look to its last one: what its status says, and when it is looked at again.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		look := func(what, ready string, after time.Duration) *infrav1.WindowsMachine {
			t.Helper()
			result, m := s.look(t)
			expect.Same(t, what+": Ready", ready, short(m, infrav1.ReadyCondition))
			expect.Same(t, what+": next look", ctrl.Result{RequeueAfter: after}, result)
			return m
		}
		release := s.cloud.Hold(fake.Create)
		m := look("being made", "False Provisioning", time.Minute)
		expect.Same(t, "finalizers", []string{infrav1.MachineFinalizer}, m.Finalizers)
		expect.Same(t, "phase", infrav1.PhaseProvisioning, m.Status.Phase)
		release()
		name := s.cloud.Names()[0]
		vm, _ := s.cloud.Get(name)
		vm.Own = ""
		expect.Same(t, "VM", fake.VM{
			Name: name, ID: m.Spec.ProviderID, Owner: lifeKey, ProviderID: m.Spec.ProviderID, On: true, Ran: true,
			UserData: []byte("x"), Given: true, Cluster: cloud.ClusterMark{Name: "blue"},
			Digest: cloud.DigestOf(m.Spec.ProviderID, []byte("x")),
		}, vm)
		before := scrape.Now(t)
		look("silent", "True Running", time.Minute)
		expect.Same(t, "VMs that are measured", 1.0, measuresSince(t, before)[`vm_creation_duration_seconds{cloud="azure"}`][0])
		if told := <-s.told.Events; !strings.HasPrefix(told, "Normal Running ") {
			t.Errorf("the event is %q", told)
		}
		s.cloud.Update(name, func(vm *fake.VM) { vm.Report, vm.Address = running, "10.0.0.9" })
		m = look("at work", "True Running", time.Minute)
		expect.Same(t, "bootstrap", "Unknown Bootstrapping", short(m, infrav1.BootstrapSucceededCondition))
		s.cloud.Update(name, func(vm *fake.VM) { vm.Report = reported("Running", "3/5 join", atEnd) })
		m = look("the next word waits", "True Running", 9*time.Second)
		expect.Same(t, "phase that is told", "2/5 kubelet", m.Status.Bootstrap.Phase)

		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}}
		s.edit(t, machine, func() { machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name} })
		<-time.After(10 * time.Second)
		m = look("joined, the next word waits longer", "True Running", 48*time.Second)
		expect.Same(t, "user data", "True UserDataRemoved", short(m, infrav1.UserDataRemovedCondition))
		expect.Same(t, "phase", infrav1.PhaseRunning, m.Status.Phase)
		<-time.After(48 * time.Second)
		m = look("it is heard", "True Running", 0)
		expect.Same(t, "phase that is told", "3/5 join", m.Status.Bootstrap.Phase)
		s.patched = nil
		look("nothing new", "True Running", 0)
		expect.Same(t, "writes without news", 0, len(s.patched))

		s.cloud.Away(cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away"))
		result, m := s.look(t)
		expect.Same(t, "an outage backs off", ctrl.Result{Requeue: true}, result) //nolint:staticcheck // it asks for the limiter
		expect.Same(t, "outage", "False CloudUnreachable", short(m, infrav1.CloudReachableCondition))
		s.cloud.Away(nil)

		expect.OK(t, s.Client.Delete(t.Context(), m))
		m = look("deleting", "False Deleting", 5*time.Second)
		expect.Same(t, "finalizers", 1, len(m.Finalizers))
		m = look("the VM is gone, its Secret is let go first", "False Deleting", 0)
		expect.Same(t, "finalizers", 1, len(m.Finalizers))
		result, m = s.look(t)
		expect.Same(t, "last look", ctrl.Result{}, result)
		expect.Same(t, "machine and VMs in the end", 0, len(m.Name)+len(s.cloud.Names()))
	})
}

// stepping is an account whose VM takes one of these steps with each look.
type stepping struct {
	cloud.Cloud
	steps *[]cloud.VM
}

func (s stepping) Ensure(context.Context, cloud.Machine) (cloud.VM, error) {
	vm := (*s.steps)[0]
	*s.steps = (*s.steps)[1:]
	return vm, nil
}

type steppingIn struct {
	fake.Provider
	steps *[]cloud.VM
}

func (s steppingIn) Connect(namespace string, data map[string][]byte) (cloud.Cloud, error) {
	account, err := s.Provider.Connect(namespace, data)
	return stepping{account, s.steps}, err
}

// TestWritesOfSteps: a step of the VM is one write of the status, and the look after it none. The cloud's own ID of the VM is a
// step of its own where a look falls between it and the end of the clone: it is written as soon as it is known.
func TestWritesOfSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := &cloud.Record{VSphere: infrav1.VSphereRecord{Server: "first", Reference: "vm-1"}}
		cloned, known := cloud.VM{Detail: "cloning"}, cloud.VM{Detail: "cloning", Record: record}
		steps := []cloud.VM{cloned, cloned, known, known, {State: cloud.Running, Record: record}}
		s := newLife(t)
		s.Clouds = inClouds(steppingIn{fake.Provider{World: s.cloud}, &steps})
		for i, want := range []int{1, 0, 1, 0, 1} {
			s.patched = nil
			s.look(t)
			writes := 0
			for _, patch := range s.patched {
				if patch == "status" {
					writes++
				}
			}
			expect.Same(t, fmt.Sprint("writes of look ", i+1), want, writes)
		}
		expect.Same(t, "steps that are left", 0, len(steps))
	})
}

// TestLifeWaits are looks that end before there is a VM.
func TestLifeWaits(t *testing.T) {
	type change = func(*infrav1.WindowsMachine, *clusterv1.Machine, *clusterv1.Cluster)
	orphan := func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) { m.OwnerReferences = nil }
	fresh := func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) {
		m.CreationTimestamp = metav1.NewTime(time.Now())
	}
	pause := func(_ *infrav1.WindowsMachine, _ *clusterv1.Machine, c *clusterv1.Cluster) { c.Spec.Paused = new(true) }
	going := func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) {
		m.DeletionTimestamp, m.Finalizers = new(metav1.NewTime(time.Now())), []string{"test/other"}
	}
	held := func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) {
		m.Finalizers = append(m.Finalizers, infrav1.MachineFinalizer)
	}
	for name, c := range map[string]struct {
		changes []change
		want    string // Ready
		after   time.Duration
		phase   infrav1.Phase
		says    string
	}{
		"no owner":                {[]change{orphan}, "False WaitingForOwner", 0, infrav1.PhasePending, "no Machine owns"},
		"no owner, yet":           {[]change{orphan, fresh}, "", 29 * time.Second, "", ""},
		"new":                     {[]change{fresh}, "False Provisioning", time.Minute, infrav1.PhaseProvisioning, ""},
		"paused":                  {[]change{pause}, "Unknown Paused", 0, "", "was paused"},
		"paused, deleted":         {[]change{pause, going, held}, "Unknown Paused", 0, infrav1.PhaseDeleting, "was paused"},
		"deleted, held by others": {[]change{going}, "False Deleting", 0, infrav1.PhaseDeleting, "the VM is deleted"},
		"a Machine that has another": {
			[]change{func(_ *infrav1.WindowsMachine, m *clusterv1.Machine, _ *clusterv1.Cluster) {
				m.Spec.InfrastructureRef.Name = "other"
			}},
			"False OwnerNotSupported", 2 * time.Minute, infrav1.PhaseFailed, "core",
		},
		"no image": {
			[]change{func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) {
				m.Spec.Azure.Image.ID = ""
			}},
			"False SpecInvalid", 2 * time.Minute, infrav1.PhaseFailed, "spec.azure.image.id",
		},
		"provider ID of another cloud": {
			[]change{func(m *infrav1.WindowsMachine, _ *clusterv1.Machine, _ *clusterv1.Cluster) { m.Spec.ProviderID = "x" }},
			"False SpecInvalid", 2 * time.Minute, infrav1.PhaseFailed, "is not a fake one",
		},
		"its Machine goes": {
			[]change{func(_ *infrav1.WindowsMachine, m *clusterv1.Machine, _ *clusterv1.Cluster) {
				m.DeletionTimestamp, m.Finalizers = new(metav1.NewTime(time.Now())), []string{"test/other"}
			}}, "False Deleting", 0, infrav1.PhaseDeleting, "it had no VM and gets none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLife(t, c.changes...)
				result, m := s.look(t)
				expect.Same(t, "Ready", c.want, short(m, infrav1.ReadyCondition))
				expect.Same(t, "next look", ctrl.Result{RequeueAfter: c.after}, result)
				expect.Same(t, "phase", c.phase, m.Status.Phase)
				if ready := machineMessage(m); !strings.Contains(ready, c.says) {
					t.Errorf("Ready says %q, want %q", ready, c.says)
				}
				expect.Same(t, "has an identity", c.phase == infrav1.PhaseProvisioning, len(m.Spec.ProviderID) > 1)
			})
		})
	}
}

func machineMessage(m *infrav1.WindowsMachine) string {
	for _, c := range m.Status.Conditions {
		if c.Type == infrav1.ReadyCondition {
			return c.Message
		}
	}
	return ""
}

// TestLifeFailures: what the API server refuses at one time is an error, which the queue tries again, and nothing is told.
func TestLifeFailures(t *testing.T) {
	for _, call := range []string{
		"get WindowsMachine", "get Machine", "get Cluster", "patch WindowsMachine status", "list IPAddressList",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newLife(t)
			s.look(t)
			s.cloud.Update(s.cloud.Names()[0], func(vm *fake.VM) { vm.Address = "10.0.0.9" })
			before := &infrav1.WindowsMachine{}
			expect.OK(t, s.Client.Get(t.Context(), lifeKey, before))
			s.fails[call] = errPhase
			_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: lifeKey})
			expect.Says(t, call, err, "etcdserver: request timed out")
			s.fails[call] = nil
			after := &infrav1.WindowsMachine{}
			expect.OK(t, s.Client.Get(t.Context(), lifeKey, after))
			expect.Same(t, "status after "+call, before.Status, after.Status)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.fails["patch WindowsMachine"] = errOutdated
		result, m := s.look(t)
		expect.Same(t, "a conflict backs off", ctrl.Result{Requeue: true}, result) //nolint:staticcheck // it asks for the limiter
		expect.Same(t, "Ready after a conflict", "", short(m, infrav1.ReadyCondition))
		expect.OK(t, s.Client.Delete(t.Context(), m))
		result, _ = s.look(t)
		expect.Same(t, "nothing to look at", ctrl.Result{}, result)
		s.fails["list IPAddressClaimList"] = errPhase
		_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: lifeKey})
		expect.Says(t, "claims that were left", err, "etcdserver: request timed out")
	})
}

// TestLifeWithoutCredentials: a Secret that goes away while the VM runs is told, and the account with it.
func TestLifeWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.look(t)
		_, m := s.look(t)
		expect.Same(t, "Ready", "True Running", short(m, infrav1.ReadyCondition))
		expect.Same(t, "sessions", 1, s.cloud.Sessions())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloud"}}
		s.edit(t, secret, func() { secret.Finalizers = nil })
		expect.OK(t, s.Client.Delete(t.Context(), secret))
		<-time.After(11 * time.Second)
		result, m := s.look(t)
		expect.Same(t, "next look", ctrl.Result{}, result)
		expect.Same(t, "cloud", "False CredentialsMissing", short(m, infrav1.CloudReachableCondition))
		<-time.After(time.Minute)
		expect.Same(t, "sessions without the Secret", 0, s.cloud.Sessions())
	})
}
