package azure

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// faucet is on the way of all calls. Once it is turned on, answers to some come a byte at a time, without an end.
type faucet struct {
	*door
	drips            func(*http.Request) bool
	under, most, all atomic.Int32 // calls that drip
}

func (f *faucet) Do(r *http.Request) (*http.Response, error) {
	if f.drips == nil || !f.drips(r) {
		return f.door.Do(r)
	}
	f.all.Add(1)
	for n := f.under.Add(1); ; {
		if was := f.most.Load(); n <= was || f.most.CompareAndSwap(was, n) {
			break
		}
	}
	body := &dripping{of: r, over: func() { f.under.Add(-1) }}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: body}, nil
}

type dripping struct {
	of   *http.Request
	once sync.Once
	over func()
}

func (d *dripping) Read(into []byte) (int, error) {
	select {
	case <-d.of.Context().Done():
		return 0, d.of.Context().Err()
	case <-time.After(time.Millisecond):
		into[0] = ' '
		return 1, nil
	}
}

func (d *dripping) Close() error {
	d.once.Do(d.over)
	return nil
}

// TestDrip has an Azure that a tenant brings answer a byte at a time: the token endpoint, all of Azure Resource Manager, or only
// requests for VMs. Each call ends in time, and of the machines of the account one waits for all, after a first burst at most.
func TestDrip(t *testing.T) {
	for name, test := range map[string]struct {
		drips func(*http.Request) bool
		burst int32 // at once, before the account knows
		says  string
	}{
		"tokens": {
			func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/oauth2/") }, 1, "",
		},
		"all": {
			func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/subscriptions") }, 1, "Azure does not answer",
		},
		"requests for VMs": {func(r *http.Request) bool { return r.Method == http.MethodPut }, calls.AtOnce, "Azure does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var tap *faucet
			s.through = func(d *door) policy.Transporter {
				tap = &faucet{door: d, drips: test.drips}
				return tap
			}
			a := s.watched()
			a.calls.Timeout = 300 * time.Millisecond
			var machines []cloud.Machine
			for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
				machines = append(machines, s.machine("m-"+string(letter)), s.machine("n-"+string(letter)))
			}
			_, _ = a.Server(t.Context(), machines[0].Key) // as the controller does first
			_ = a.firstList(t.Context(), a.lists.Scope(homeOf(machines[0]).Parent()))
			began := time.Now()
			told := s.crowd(a, machines)
			t.Logf("it took %s, with a limit of %s a call", time.Since(began).Round(time.Millisecond), a.calls.Timeout)
			if n := tap.most.Load(); n > test.burst {
				t.Errorf("%d calls dripped at once", n)
			}
			tap.most.Store(0)
			before := tap.all.Load()
			for range 10 { // the account knows by now
				told = s.crowd(a, machines)
				s.Advance(5 * time.Second)
			}
			if n := tap.most.Load(); n > 1 {
				t.Errorf("%d calls dripped at once, later", n)
			}
			if n := tap.all.Load() - before; n > 8 {
				t.Errorf("%d calls in 50 s", n)
			}
			if !strings.Contains(told, test.says) {
				t.Errorf("told is %q", told)
			}
			tap.drips = nil
			s.live(a, 30*time.Second)
			s.run(a, machines[0])
		})
	}
}

// crowd has all machines looked at once, at the same time, and returns what one of them is told.
func (s *stage) crowd(a *account, machines []cloud.Machine) (told string) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, m := range machines {
		all.Go(func() {
			_, err := a.Ensure(s.t.Context(), m)
			if err == nil || cloud.IsLater(err) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			told = err.Error()
		})
	}
	all.Wait()
	return told
}

// refusing gives no tokens.
type refusing struct {
	err   *cloud.Error
	asked atomic.Int32
}

func (r *refusing) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	r.asked.Add(1)
	return azcore.AccessToken{}, r.err
}

// TestTokensAreNotAskedForInALoop has who gives tokens answer at once, and never with one. Many machines look every 5 s, for ten
// minutes, and the account asks seldom.
func TestTokensAreNotAskedForInALoop(t *testing.T) {
	for name, test := range map[string]struct {
		err  *cloud.Error
		most int32
	}{
		"refused":   {cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "wrong"), 600/30 + 1},
		"broken":    {cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "broken"), 600/15 + calls.Silences},
		"throttled": {&cloud.Error{Kind: cloud.Throttled, Reason: infrav1.CloudThrottledReason, After: time.Minute}, 600/60 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			p := expect.Got(s.login(s.credentials()))(t)
			none := &refusing{err: test.err}
			p.Credential = none
			a := expect.Got(open(p, s.Now))(t)
			t.Cleanup(func() { _ = a.Close(context.Background()) })
			a.watching.Store(true)
			for range 600 / 5 {
				for _, name := range []string{"a", "b", "c", "d"} {
					if _, err := a.Ensure(t.Context(), s.machine(name)); err == nil {
						t.Fatal("there is a VM")
					}
				}
				s.live(a, 5*time.Second)
			}
			if n := none.asked.Load(); n < 5 || n > test.most {
				t.Errorf("%d requests for tokens, want at most %d", n, test.most)
			}
		})
	}
}
