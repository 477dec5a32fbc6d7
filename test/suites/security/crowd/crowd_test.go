// Package crowd sets all hostile parties on one manager at once, while honest machines of other namespaces are made and removed.
package crowd

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

var shared *world.World

func TestMain(m *testing.M) {
	flag.Parse()
	if !stories.Runs("TestCrowd") || *chosen != "" {
		os.Exit(m.Run())
	}
	world.Alone(m, &shared, 1)
}

// tenants is how many honest ones there are, each with a namespace, a Cluster and machines in the one vCenter of the honest.
const tenants = 5

// each is how many machines a tenant has. The ratio of two runs says as much for few, and `make bench-hostile` has more.
var each = flag.Int("each", 2, "machines of each honest tenant")

// TestCrowd compares a quiet run with one among hostile parties, in the same processes: it must end, cost at most twice the looks
// and calls, and restart nothing. Times and memory are printed (`make bench-hostile`), because the machine may have other work.
func TestCrowd(t *testing.T) {
	stories.Begin(t)
	if shared == nil {
		t.Skip("needs real servers")
	}
	managers := expect.Got(servers.StartManagers(t.Context(), shared.Management))(t)
	quiet := gather(t).play(t)
	honest := gather(t)
	guests := invite(t, honest)
	hostile := honest.play(t)
	for _, p := range guests {
		p.tookPart(t)
	}
	for _, m := range managers {
		expect.OK(t, shared.Management.Ended(m.Component))
		peak := expect.Got(shared.Management.PeakMemory(m.Component))(t)
		t.Logf("peak memory of the %s manager: %d MiB; its Deployment allows %d MiB", m.Component, peak>>20, m.MemoryLimit>>20)
	}
	quiet.compare(t, hostile)
}

// run is what a run of the honest machines took.
type run struct {
	made, removed time.Duration
	// looks are requests to the API server in the namespaces of the honest, by manager, verb and resource; calls are those to
	// their vCenter, by method.
	looks map[string]int
	calls map[string]int
}

// town is honest tenants who share a vCenter.
type town struct {
	*vcenter.VCenter
	tenants []*tenant
}

// tenant has a namespace, with a Cluster in it.
type tenant struct{ *world.Namespace }

func gather(t *testing.T) town {
	t.Helper()
	honest := town{VCenter: vcenter.New(t)}
	honest.tenants = make([]*tenant, tenants)
	world.Together(tenants, func(i int) {
		honest.tenants[i] = &tenant{shared.Namespace(t, world.Start{Credentials: honest.Credentials()})}
	})
	return honest
}

// play has the tenants make all their machines and remove them.
func (honest town) play(t *testing.T) run {
	t.Helper()
	before, begin := requestsOf(t, honest.tenants), time.Now()
	others := honest.Owner(t).VMs()
	world.Together(*each*tenants, func(i int) { honest.tenants[i%tenants].Machine(t, fmt.Sprintf("m%d", i/tenants)) })
	for _, one := range honest.tenants {
		one.await(t, "running VMs", *each, running)
	}
	r := run{made: time.Since(begin)}
	begin = time.Now()
	for _, one := range honest.tenants {
		one.removeAll(t)
	}
	for _, one := range honest.tenants {
		one.await(t, "end of all machines", 0, nil)
	}
	r.removed = time.Since(begin)
	expect.Same(t, "VMs that are left", others, honest.Owner(t).VMs())
	r.looks, r.calls = less(requestsOf(t, honest.tenants), before), honest.Count()
	return r
}

func running(m *infrav1.WindowsMachine) bool {
	return world.ConditionOf(m, infrav1.VMRunningCondition) == infrav1.VMRunningCondition+" True Running"
}

// await waits until the namespace has so many WindowsMachines and all of them are good.
func (n *tenant) await(t *testing.T, what string, count int, good func(*infrav1.WindowsMachine) bool) {
	t.Helper()
	wait.Eventually(t, what+" in "+n.Name, func(ctx context.Context) error {
		for _, component := range servers.Components {
			if err := shared.Management.Ended(component); err != nil {
				return wait.Final(err)
			}
		}
		var list infrav1.WindowsMachineList
		if err := n.Client.List(ctx, &list, client.InNamespace(n.Name)); err != nil {
			return err
		}
		if len(list.Items) != count {
			return fmt.Errorf("there are %d machines and not %d", len(list.Items), count)
		}
		for _, m := range list.Items {
			if !good(&m) {
				return fmt.Errorf("machine %s: %s, %s", m.Name, world.ConditionOf(&m, infrav1.ReadyCondition), m.Status.Phase)
			}
		}
		return nil
	})
}
