// Package azure measures what machines cost in Azure. The real account, with the SDK as it is, speaks TLS to the simulator of
// Azure Resource Manager, whose two layers of buckets are the documented ones, and whose clock the test moves. Counts are
// checked; times are printed. docs/contributing/azure-cost.md says what each figure is.
package azure

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

var full = flag.Bool("full", false, "measure thousands of machines; `make bench-azure` sets it")

const (
	step    = time.Second
	workers = 10
	// lookAgain is when a controller comes back of itself.
	lookAgain = time.Minute
)

// stage is a simulated Azure and an account, with workers that call it as the controllers do.
type stage struct {
	*armsim.Cloud
	t       *testing.T
	account cloud.Cloud
	ticks   chan time.Time

	mu  sync.Mutex
	due map[string]time.Time // when each machine is looked at next, by its name
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Cloud: armsim.New(t), t: t, ticks: make(chan time.Time), due: map[string]time.Time{}}
	provider := azure.Provider{Now: s.Now, Ticks: func() (<-chan time.Time, func()) { return s.ticks, func() {} }}
	s.account = expect.Got(provider.Connect("", s.credentials()))(t)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.account.Watch(ctx, s.wake) }()
	t.Cleanup(func() {
		stop()
		expect.OK(t, <-over)
		expect.OK(t, s.account.Close(context.Background()))
	})
	return s
}

// wake has the machines looked at now.
func (s *stage) wake(keys ...cloud.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if _, wanted := s.due[key.Name]; wanted {
			s.due[key.Name] = time.Time{}
		}
	}
}

func (s *stage) credentials() map[string][]byte {
	return map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": []byte(s.Endpoint()), "authority": []byte(s.Endpoint()), "caBundle": s.CA(),
	}
}

// machines are new ones of a subscription.
func machines(t *testing.T, subscription string, count int) (all []cloud.Machine) {
	t.Helper()
	for i := range count {
		o := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
			SubscriptionID: subscription, ResourceGroup: armsim.Group, Location: armsim.Location, VMSize: "Standard_D4s_v5",
			Image:             infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1.36.3"},
			NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node", Subnet: infrav1.AzureSubnet{ID: armsim.SubnetID}}},
		}}}
		o.Namespace, o.Name = "default", fmt.Sprint("m-", i)
		o.UID = types.UID("uid of " + o.Name)
		identity := expect.Got(azure.Provider{}.Identify(o))(t)
		o.Spec.ProviderID = identity.ProviderID
		all = append(all, cloud.Machine{
			Identity: identity, Key: cloud.Key{Namespace: "default", Name: o.Name}, Spec: o.Spec,
			UserData: cloud.UserData("#ps1\nhello").Read, Proof: cloud.Proof{Asked: cloud.NeverAsked, Own: true},
			Cluster: cloud.ClusterMark{Name: "blue", UID: "u"},
		})
	}
	return all
}

// pass lets a step of time pass. The second tick is taken when the watch has done what was due at the first.
func (s *stage) pass() {
	s.Advance(step)
	s.ticks <- s.Now()
	s.ticks <- s.Now()
}

func (s *stage) live(d time.Duration) {
	for range d / step {
		s.pass()
	}
}

// drive calls act for each machine when it is due, until it says that it is done; meanwhile happens at each step.
func (s *stage) drive(
	all []cloud.Machine, limit time.Duration, act func(cloud.Machine) (bool, error), meanwhile func(),
) time.Duration {
	s.t.Helper()
	begin := s.Now()
	s.mu.Lock()
	for _, m := range all {
		s.due[m.Key.Name] = time.Time{}
	}
	s.mu.Unlock()
	for {
		s.round(all, act)
		now := s.Now()
		s.mu.Lock()
		left := len(s.due)
		s.mu.Unlock()
		if left == 0 {
			return now.Sub(begin)
		}
		if now.Sub(begin) > limit {
			s.t.Fatalf("%d of %d machines are not done after %s", left, len(all), limit)
		}
		if meanwhile != nil {
			meanwhile()
		}
		s.pass()
	}
}

// round looks once at each machine that is due, with several workers.
func (s *stage) round(all []cloud.Machine, act func(cloud.Machine) (bool, error)) {
	now, queue := s.Now(), make(chan cloud.Machine)
	var under sync.WaitGroup
	for range workers {
		under.Go(func() {
			for m := range queue {
				s.look(m, now, act)
			}
		})
	}
	for _, m := range all {
		s.mu.Lock()
		due, wanted := s.due[m.Key.Name]
		s.mu.Unlock()
		if wanted && !due.After(now) {
			queue <- m
		}
	}
	close(queue)
	under.Wait()
}

func (s *stage) look(m cloud.Machine, now time.Time, act func(cloud.Machine) (bool, error)) {
	s.mu.Lock()
	s.due[m.Key.Name] = now.Add(lookAgain)
	s.mu.Unlock()
	done, err := act(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, _ := errors.AsType[*cloud.Error](err)
	switch {
	case done:
		delete(s.due, m.Key.Name)
	case e != nil && e.After > 0:
		s.due[m.Key.Name] = now.Add(e.After)
	case err != nil && !errors.Is(err, cloud.ErrNotFound):
		s.t.Errorf("%s: %v", m.Name, err)
	}
}

// run makes the VM of a machine; it is done when the VM runs and its address is known.
func (s *stage) run(m cloud.Machine) (bool, error) {
	vm, err := s.account.Ensure(s.t.Context(), m)
	return err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3, err
}

// remove comes back every 5 seconds, as the controller does.
func (s *stage) remove(m cloud.Machine) (bool, error) {
	_, err := s.account.Delete(s.t.Context(), m)
	if err == nil {
		err = cloud.LaterIn(5*time.Second, "soon")
	}
	return errors.Is(err, cloud.ErrNotFound), err
}

// pageSets counts the lists of a group and its subscription that were begun.
func (s *stage) pageSets() (n int) {
	for _, c := range s.Calls() {
		if c.Page == 1 {
			n++
		}
	}
	return n
}

// refused counts the answers with 429, of all calls.
func (s *stage) refused() (refused, all int) {
	for _, c := range s.Calls() {
		all++
		if c.Status == 429 {
			refused++
		}
	}
	return refused, all
}

func (s *stage) atMost(what string, most, got float64) {
	s.t.Helper()
	s.t.Logf("%s: %.6g; wanted: at most %.6g", what, got, most)
	if got > most {
		s.t.Errorf("%s: %.6g, want at most %.6g", what, got, most)
	}
}

// worked is the processor's time of this process: of the account, the simulator and the test together.
func worked() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
