package azure

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestLife follows machines from their request to their end.
func TestLife(t *testing.T) {
	sizes := []int{1, 12}
	if *full {
		sizes = []int{1, 50, 1000}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) { newStage(t).life(n) })
	}
}

func (s *stage) life(n int) {
	s.t.Helper()
	all, begin, cpu := machines(s.t, armsim.Subscription, n), time.Now(), worked()
	took := s.drive(all, time.Hour, s.run, nil)
	s.t.Logf("%d machines run after %s of the moved clock, %.1f s of ours; %v", n, took, time.Since(begin).Seconds(), s.ByClass())
	expect.Same(s.t, "calls that name a VM, until it runs", map[string]int{"PUT vm": n}, s.ofVMs(all))
	s.atMost("list page-sets a minute in flight", 14, float64(s.pageSets())/max(1, took.Minutes()))
	s.live(85 * time.Minute) // until no request of ours may still bring a VM
	s.Forget()
	const idle = 30
	s.live(idle * time.Minute)
	s.t.Logf("idle for %d minutes: %v", idle, s.ByClass())
	s.atMost("list page-sets a minute while idle", 2, float64(s.pageSets())/idle)
	expect.Same(s.t, "calls that name a VM, while idle", map[string]int{}, s.ofVMs(all))
	s.Forget()
	took = s.drive(all, 2*time.Hour, s.remove, nil)
	calls := s.ofVMs(all)
	s.t.Logf("%d machines are gone after %s; %v", n, took, s.ByClass())
	expect.Same(s.t, "deletions", n, calls["DELETE vm"])
	expect.Same(s.t, "calls that are no list", calls["DELETE vm"]+calls["GET vm"], s.unlisted())
	s.atMost("looks at removed VMs", float64(2*n), float64(calls["GET vm"]))
	expect.Same(s.t, "other calls that name a VM", 0, calls["PUT vm"]+calls["GET vm view"])
	s.t.Logf("CPU seconds per machine, simulator and test included: %.4f", (worked()-cpu)/float64(n))
	if n >= 50 {
		s.atMost("CPU seconds per machine", 0.05, (worked()-cpu)/float64(n))
	}
}

// unlisted counts the calls that are no lists.
func (s *stage) unlisted() (n int) {
	for _, c := range s.Calls() {
		if c.Page == 0 && c.Class != "token" {
			n++
		}
	}
	return n
}

// ofVMs are the calls that name VMs of ours, by method and class.
func (s *stage) ofVMs(all []cloud.Machine) map[string]int {
	ours := map[string]bool{}
	for _, m := range all {
		ours[m.Name] = true
	}
	sum := map[string]int{}
	for k, n := range s.Counts() {
		if ours[k.Resource] && len(k.Class) >= 2 && k.Class[:2] == "vm" {
			sum[k.Method+" "+k.Class] += n
		}
	}
	return sum
}

// TestFailure counts the looks at a VM that failed.
func TestFailure(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Compute.Faults.Failing = "kubeadm join failed" })
	all := machines(t, armsim.Subscription, 1)
	s.drive(all, 2*time.Hour, func(m cloud.Machine) (bool, error) {
		vm, _ := s.account.Ensure(t.Context(), m)
		return vm.Detail != "" && vm.State == cloud.Running, nil
	}, nil)
	s.live(20 * time.Minute)
	calls := s.ofVMs(all)
	reads := 0
	for k, n := range calls {
		if k != "PUT vm" {
			reads += n
		}
	}
	expect.Same(t, "requests", 1, calls["PUT vm"])
	s.atMost("reads after a failure", 2, float64(reads))
}

// TestRestart lets a process of its own know thousands of machines whose VMs run.
func TestRestart(t *testing.T) {
	n := 200
	if *full {
		n = 5000
	}
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Buckets.Off = true })
	all := machines(t, armsim.Subscription, n)
	s.drive(all, 3*time.Hour, s.run, nil)
	s.Change(func(in *armsim.Inside) { in.Buckets.Off = false })
	for _, page := range []int{n / 100, 250} { // a hundred pages are more than may be asked for at once
		s.live(10 * time.Minute) // until buckets are full
		s.Change(func(in *armsim.Inside) { in.Faults.PageSize = page })
		s.Forget()
		s.restart(n, page)
	}
}

const (
	endpointOf = "CAPWIN_COST_ENDPOINT"
	bundleOf   = "CAPWIN_COST_CA"
	machinesOf = "CAPWIN_COST_MACHINES"
	peakIs     = "memory at most, in KiB:"
)

