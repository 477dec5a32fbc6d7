package azure

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// capacityBlocks are the families and sizes for which Azure has no room, for all machines of the account. When a block expires,
// one machine's request probes, and the others wait for its answer.
type capacityBlocks struct {
	mu      sync.Mutex
	blocked map[string]*capacityBlock
}

type capacityBlock struct {
	began, expires time.Time
	err            *cloud.Error
	prober         cloud.MachineID
}

// probing is how long others wait for the answer of a probe.
const probing = 2 * time.Minute

// block blocks the family or size that a verdict closes.
func (c *capacityBlocks) block(group arm.ID, location string, choice request.Choice, v fault.Verdict, now time.Time) {
	if !v.AllowsFallback() {
		return
	}
	name := sizeOf(group, location, choice)
	if v.Effect == fault.ClosesFamily {
		name = familyOf(group, location, choice)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocked == nil {
		c.blocked = map[string]*capacityBlock{}
	}
	c.blocked[name] = &capacityBlock{began: now, expires: now.Add(v.Error.After), err: v.Error}
}

// unblock notes that a VM runs. A VM that was asked for before Azure ran out of room unblocks nothing.
func (c *capacityBlocks) unblock(group arm.ID, location string, choice request.Choice, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range namesOf(group, location, choice) {
		if block := c.blocked[name]; block != nil && asked.After(block.began) {
			delete(c.blocked, name)
		}
	}
}

// reason is why a choice is blocked for a machine; nil if it is open.
func (c *capacityBlocks) reason(
	group arm.ID, location string, choice request.Choice, id cloud.MachineID, now time.Time,
) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range namesOf(group, location, choice) {
		if block := c.blocked[name]; block.blocks(id, now) {
			return block.err
		}
	}
	return nil
}

// probe takes a choice for a machine, or returns why it is blocked by now: another machine may probe it since it was chosen.
func (c *capacityBlocks) probe(
	group arm.ID, location string, choice request.Choice, id cloud.MachineID, now time.Time,
) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := namesOf(group, location, choice)
	for _, name := range names {
		if block := c.blocked[name]; block.blocks(id, now) {
			return block.err
		}
	}
	for _, name := range names {
		if block := c.blocked[name]; block != nil && !now.Before(block.expires) {
			block.prober, block.expires = id, now.Add(probing)
		}
	}
	return nil
}

// blocks reports whether it blocks a choice for a machine. A block that does not exist blocks nothing.
func (c *capacityBlock) blocks(id cloud.MachineID, now time.Time) bool {
	return c != nil && c.prober != id && now.Before(c.expires)
}

// namesOf are the names by which a choice may be blocked: its family before its size.
func namesOf(group arm.ID, location string, choice request.Choice) []string {
	return []string{familyOf(group, location, choice), sizeOf(group, location, choice)}
}

func sizeOf(group arm.ID, location string, choice request.Choice) string {
	return "size|" + strings.ToLower(group.Subscription+"|"+location+"|"+choice.Size+"|"+choice.Zone)
}

var count = regexp.MustCompile(`\d+(-\d+)?`)

// familyOf is the family of a size, whose quota its sizes share: Standard_D4s_v5 and Standard_D8s_v5 are of one.
func familyOf(group arm.ID, location string, choice request.Choice) string {
	name, version, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(choice.Size), "standard_"), "_")
	return "family|" + strings.ToLower(group.Subscription+"|"+location) + "|" + count.ReplaceAllString(name, "") + "|" + version
}

// choose looks for the first choice that is open and suits the machine, and for what stands against all if there is none. A lack
// of room passes, so it is reported first. The machine's failure domain is its zone.
func (a *account) choose(group arm.ID, m cloud.Machine, s *next.Survey) {
	if m.Spec.Azure == nil {
		return
	}
	location := locationOf(m)
	cache := a.sizes.cache(group.Subscription, location)
	sizes, failure := cache.get()
	var unfit *cloud.Error
	choices := request.Choices(request.Sizes(m.Spec.Azure), request.Zones(m.Spec.Azure, m.FailureDomain))
	choice, ok := request.Pick(choices, func(candidate request.Choice) bool {
		if err := sizes.Refuse(m.Spec.Azure, candidate.Size, candidate.Zone, location); err != nil {
			unfit = cmp.Or(unfit, err)
			return true
		}
		err := a.blocks.reason(group, location, candidate, m.ID(), s.Now)
		s.Closed = cmp.Or(s.Closed, err)
		return err != nil
	})
	if ok {
		s.Choice = &choice
	} else {
		s.Closed = cmp.Or(s.Closed, unfit)
	}
	s.SizesDue = cache.due(s.Now, !ok && unfit != nil)
	if len(sizes) == 0 {
		s.SizesUnknown = failure
	}
}

