package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// pageDoor tells after each page of a list of VMs.
type pageDoor struct {
	*door
	passed func(*http.Request)
}

func (d pageDoor) Do(request *http.Request) (*http.Response, error) {
	response, err := d.door.Do(request)
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/virtualMachines") {
		d.passed(request)
	}
	return response, err
}

// TestPagesGoOn: a list whose next page must wait for its turn goes on where it was, and counts as begun with its first page.
func TestPagesGoOn(t *testing.T) {
	s := &contractStage{stage: newStage(t)}
	for i := range 5 {
		s.put(s.machine(fmt.Sprintf("m%d", i)), fmt.Sprintf("vm-%d", i))
	}
	s.Change(func(in *armsim.Inside) { in.Faults.PageSize = 2 })
	var c *calls
	var asked []string
	s.through = func(d *door) policy.Transporter {
		return pageDoor{d, func(r *http.Request) {
			if asked = append(asked, r.URL.Query().Encode()); len(asked) == 2 {
				scope := limiter.Scope{Principal: c.who.name, Subscription: armsim.Subscription}
				c.limit.Done(scope, limiter.ListVMs, limiter.Said{Silence: 30 * time.Second})
			}
		}}
	}
	who, err := s.login(s.credentials())
	expect.OK(t, err)
	c, err = newCalls(who, s.Now)
	expect.OK(t, err)
	defer c.close()
	group := homeOf(s.machine("any")).Parent()
	began := s.Now()
	_, a := c.listVMs(t.Context(), group)
	wait, later := asLater(a.err())
	if !later {
		t.Fatalf("a list that must wait ended with %v", a.err())
	}
	s.Advance(wait.After)
	vms, a := c.listVMs(t.Context(), group)
	expect.OK(t, a.err())
	expect.Same(t, "VMs", 5, len(vms))
	expect.Same(t, "begun", began, a.began)
	slices.Sort(asked)
	expect.Same(t, "pages that were asked for", 3, len(slices.Compact(asked)))
	expect.Same(t, "requests", 3, len(asked))
	expect.Same(t, "lists that are kept", 0, len(c.begun))
}

// TestPagesEnd: what is no list of Azure's ends.
func TestPagesEnd(t *testing.T) {
	page := func(next string) []byte { return fmt.Appendf(nil, `{"value":[1],"nextLink":%q}`, next) }
	for name, c := range map[string]struct {
		list begun[int]
		page []byte
		ends bool
		err  bool
	}{
		"another page":    {page: page("https://elsewhere.example/x?$skiptoken=2")},
		"the last one":    {page: page(""), ends: true},
		"no link":         {page: page("http://[::1"), ends: true},
		"no page":         {page: []byte("<html>"), err: true},
		"the same again":  {page: page("?$skiptoken=1"), err: true},
		"one before":      {list: begun[int]{seen: map[string]bool{"%24skiptoken=0": true}}, page: page("?$skiptoken=0"), err: true},
		"too many pages":  {list: begun[int]{pages: maxPages - 1}, page: page("?$skiptoken=2"), err: true},
		"too many bytes":  {list: begun[int]{bytes: maxList}, page: page("?$skiptoken=2"), err: true},
		"the last of all": {list: begun[int]{bytes: maxList, pages: maxPages - 1}, page: page(""), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.list.seen == nil {
				c.list.seen = map[string]bool{}
			}
			next, err := c.list.take(c.page, url.Values{"$skiptoken": {"1"}})
			expect.Same(t, "an error", c.err, err != nil)
			if err == nil {
				expect.Same(t, "ends", c.ends, next == nil)
			}
		})
	}
}

// TestPagesAreForgotten: what was kept of a list is not mixed with much later pages.
func TestPagesAreForgotten(t *testing.T) {
	for age, kept := range map[time.Duration]bool{begunFor: true, begunFor + 1: false} {
		now := time.Unix(1_800_000_000, 0)
		c := &calls{now: func() time.Time { return now }}
		c.keep("a", &begun[int]{at: now, pages: 1})
		now = now.Add(age)
		expect.Same(t, "pages are kept for "+age.String(), kept, resume[int](c, "a") != nil)
		expect.Same(t, "lists that are kept", 0, len(c.begun))
	}
}

// TestEndlessListIsNamed: who has a broken proxy reads that lists do not end, and not that nothing answers.
func TestEndlessListIsNamed(t *testing.T) {
	c := &calls{endpoint: "https://proxy.example", now: time.Now}
	message := c.unanswered(errEndless).err().Error()
	if !strings.Contains(message, "https://proxy.example") || !strings.Contains(message, "do not end") {
		t.Error(message)
	}
}

// TestLongEndpoint: what a user wrote is told up to a length, to the letter.
func TestLongEndpoint(t *testing.T) {
	for over, cut := range []bool{false, true} {
		c := &calls{endpoint: strings.Repeat("x", 256+over), now: time.Now}
		for _, cause := range []error{errEndless, io.EOF} {
			if message := c.unanswered(cause).err().Error(); strings.Contains(message, "...") != cut {
				t.Error(message)
			}
		}
	}
}

// TestItemsEnd: no more items are read than a list may have, however few bytes they take.
func TestItemsEnd(t *testing.T) {
	var all items[struct{}]
	err := json.Unmarshal([]byte("["+strings.Repeat("{},", 2*maxItems)+"{}]"), &all)
	if !errors.Is(err, errEndless) || len(all) > maxItems {
		t.Errorf("%d items are read: %v", len(all), err)
	}
}
