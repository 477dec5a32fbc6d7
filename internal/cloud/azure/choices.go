package azure

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// closures are the families and sizes that Azure has no room for, for all machines of the account. When the time is over, one
// machine's request probes, and the others wait for its answer.
type closures struct {
	mu     sync.Mutex
	closed map[string]*closure
}

type closure struct {
	until  time.Time
	err    *cloud.Error
	prober string
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
	c.closed[name] = &closure{until: now.Add(v.Error.After), err: v.Error}
}

// opened notes that a request was accepted, and that its VM runs.
func (c *closures) opened(group arm.ID, location string, of request.Choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.closed, sizeOf(group, location, of))
	delete(c.closed, familyOf(group, location, of))
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

// choose is the first choice that is open, and why the first is closed if none is. The machine's failure domain is its zone.
func (a *account) choose(group arm.ID, m cloud.Machine, now time.Time) (*request.Choice, *cloud.Error) {
	if m.Spec.Azure == nil {
		return nil, nil
	}
	choices := request.Choices(request.Sizes(m.Spec.Azure), request.Zones(m.Spec.Azure, m.Place.FailureDomain))
	var first *cloud.Error
	choice, ok := request.Pick(choices, func(of request.Choice) bool {
		err := a.closures.why(group, locationOf(m), of, m.ProviderID, now)
		if first == nil {
			first = err
		}
		return err != nil
	})
	if !ok {
		return nil, first
	}
	return &choice, nil
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
