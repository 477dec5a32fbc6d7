// Package cost measures what machines cost: calls to their vCenter, requests to the API server, connections, time of the
// processor and memory. Our two managers run as the built program, with a real API server, Cluster API's core manager and the
// lab's vCenter. Counts are checked; times are printed, because the machine may have other work (`make bench-vsphere`).
package cost

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

var shared *world.World

func TestMain(m *testing.M) { world.Alone(m, &shared, 1) }

// stage is a namespace with machines in a vCenter of its own, and our managers.
type stage struct {
	*world.Namespace
	t        *testing.T
	vcenter  *vcenter.Owner
	managers []servers.Manager
	machines int
	paused   bool   // our managers do not run
	scrape   string // the token that reads metrics
}

// managers are started once.
var managers = sync.OnceValues(func() ([]servers.Manager, error) {
	return servers.StartManagers(context.Background(), shared.Management)
})

func newStage(t *testing.T, machines int) *stage {
	t.Helper()
	if shared == nil {
		t.Skip("needs real servers")
	}
	v := vcenter.New(t)
	s := &stage{t: t, vcenter: v.Owner(t), machines: machines, managers: expect.Got(managers())(t)}
	s.Namespace = shared.Namespace(t, world.Start{Credentials: v.Credentials()})
	s.scrape = s.scraper()
	return s
}

// await looks until all machines are as they should be. It looks seldom, because the API server has to do it.
func (s *stage) await(what string, missing func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute+time.Duration(s.machines)*time.Second)
	defer cancel()
	next := time.NewTicker(50*time.Millisecond + time.Duration(s.machines)*time.Millisecond)
	defer next.Stop()
	for is := missing(); is != ""; is = missing() {
		for _, component := range servers.Components {
			if !s.paused {
				expect.OK(s.t, shared.Management.Ended(component))
			}
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			s.t.Fatalf("waiting for %s: %s", what, is)
		}
	}
}

// awaitAll waits until there are so many WindowsMachines and all are good.
func (s *stage) awaitAll(what string, count int, good func(*infrav1.WindowsMachine) bool) {
	s.t.Helper()
	s.await(what, func() string {
		all := s.list()
		if len(all) != count {
			return fmt.Sprintf("there are %d machines and not %d", len(all), count)
		}
		for _, m := range all {
			if !good(&m) {
				return fmt.Sprintf("machine %s: %s; %s; %s", m.Name, world.ConditionOf(&m, infrav1.ReadyCondition),
					world.ConditionOf(&m, infrav1.BootstrapSucceededCondition), world.ConditionOf(&m, infrav1.UserDataRemovedCondition))
			}
		}
		return ""
	})
}

func (s *stage) list() []infrav1.WindowsMachine {
	s.t.Helper()
	var all []infrav1.WindowsMachine
	page := infrav1.WindowsMachineList{}
	for begun := false; !begun || page.Continue != ""; begun = true { // a busy server has no time for thousands in one answer
		next := client.Continue(page.Continue)
		page = infrav1.WindowsMachineList{}
		expect.OK(s.t, s.Client.List(s.t.Context(), &page, client.InNamespace(s.Name), client.Limit(500), next))
		all = append(all, page.Items...)
	}
	return all
}

func is(condition, status string) func(*infrav1.WindowsMachine) bool {
	return func(m *infrav1.WindowsMachine) bool { return world.ConditionOf(m, condition) == condition+" "+status }
}

// makeAll makes the machines and waits until they are Ready.
func (s *stage) makeAll() {
	s.t.Helper()
	world.Together(s.machines, func(i int) { s.Machine(s.t, fmt.Sprintf("m%d", i)) })
	s.awaitAll("Ready machines", s.machines, is(infrav1.ReadyCondition, "True Running"))
}

// joinAll lets the guests tell of so many phases, one after the other, and the nodes join.
func (s *stage) joinAll(phases int) {
	s.t.Helper()
	vms := s.vms()
	for phase := 1; phase <= phases; phase++ {
		state := "Running"
		if phase == phases {
			state = "Succeeded"
		}
		report := fmt.Sprintf(`{"version":1,"state":%q,"phase":{"index":%d,"of":%d,"name":"phase-%d"}}`, state, phase, phases, phase)
		world.Together(len(vms), func(i int) { s.write(vms[i], "guestinfo.capwin.report", report) })
		want := fmt.Sprintf("%d/%d ", phase, phases)
		s.awaitAll(fmt.Sprint("phase ", phase), s.machines, func(m *infrav1.WindowsMachine) bool {
			told := m.Status.Bootstrap
			return told != nil && len(told.Phase) > len(want) && told.Phase[:len(want)] == want
		})
	}
	all := s.list()
	world.Together(len(all), func(i int) { s.join(&all[i]) })
	joined := is(infrav1.BootstrapSucceededCondition, "True Joined")
	removed := is(infrav1.UserDataRemovedCondition, "True UserDataRemoved")
	s.awaitAll("joined nodes", s.machines, func(m *infrav1.WindowsMachine) bool { return joined(m) && removed(m) })
}

// vms are those of the machines. Their owner sees them without a call that is counted.
func (s *stage) vms() []*object.VirtualMachine {
	s.t.Helper()
	var vms []*object.VirtualMachine
	for name, ref := range s.vcenter.All() {
		if name != vcenter.Template {
			vms = append(vms, object.NewVirtualMachine(s.vcenter.Client, ref))
		}
	}
	return vms
}

// write into the configuration of a VM, as its guest does.
func (s *stage) write(vm *object.VirtualMachine, key, value string) {
	s.t.Helper()
	_, err := vm.Reconfigure(s.t.Context(), types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}},
	})
	expect.OK(s.t, err)
}

func (s *stage) join(m *infrav1.WindowsMachine) {
	s.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Status.ComputerName, Labels: map[string]string{corev1.LabelOSStable: "windows"}},
		Spec: corev1.NodeSpec{
			ProviderID: m.Spec.ProviderID,
			Taints:     []corev1.Taint{clusterv1.NodeUninitializedTaint},
		},
	}
	expect.OK(s.t, s.Client.Create(s.t.Context(), node))
	now := metav1.Now()
	world.ChangeStatus(s.t, s.Client, node, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test", LastHeartbeatTime: now, LastTransitionTime: now,
		}}
	})
}

// removeAll removes the machines.
func (s *stage) removeAll() {
	s.t.Helper()
	expect.OK(s.t, s.Client.DeleteAllOf(s.t.Context(), &clusterv1.Machine{}, client.InNamespace(s.Name)))
	s.awaitAll("end of all machines", 0, nil)
}

// touchAll has the controller look at each machine once more.
func (s *stage) touchAll(value string) {
	s.t.Helper()
	before, all := s.looks(), s.list()
	world.Together(len(all), func(i int) { s.touch(&all[i], value) })
	s.await("a look at each machine", func() string {
		if looks := s.looks() - before; looks < len(all) {
			return fmt.Sprintf("%d looks at %d machines", looks, len(all))
		}
		return ""
	})
}

func (s *stage) touch(m *infrav1.WindowsMachine, value string) {
	s.t.Helper()
	world.Change(s.t, s.Client, m, func(m *infrav1.WindowsMachine) {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, "test.capwin/touched", value) // ours stay: we would write them again
	})
}
