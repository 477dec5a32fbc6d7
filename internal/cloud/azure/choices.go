package azure

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
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
	prober       string
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
	for _, name := range []string{familyOf(group, location, of), sizeOf(group, location, of)} {
		if shut := c.closed[name]; shut != nil && asked.After(shut.since) {
			delete(c.closed, name)
		}
	}
}

// why says why a choice is closed for who; nil if it is open.
func (c *closures) why(group arm.ID, location string, of request.Choice, who string, now time.Time) *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range []string{familyOf(group, location, of), sizeOf(group, location, of)} {
		if shut := c.closed[name]; shut != nil && shut.prober != who && now.Before(shut.until) {
			return shut.err
		}
	}
	return nil
}

// probe takes the choice for who, or says why it is closed again.
func (c *closures) probe(group arm.ID, location string, of request.Choice, who string, now time.Time) *cloud.Error {
	if err := c.why(group, location, of, who, now); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range []string{familyOf(group, location, of), sizeOf(group, location, of)} {
		if shut := c.closed[name]; shut != nil && !now.Before(shut.until) {
			shut.prober, shut.until = who, now.Add(probing)
		}
	}
	return nil
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
		err := a.closures.why(group, location, of, m.ProviderID, s.Now)
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