func (s *stage) restart(n, page int) {
	s.t.Helper()
	self := exec.CommandContext(s.t.Context(), os.Args[0], "-test.run=^TestSecondProcess$", "-test.count=1")
	self.Env = append(os.Environ(), endpointOf+"="+s.Endpoint(), bundleOf+"="+string(s.CA()), machinesOf+"="+fmt.Sprint(n))
	stop, over := make(chan struct{}), make(chan struct{})
	go func() { // the simulator's clock follows the time
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				s.Advance(100 * time.Millisecond)
			}
		}
	}()
	begin := time.Now()
	printed, err := self.CombinedOutput()
	close(stop)
	<-over
	if err != nil {
		s.t.Fatalf("%v: %s", err, printed)
	}
	peak := 0.
	if _, after, found := strings.Cut(string(printed), peakIs); found {
		_ = expect.Got(fmt.Sscan(after, &peak))(s.t)
	}
	s.t.Logf("%d machines are known %.1f s after a restart, pages of %d; %v", n, time.Since(begin).Seconds(), page, s.ByClass())
	s.atMost("list page-sets after a restart", 5, float64(s.pageSets()))
	s.atMost("MiB of memory of the process", 384, peak/1024)
	if peak == 0 {
		s.t.Error("the process did not say how much memory it took")
	}
	for class := range maps.Keys(s.ByClass()) {
		if class == "GET vm" || class[:4] != "GET " {
			s.t.Errorf("after a restart there was a %s", class)
		}
	}
}

// TestSecondProcess is what TestRestart starts.
func TestSecondProcess(t *testing.T) {
	endpoint := []byte(os.Getenv(endpointOf))
	if len(endpoint) == 0 {
		t.Skip("is a part of TestRestart")
	}
	account := expect.Got(azure.Provider{}.Connect("", map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": endpoint, "authority": endpoint, "caBundle": []byte(os.Getenv(bundleOf)),
	}))(t)
	count := 0
	_ = expect.Got(fmt.Sscan(os.Getenv(machinesOf), &count))(t)
	all := machines(t, armsim.Subscription, count)
	for i := range all {
		all[i].Asked = cloud.MaybeAsked
	}
	go func() { expect.Fine(t, account.Watch(t.Context(), func(...cloud.Key) {})) }()
	for _, m := range all {
		m.Settled, m.Asked = true, cloud.Existed
		for try := 0; ; try++ {
			vm, err := account.Observe(t.Context(), m)
			if err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3 {
				break
			}
			if try > 1200 {
				t.Fatalf("%s is not known: %+v, %v", m.Name, vm, err)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	// What the system says to a parent of its child's memory is at least the parent's own, so the child says it itself.
	status := string(expect.Got(os.ReadFile("/proc/self/status"))(t))
	_, peak, _ := strings.Cut(status, "VmHWM:")
	peak, _, _ = strings.Cut(peak, "kB")
	fmt.Println(peakIs, strings.TrimSpace(peak))
}

// TestSilence shows that a 429 silences its class for all workers, and nobody else.
func TestSilence(t *testing.T) {
	const other = "22222222-2222-3333-4444-555555555555"
	s := newStage(t)
	s.Change(func(in *armsim.Inside) {
		in.World.AddGroup(other, armsim.Group, armsim.Location)
		in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+other, "*")
		in.Faults.Refuse = func(c armsim.Call) *armsim.Refusal {
			if c.Method != http.MethodPut {
				return nil
			}
			return &armsim.Refusal{Status: 429, Code: "TooManyRequests", Message: "too many", RetryAfter: time.Minute}
		}
	})
	here := machines(t, armsim.Subscription, 20)
	there := machines(t, other, 1)
	puts := func() int { return s.ByClass()["PUT vm"] }
	ask := func(all []cloud.Machine) {
		for _, m := range all {
			_, err := s.account.Ensure(t.Context(), m)
			if err == nil {
				t.Errorf("%s: no error", m.Name)
			}
		}
	}
	ask(here)
	expect.Same(t, "requests of all machines until the silence is over", 1, puts())
	s.live(58 * time.Second)
	ask(here)
	expect.Same(t, "requests of all machines until the silence is over", 1, puts())
	ask(there)
	if puts() == 1 { // it had to wait for another call of the account
		s.live(time.Second)
		ask(there)
	}
	expect.Same(t, "requests with one of another subscription", 2, puts())
	s.Change(func(in *armsim.Inside) { in.Faults.Refuse = nil })
	s.drive(here, time.Hour, s.run, nil)
}
