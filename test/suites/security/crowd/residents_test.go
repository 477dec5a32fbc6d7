package crowd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// azureCloud is how the operator's file calls the Azure of the honest.
const azureCloud = "CrowdCloud"

// resident is an honest tenant in one of both clouds.
type resident struct {
	*tenant
	inAzure bool
}

// residents are five honest tenants in each cloud, with a namespace for each.
type residents []resident

// startAzure runs an Azure whose clock follows the time until the test ends. Its machines come as fast as those of the vCenter.
func startAzure(t *testing.T) *armsim.Cloud {
	t.Helper()
	c := armsim.Hurry(t, 1)
	c.Change(func(in *armsim.Inside) {
		in.Buckets.Off = true
		in.Compute.Times.Network, in.Compute.Times.Allocate = 200*time.Millisecond, 400*time.Millisecond
		in.Compute.Times.Boot, in.Compute.Times.Delete = 600*time.Millisecond, time.Second
	})
	return c
}

// settle has each tenant make a first machine: what a manager asks once of a cloud or a cluster is asked then.
func settle(t *testing.T) residents {
	t.Helper()
	r := make(residents, 2*tenants)
	there := vcenter.New(t).Credentials()
	inAzure := map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"cloud": []byte(azureCloud),
	}
	world.Together(len(r), func(i int) {
		one := resident{inAzure: i%2 == 1}
		credentials := there
		if one.inAzure {
			credentials = inAzure
		}
		one.tenant = &tenant{shared.Namespace(t, world.Start{Credentials: credentials})}
		r[i] = one
	})
	t.Logf("first machines: %s", r.add(t, "first", len(r)))
	return r
}

// stay is how long machines took until they were Ready.
type stay struct {
	ready []time.Duration        // sorted
	late  int                    // were not Ready in time
	slow  map[bool]time.Duration // the slowest in Azure, and in the vCenter
	load  string                 // of the computer, whose other work takes time, too
}

// p95 is the time in which 95 of 100 machines were Ready.
func (s stay) p95() time.Duration { return s.ready[(len(s.ready)*95+99)/100-1] }

func (s stay) String() string {
	text := fmt.Sprintf("%.0f s, last %.0f s in vCenter and %.0f s in Azure, at load %s",
		s.p95().Seconds(), s.slow[false].Seconds(), s.slow[true].Seconds(), s.load)
	if s.late > 0 {
		text += fmt.Sprintf(", %d not Ready", s.late)
	}
	return text
}

// add makes so many machines, and returns how long each took.
func (r residents) add(t *testing.T, name string, count int) stay {
	t.Helper()
	var mu sync.Mutex
	asked := map[types.NamespacedName]time.Time{}
	world.Together(count, func(i int) {
		one := r[i%len(r)]
		m := one.NewMachine(fmt.Sprintf("%s-%d", name, i/len(r)))
		if one.inAzure {
			m.Windows.Spec = world.InAzure(world.Credentials)
		}
		mu.Lock()
		asked[m.Key] = time.Now()
		mu.Unlock()
		m.Create(t)
	})
	return r.await(t, asked)
}

// await looks until all machines are Ready, or have had the time for it.
func (r residents) await(t *testing.T, asked map[types.NamespacedName]time.Time) stay {
	t.Helper()
	s := stay{slow: map[bool]time.Duration{}}
	ctx, cancel := context.WithTimeout(t.Context(), *longest)
	defer cancel()
	err := wait.Poll(ctx, func(ctx context.Context) error {
		if err := oneEnded(); err != nil {
			return wait.Final(err)
		}
		for _, one := range r {
			var list infrav1.WindowsMachineList
			if err := one.Client.List(ctx, &list, client.InNamespace(one.Name)); err != nil {
				return err
			}
			for _, m := range list.Items {
				key := client.ObjectKeyFromObject(&m)
				if began, waits := asked[key]; waits && running(&m) {
					took := time.Since(began)
					s.ready = append(s.ready, took)
					s.slow[one.inAzure] = max(s.slow[one.inAzure], took)
					delete(asked, key)
				}
			}
		}
		if len(asked) > 0 {
			return fmt.Errorf("%d machines are not Ready", len(asked))
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.late = len(asked)
	for range asked {
		s.ready = append(s.ready, *longest)
	}
	slices.Sort(s.ready)
	s.load = load()
	return s
}

// load is that of the last minute, as Linux says.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // elsewhere there is none
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// leave has the machines removed, and returns how long that took.
func (r residents) leave(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	for _, one := range r {
		one.removeAll(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), *longest)
	defer cancel()
	expect.Fine(t, wait.Poll(ctx, func(ctx context.Context) error {
		if err := oneEnded(); err != nil {
			return wait.Final(err)
		}
		for _, one := range r {
			var list infrav1.WindowsMachineList
			if err := one.Client.List(ctx, &list, client.InNamespace(one.Name)); err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("%d machines of %s are still there", len(list.Items), one.Name)
			}
		}
		return nil
	}))
	return time.Since(began)
}
