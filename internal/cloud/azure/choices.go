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

// closures are the families and sizes that Azure has no room for, for all machines of the account. When the time is over, one
// machine's request probes, and the others wait for its answer.
type closures struct {
	mu     sync.Mutex
	closed map[string]*closure
}

type closure struct {
	since, until time.Time
	err          *cloud.Error
	prober       cloud.MachineID
}

// probing is how long others wait for the answer of a probe.
const probing = 2 * time.Minute

// shut closes what a verdict closes.
func (c *closures) shut(group arm.ID, location string, of request.Choice, v fault.Verdict, now time.Time) {
	if !v.Another() {
		return
	}
	name := sizeOf(group, location, of)
	if v.Effect == fault.ClosesFamily {
		name = familyOf(group, location, of)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		c.closed = map[string]*closure{}
	}
	c.closed[name] = &closure{since: now, until: now.Add(v.Error.After), err: v.Error}
}

// opened notes that a VM runs. One that was asked for before Azure said that it has no room opens nothing.
func (c *closures) opened(group arm.ID, location string, of request.Choice, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range namesOf(group, location, of) {
		if shut := c.closed[name]; shut != nil && asked.After(shut.since) {
			delete(c.closed, name)
		}
	}
}

// why says why a choice is closed for who; nil if it is open.
func (c *closures) why(group arm.ID, location string, of request.Choice, who cloud.MachineID, now time.Time) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range namesOf(group, location, of) {
		if shut := c.closed[name]; shut.closes(who, now) {
			return shut.err
		}
	}
	return nil
}

// probe takes a choice for who, or says why it is closed by now: another machine may probe it since it was chosen.
func (c *closures) probe(group arm.ID, location string, of request.Choice, who cloud.MachineID, now time.Time) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := namesOf(group, location, of)
	for _, name := range names {
		if shut := c.closed[name]; shut.closes(who, now) {
			return shut.err
		}
	}
	for _, name := range names {
		if shut := c.closed[name]; shut != nil && !now.Before(shut.until) {
			shut.prober, shut.until = who, now.Add(probing)
		}
	}
	return nil
}

// closes says that it closes a choice for who. What was never closed closes nothing.
func (c *closure) closes(who cloud.MachineID, now time.Time) bool {
	return c != nil && c.prober != who && now.Before(c.until)
}

// namesOf are those by which a choice may be closed: its family before its size.
func namesOf(group arm.ID, location string, of request.Choice) []string {
	return []string{familyOf(group, location, of), sizeOf(group, location, of)}
}

func sizeOf(group arm.ID, location string, of request.Choice) string {
	return "size|" + strings.ToLower(group.Subscription+"|"+location+"|"+of.Size+"|"+of.Zone)
}

var count = regexp.MustCompile(`\d+(-\d+)?`)

// familyOf is the family of a size, whose quota its sizes share: Standard_D4s_v5 and Standard_D8s_v5 are of one.
func familyOf(group arm.ID, location string, of request.Choice) string {
	name, version, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(of.Size), "standard_"), "_")
	return "family|" + strings.ToLower(group.Subscription+"|"+location) + "|" + count.ReplaceAllString(name, "") + "|" + version
}

// choose looks for the first choice that is open and suits the machine, and for what stands against all if none does: that Azure
// has no room passes, so it is told first. The machine's failure domain is its zone.
func (a *account) choose(group arm.ID, m cloud.Machine, s *next.Survey) {
	if m.Spec.Azure == nil {
		return
	}
	location := locationOf(m)
	shelf := a.sizes.shelf(group.Subscription, location)
	sizes, why := shelf.get()
	var unfit *cloud.Error
	choices := request.Choices(request.Sizes(m.Spec.Azure), request.Zones(m.Spec.Azure, m.Place.FailureDomain))
	choice, ok := request.Pick(choices, func(of request.Choice) bool {
		if err := sizes.Refuse(m.Spec.Azure, of.Size, of.Zone, location); err != nil {
			unfit = cmp.Or(unfit, err)
			return true
		}
		err := a.closures.why(group, location, of, m.ID(), s.Now)
		s.Closed = cmp.Or(s.Closed, err)
		return err != nil
	})
	if ok {
		s.Choice = &choice
	} else {
		s.Closed = cmp.Or(s.Closed, unfit)
	}
	s.SizesDue = shelf.due(s.Now, !ok && unfit != nil)
	if len(sizes) == 0 {
		s.SizesUnknown = why
	}
}

// accelerates says that the size is known to have accelerated networking.
func (a *account) accelerates(group arm.ID, m cloud.Machine, of request.Choice) bool {
	sizes, _ := a.sizes.shelf(group.Subscription, locationOf(m)).get()
	size, _ := sizes.Find(of.Size)
	return size.Accelerated
}

// locationOf is where the VM is, from its status or its spec.
func locationOf(m cloud.Machine) string {
	switch {
	case m.Place.Azure != nil:
		return m.Place.Azure.Location
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
	all, answer := a.calls.ListSKUs(ctx, s.subscription, s.location)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	if answer.Verdict != nil {
		s.why = answer.Verdict.Error
		s.notBefore = a.now().Add(max(s.why.After, sizesAgain))
		return nil
	}
	s.sizes, s.began, s.why = skus.Read(all, s.location), began, nil
	return nil
}

// sizeOfVM is the size of a VM that Azure shows; zero if it is not known.
func (a *account) sizeOfVM(r lists.Record, m cloud.Machine) cloud.Size {
	sizes, _ := a.sizes.shelf(r.ID.Subscription, locationOf(m)).get()
	of, _ := sizes.Find(r.Size)
	return cloud.Size{CPUs: of.CPUs, MemoryMiB: of.MemoryMiB}
}
