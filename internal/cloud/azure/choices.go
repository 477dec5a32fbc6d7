package azure

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
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

// region is a location of a subscription: what its sizes can do, and whether there is room, holds for all machines there.
type region struct{ subscription, location string }

func regionOf(subscription, location string) region {
	return region{strings.ToLower(subscription), skus.Location(location)}
}

func (p *pursuit) region() region { return regionOf(p.vm.Subscription, locationOf(p.m)) }

// block blocks the family or size that a verdict closes.
func (c *capacityBlocks) block(r region, choice request.Choice, v fault.Verdict, now time.Time) {
	if !v.AllowsFallback() {
		return
	}
	name := r.sizeOf(choice)
	if v.Effect == fault.ClosesFamily {
		name = r.familyOf(choice)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocked == nil {
		c.blocked = map[string]*capacityBlock{}
	}
	c.blocked[name] = &capacityBlock{began: now, expires: now.Add(v.Error.After), err: v.Error}
}

// unblock notes that a VM runs. A VM that was asked for before Azure ran out of room unblocks nothing.
func (c *capacityBlocks) unblock(r region, choice request.Choice, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range r.namesOf(choice) {
		if block := c.blocked[name]; block != nil && asked.After(block.began) {
			delete(c.blocked, name)
		}
	}
}

// reason is why a choice is blocked for a machine; nil if it is open. Its caller has the lock.
func (c *capacityBlocks) reason(r region, choice request.Choice, id cloud.MachineID, now time.Time) *cloud.Error {
	for _, name := range r.namesOf(choice) {
		if block := c.blocked[name]; block != nil && block.prober != id && now.Before(block.expires) {
			return block.err
		}
	}
	return nil
}

// probe takes a choice for a machine, or returns why it is blocked by now: another machine may probe it since it was chosen.
func (c *capacityBlocks) probe(r region, choice request.Choice, id cloud.MachineID, now time.Time) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.reason(r, choice, id, now); err != nil {
		return err
	}
	for _, name := range r.namesOf(choice) {
		if block := c.blocked[name]; block != nil && !now.Before(block.expires) {
			block.prober, block.expires = id, now.Add(probing)
		}
	}
	return nil
}

// namesOf are the names by which a choice may be blocked: its family before its size.
func (r region) namesOf(choice request.Choice) []string {
	return []string{r.familyOf(choice), r.sizeOf(choice)}
}

func (r region) sizeOf(choice request.Choice) string {
	return "size|" + r.subscription + "|" + r.location + "|" + strings.ToLower(choice.Size+"|"+choice.Zone)
}

var count = regexp.MustCompile(`\d+(-\d+)?`)

// familyOf is the family of a size, whose quota its sizes share: Standard_D4s_v5 and Standard_D8s_v5 are of one.
func (r region) familyOf(choice request.Choice) string {
	name, version, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(choice.Size), "standard_"), "_")
	return "family|" + r.subscription + "|" + r.location + "|" + count.ReplaceAllString(name, "") + "|" + version
}

// choose looks for the first choice that is open and suits the machine, and for what stands against all if there is none. A lack
// of room passes, so it is reported first. The machine's failure domain is its zone.
func (p *pursuit) choose(s *next.Survey) {
	spec, location := p.m.Spec.Azure, locationOf(p.m)
	if spec == nil {
		return
	}
	list := p.cache.get()
	p.blocks.mu.Lock()
	defer p.blocks.mu.Unlock()
	var unfit *cloud.Error
	for _, choice := range request.Choices(spec, p.m.FailureDomain) {
		if err := list.sizes.Refuse(spec, choice.Size, choice.Zone, location); err != nil {
			unfit = cmp.Or(unfit, err)
			continue
		}
		blocked := p.blocks.reason(p.region(), choice, p.m.ID(), s.Now)
		if blocked == nil {
			s.Choice = &choice
			break
		}
		s.Closed = cmp.Or(s.Closed, blocked)
	}
	if s.Choice == nil {
		s.Closed = cmp.Or(s.Closed, unfit)
	}
	s.SizesDue = p.cache != nil && list.due(s.Now, s.Choice == nil && unfit != nil)
	if len(list.sizes) == 0 {
		s.SizesUnknown = list.failure
	}
}

