package accounts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// forVM asks for an account of its own, for a machine that may have a VM.
func (s *stage) forVM(n int) (cloud.Cloud, error) {
	return s.Get(fake.Provider{World: s.world}, key("full", fmt.Sprint(n)), password(fmt.Sprint(n)), true)
}

func (s *stage) isOpen(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets[secretOf{fake.Provider{}.Name(), key("full", fmt.Sprint(n))}] != nil
}

// TestRoomForVMs: machines that may have a VM, such as those that are deleted, get twice as many accounts as new ones, also after
// a restart in which new ones came first. Beyond that they take turns of a minute, which cost no other namespace an account.
func TestRoomForVMs(t *testing.T) {
	s := newStage(t)
	for i := range defaultLimit {
		s.get("full", fmt.Sprint("new", i), fmt.Sprint("new", i))
	}
	s.get("neighbour", "its", "new0") // shares one
	for i := range defaultLimit {
		expect.Got(s.forVM(i))(t)
		s.pass(time.Second)
	}
	expect.Same(t, "accounts", 2*defaultLimit, s.accounts())
	_, err := s.Get(fake.Provider{World: s.world}, key("full", "one"), password("one"), false)
	cloudtest.WantError(t, err, cloud.Exhausted, infrav1.TooManyAccountsReason)
	for i := range defaultLimit {
		s.get("full", fmt.Sprint("new", i), fmt.Sprint("new", i)) // in use all the time
	}
	_, err = s.forVM(100)
	cloudtest.WantError(t, err, cloud.Exhausted, infrav1.TooManyAccountsReason)
	expect.Says(t, "before a turn is over", err, "that may have a VM use 32 cloud accounts")

	s.pass(time.Minute - time.Duration(defaultLimit)*time.Second)
	expect.Got(s.forVM(100))(t)
	expect.Same(t, "the one not used for the longest time", []bool{false, true}, []bool{s.isOpen(0), s.isOpen(1)})
	expect.Same(t, "accounts", 2*defaultLimit, s.accounts())
	_, err = s.forVM(0)
	expect.Says(t, "until the next turn is over", err, "waits for its turn")
	s.pass(time.Second)
	expect.Got(s.forVM(0))(t)
	expect.Same(t, "the next one", false, s.isOpen(1))

	// Forty deletions, each tried every five seconds until it is through, which takes ten.
	had := map[int]int{}
	for range 100 {
		s.pass(5 * time.Second)
		for i := range 40 {
			if had[i] >= 2 {
				continue
			}
			s.awaitClosed()
			if _, err := s.forVM(i); err == nil {
				had[i]++
			}
		}
	}
	for i := range 40 {
		expect.Same(t, fmt.Sprint("looks of deletion ", i), 2, had[i])
	}
	expect.Same(t, "accounts", 2*defaultLimit, s.accounts())
	expect.Same(t, "users of an account that another namespace uses, too", 2, s.users("neighbour", "its"))
}

// awaitClosed waits for the ends of sessions: too many at a time would keep an account from being opened.
func (s *stage) awaitClosed() {
	s.t.Helper()
	wait.Until(s.t, "the end of the sessions that are being closed", func() (any, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.closing), len(s.closing) == 0
	})
}

func (s *stage) users(namespace, secret string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.secrets[secretOf{fake.Provider{}.Name(), key(namespace, secret)}].holders)
}

// TestAwait: machines that wait for an account are woken at once when their namespace has room, and not before. Those that are
// remembered have a number.
func TestAwait(t *testing.T) {
	s := newStage(t)
	for i := range defaultLimit + 4 {
		expect.Got(s.forVM(i))(t)
	}
	for i := range 2 * tenants.MostWaiting {
		s.Await(key("full", fmt.Sprint("m", i)))
	}
	s.Await(key("other", "m"))
	for i := range 4 {
		s.gone("full", fmt.Sprint(i))
	}
	expect.Same(t, "woken while it is full", 0, len(s.keys))
	s.gone("full", "4")
	expect.Same(t, "woken", tenants.MostWaiting, len(s.keys))
	for range tenants.MostWaiting {
		expect.Same(t, "namespace", "full", (<-s.keys).Namespace)
	}
	s.gone("full", "5")
	expect.Same(t, "woken once", 0, len(s.keys))
	expect.Same(t, "namespaces that wait", []bool{false, true}, []bool{s.waiting.Waits("full"), s.waiting.Waits("other")})
}

// TestNoticesOfAccounts: there is a notice of a namespace that opens three quarters of its accounts, of one that opens the last,
// and of one that wants another an hour later.
func TestNoticesOfAccounts(t *testing.T) {
	s := newStage(t)
	var counts []int
	s.Notices = &tenants.Notices{Publish: func(n tenants.Notice) { counts = append(counts, n.Count) }}
	hungry := func() {
		for i := range 2 * defaultLimit {
			_, _ = s.Get(fake.Provider{World: s.world}, key("greedy", fmt.Sprint(i)), password(fmt.Sprint(i)), false)
		}
	}
	hungry()
	s.pass(time.Hour - 1)
	hungry()
	expect.Same(t, "counts", []int{12, 16}, slices.Clone(counts))
	s.pass(1)
	hungry()
	expect.Same(t, "counts an hour later", []int{12, 16, 16}, counts)
}