// accelerates reports whether the size is known to have accelerated networking.
func (a *account) accelerates(group arm.ID, m cloud.Machine, choice request.Choice) bool {
	sizes, _ := a.sizes.cache(group.Subscription, locationOf(m)).get()
	size, _ := sizes.Find(choice.Size)
	return size.Accelerated
}

// locationOf is where the VM is, from its status or its spec.
func locationOf(m cloud.Machine) string {
	switch {
	case m.Status.Azure != nil:
		return m.Status.Azure.Location
	case m.Spec.Azure != nil:
		return m.Spec.Azure.Location
	}
	return ""
}

// How long a list of sizes is good for, for how long if it refuses a machine, and when it is asked for again if it cannot be had.
const (
	sizesFor    = 24 * time.Hour
	doubtsAfter = time.Hour
	sizesAgain  = 5 * time.Minute
)

// sizeCache has the sizes of a region, for all machines of a subscription.
type sizeCache struct {
	subscription, location string

	mu        sync.Mutex
	asking    bool
	sizes     skus.Sizes // none before the first good list
	began     time.Time  // when that was asked for
	notBefore time.Time
	failure   *cloud.Error // why the last list could not be had
}

// sizeCaches are those of an account.
type sizeCaches struct {
	mu      sync.Mutex
	regions map[string]*sizeCache
}

// cache is that of a region; nil without one.
func (l *sizeCaches) cache(subscription, location string) *sizeCache {
	location = skus.Location(location)
	if subscription == "" || location == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.regions == nil {
		l.regions = map[string]*sizeCache{}
	}
	key := strings.ToLower(subscription) + "|" + location
	if l.regions[key] == nil {
		l.regions[key] = &sizeCache{subscription: subscription, location: location}
	}
	return l.regions[key]
}

// get is what is known now. A cache that does not exist is empty.
func (s *sizeCache) get() (skus.Sizes, *cloud.Error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes, s.failure
}

// due reports whether a list must be asked for, or waited for if nothing is known yet. A list that refuses a machine is asked for
// again sooner.
func (s *sizeCache) due(now time.Time, refuses bool) bool {
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

// begin reports whether the caller must ask Azure, and whether nothing is known until then.
func (s *sizeCache) begin() (ask, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ask, s.asking = !s.asking, true
	return ask, s.began.IsZero()
}

// listSizes asks for the sizes of a region once for all callers. Concurrent callers get a Later error if nothing is known yet.
// Without the list nothing is known of sizes, and all goes on.
func (a *account) listSizes(ctx context.Context, s *sizeCache) error {
	ask, unknown := s.begin()
	switch {
	case !ask && unknown:
		return cloud.LaterIn(time.Second, "waiting for Azure's list of sizes")
	case !ask:
		return nil
	}
	began := a.now()
	listed, answer := a.calls.ListSKUs(ctx, s.subscription, s.location)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	if answer.Verdict != nil {
		s.failure = answer.Verdict.Error
		s.notBefore = a.now().Add(max(s.failure.After, sizesAgain))
		return nil
	}
	s.sizes, s.began, s.failure = skus.Read(listed, s.location), began, nil
	return nil
}

// sizeOfVM is the size of a VM that Azure shows; zero if it is not known.
func (a *account) sizeOfVM(r lists.Record, m cloud.Machine) cloud.Size {
	sizes, _ := a.sizes.cache(r.ID.Subscription, locationOf(m)).get()
	size, _ := sizes.Find(r.Size)
	return cloud.Size{CPUs: size.CPUs, MemoryMiB: size.MemoryMiB}
}