// size is what is known of a size where the machine's VM is.
func (p *pursuit) size(name string) skus.Size {
	size, _ := p.cache.get().sizes.Find(name)
	return size
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

// sizeCache has the sizes of a region, for all its machines.
type sizeCache struct {
	region region
	used   time.Time // when a machine last came; the caches' lock guards it
	held   *calls.Held

	mu sync.Mutex
	sizeList
}

// sizeList is what is known of a region's sizes.
type sizeList struct {
	asking    bool
	sizes     skus.Sizes // none before the first good list
	began     time.Time  // when that was asked for
	notBefore time.Time
	failure   *cloud.Error // why the last list could not be had
}

// sizeCaches are those of an account.
type sizeCaches struct {
	kept    *tenants.Bytes
	mu      sync.Mutex
	regions map[region]*sizeCache
}

// enter is the cache of a region, which a machine adds whose namespace may have one more; false if it may not. A region that no
// machine names any more makes room.
func (l *sizeCaches) enter(r region, user lists.User) (*sizeCache, bool) {
	if r.subscription == "" || r.location == "" {
		return nil, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hasRoom := func() bool { return user.HasRoom(tenants.Locations, l.count(user.Namespace), false) }
	if l.regions[r] == nil && !hasRoom() {
		l.forget(user)
		if !hasRoom() {
			return nil, false
		}
	}
	if l.regions == nil {
		l.regions = map[region]*sizeCache{}
	}
	if l.regions[r] == nil {
		l.regions[r] = &sizeCache{region: r, held: &calls.Held{Namespace: user.Namespace, Kept: l.kept}}
		user.Notices.Counted(user.Namespace, tenants.Locations, l.count(user.Namespace), user.Instant)
	}
	l.regions[r].used = user.Instant
	return l.regions[r], true
}

func (l *sizeCaches) count(namespace string) (count int) {
	for _, s := range l.regions {
		if s.held.Namespace == namespace {
			count++
		}
	}
	return count
}

// forget forgets the regions of a namespace that no machine names any more, and gives back what is kept of them.
func (l *sizeCaches) forget(user lists.User) {
	maps.DeleteFunc(l.regions, func(_ region, s *sizeCache) bool {
		forgotten := s.held.Namespace == user.Namespace && user.Instant.Sub(s.used) >= lists.UsedFor
		if forgotten {
			s.held.End()
		}
		return forgotten
	})
}

// close gives back what is kept of all regions.
func (l *sizeCaches) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.regions {
		s.held.End()
	}
}

// get is what is known now. A cache that does not exist is empty.
func (s *sizeCache) get() sizeList {
	if s == nil {
		return sizeList{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizeList
}

// due reports whether a list must be asked for, or waited for if nothing is known yet. A list that refuses a machine is asked for
// again sooner.
func (s sizeList) due(now time.Time, refuses bool) bool {
	good := sizesFor
	if refuses {
		good = doubtsAfter
	}
	return !now.Before(s.notBefore) && (s.began.IsZero() || !s.asking && now.Sub(s.began) >= good)
}

// listSizes asks for the sizes of a region once for all callers. Concurrent callers get a Later error if nothing is known yet.
// Without the list nothing is known of sizes, and all goes on.
func (a *account) listSizes(ctx context.Context, s *sizeCache) error {
	s.mu.Lock()
	asked, unknown := s.asking, s.began.IsZero()
	s.asking = true
	s.mu.Unlock()
	switch {
	case asked && unknown:
		return cloud.LaterIn(time.Second, "waiting for Azure's list of sizes")
	case asked:
		return nil
	}
	began := a.now()
	sizes, answer := calls.Pages(ctx, a.calls, calls.SizesIn(s.region.subscription, s.region.location), s.held, s.keep)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	if answer.Verdict != nil {
		s.failure = answer.Verdict.Error
		s.notBefore = a.now().Add(max(s.failure.After, sizesAgain))
		return nil
	}
	s.held.Hold(answer.Kept)
	s.sizes, s.began, s.failure = skus.Index(sizes), began, nil
	return nil
}

// perSize is what a size takes besides what it refers to, in bytes.
const perSize = 500

// keep keeps what a size can do.
func (s *sizeCache) keep(entry skus.Listed) (size skus.Size, bytes int) {
	size, ok := skus.Read(entry, s.region.location)
	if !ok {
		return size, 0
	}
	return size, perSize + tenants.SizeOf(size)
}
