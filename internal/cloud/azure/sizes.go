package azure

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// How long a list of sizes is good for, for how long if it refuses a machine, and when it is asked for again if it cannot be had.
const (
	sizesFor    = 24 * time.Hour
	doubtsAfter = time.Hour
	sizesAgain  = 5 * time.Minute
)

// shelf has the sizes of a region, for all machines of a subscription.
type shelf struct {
	subscription, location string

	mu        sync.Mutex
	asking    bool
	sizes     skus.Sizes // none before the first good list
	began     time.Time  // when that was asked for
	notBefore time.Time
	why       *cloud.Error // why the last list could not be had
}

// shelves are those of an account.
type shelves struct {
	mu sync.Mutex
	of map[string]*shelf
}

// shelf is that of a region; nil without one.
func (l *shelves) shelf(subscription, location string) *shelf {
	location = skus.Location(location)
	if subscription == "" || location == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*shelf{}
	}
	key := strings.ToLower(subscription) + "|" + location
	if l.of[key] == nil {
		l.of[key] = &shelf{subscription: subscription, location: location}
	}
	return l.of[key]
}

// get is what is known now. A shelf that does not exist is empty.
func (s *shelf) get() (skus.Sizes, *cloud.Error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes, s.why
}

// due says that a list is to be asked for, or waited for if nothing is known yet. One that refuses a machine is doubted sooner.
func (s *shelf) due(now time.Time, refuses bool) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	good := sizesFor
	if refuses {
		good = doubtsAfter
	}
	return !now.Before(s.notBefore) && (s.began.IsZero() || !s.asking && now.Sub(s.began) >= good)
}

// begin says that who asks is to ask Azure, and whether nothing is known until then.
func (s *shelf) begin() (ask, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ask, s.asking = !s.asking, true
	return ask, s.began.IsZero()
}

// listSizes asks for the sizes of a region once for all. Those who come meanwhile come later if nothing is known. Without the
// list nothing is known of sizes, and all goes on.
func (a *account) listSizes(ctx context.Context, s *shelf) error {
	ask, unknown := s.begin()
	switch {
	case !ask && unknown:
		return &cloud.Error{Kind: cloud.Later, Message: "waiting for Azure's list of sizes", After: time.Second}
	case !ask:
		return nil
	}
	began := a.now()
	all, answer := a.calls.listSKUs(ctx, s.subscription, s.location)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	if answer.verdict != nil {
		s.why = answer.verdict.Error
		s.notBefore = a.now().Add(max(s.why.After, sizesAgain))
		return nil
	}
	s.sizes, s.began, s.why = skus.Read(all, s.location), began, nil
	return nil
}

// sizeOfVM is the size of a VM that Azure shows; zero if it is not known.
func (a *account) sizeOfVM(r vmRecord, m cloud.Machine) cloud.Size {
	sizes, _ := a.sizes.shelf(r.id.Subscription, locationOf(m)).get()
	of, _ := sizes.Find(r.size)
	return cloud.Size{CPUs: of.CPUs, MemoryMiB: of.MemoryMiB}
}
