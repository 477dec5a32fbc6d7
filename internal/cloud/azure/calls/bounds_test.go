package calls

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// endpoint is one whose answers do not begin, or do not end, until the caller leaves.
type endpoint struct{ silent, slow bool }

// Do implements policy.Transporter.
func (e endpoint) Do(r *http.Request) (*http.Response, error) {
	if e.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	answer.Body = io.NopCloser(strings.NewReader(`{"value":[{"id":"x"}]}`))
	if e.slow {
		answer.Body = unending{r}
	}
	return answer, nil
}

type unending struct{ request *http.Request }

func (u unending) Read([]byte) (int, error) {
	<-u.request.Context().Done()
	return 0, u.request.Context().Err()
}

func (unending) Close() error { return nil }

// unchanged reads all items of a list, and keeps them as they are.
func unchanged[T any](ctx context.Context, c *Client, q Call, held *Held) ([]T, Answer) {
	return Pages(ctx, c, q, held, func(item T) (T, int) { return item, 1 })
}

// listed is how long a list takes of an account whose endpoint a Secret chose, and its answer.
func listed(t *testing.T, bounds *Bounds, door endpoint, namespace string) (time.Duration, Answer) {
	t.Helper()
	c := blueCalls(t, door)
	c.Bounds, c.Principal.Cloud = bounds, expect.Got(clouds.Choose(c.Principal.Cloud))(t)
	began := time.Now()
	_, a := unchanged[VM](t.Context(), c, c.VMsIn(blue.Group), &Held{Namespace: namespace})
	return time.Since(began), a
}

// TestListsOfANamespace: a namespace has one list at a time at endpoints that Secrets chose, and no other one waits for it.
func TestListsOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounds := NewBounds(&tenants.Bytes{})
		go listed(t, bounds, endpoint{silent: true}, "a")
		synctest.Wait()
		took, a := listed(t, bounds, endpoint{}, "a")
		expect.Same(t, "the second one comes back", true, cloud.IsLater(a.Err()) && took == 0)
		took, a = listed(t, bounds, endpoint{}, "b")
		expect.Same(t, "one of another namespace", true, a.Err() == nil && took == 0)
		<-time.After(callTimeout + time.Second)
		_, a = listed(t, bounds, endpoint{}, "a")
		expect.OK(t, a.Err())
	})
}

// TestSlowPages: endpoints that do not answer hold no place, and those whose answers do not end hold theirs for a while. Whoever
// waits for too long comes again, and his account is none that does not answer.
func TestSlowPages(t *testing.T) {
	for name, c := range map[string]struct {
		door  endpoint
		count int
		takes time.Duration
		waits bool
	}{
		"silent":                    {endpoint{silent: true}, 50, 0, false},
		"one slow":                  {endpoint{slow: true}, 1, 0, false},
		"as many slow as there are": {endpoint{slow: true}, atChosen, pageTime, false},
		"many slow":                 {endpoint{slow: true}, 2 * atChosen, callTimeout / 2, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			bounds := NewBounds(&tenants.Bytes{})
			for i := range c.count {
				go listed(t, bounds, c.door, strings.Repeat("x", i+1))
			}
			synctest.Wait()
			took, a := listed(t, bounds, endpoint{}, "a")
			expect.Same(t, name+": takes", c.takes, took)
			expect.Same(t, name+": comes again", c.waits, cloud.IsLater(a.Err()))
			<-time.After(time.Hour)
			took, a = listed(t, bounds, endpoint{}, "a")
			expect.Same(t, name+": once they are over", true, a.Err() == nil && took == 0)
		})
	}
}

// TestKnownPages: pages at clouds that we name, or the operator, have room for so many bytes, and no bound by namespace.
func TestKnownPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounds := NewBounds(&tenants.Bytes{})
		slow := func() {
			c := blueCalls(t, endpoint{slow: true})
			c.Bounds = bounds
			unchanged[VM](t.Context(), c, c.VMsIn(blue.Group), &Held{Namespace: "a"})
		}
		for range maxPagesUnderWay / maxPage {
			go slow()
		}
		synctest.Wait()
		took, a := listed(t, bounds, endpoint{}, "b")
		expect.Same(t, "a list at an endpoint that a Secret chose", true, a.Err() == nil && took == 0)
		c, began := blueCalls(t, endpoint{}), time.Now()
		c.Bounds = bounds
		_, a = unchanged[VM](t.Context(), c, c.VMsIn(blue.Group), &Held{Namespace: "b"})
		expect.OK(t, a.Err())
		expect.Same(t, "one more waits", pageTime, time.Since(began))
	})
}

// TestRoomOfAList: what is not wanted is not kept, and neither is what finds no room. What is kept is counted until it is given
// back, and nothing of a list that fails.
func TestRoomOfAList(t *testing.T) {
	size := (&tenants.Bytes{}).Bound("a") / 2
	keep := func(vm VM) (VM, int) {
		if vm.ID == "stranger" {
			return vm, 0
		}
		return vm, size
	}
	for name, c := range map[string]struct {
		value    string
		replaced int
		ids      int
		fails    bool
	}{
		"fits":                      {`[{"id":"a"},{"id":"stranger"},{"id":"b"}]`, 0, 2, false},
		"more than fits":            {`[{"id":"a"},{"id":"b"},{"id":"c"}]`, 0, 2, false},
		"in the place of the last":  {`[{"id":"a"},{"id":"b"},{"id":"c"}]`, size, 3, false},
		"no list":                   {`[{"id":"a"},{"id":1}]`, 0, 0, true},
		"a part that is too large":  {`[{"id":"a"},{"id":"` + strings.Repeat("x", maxItem) + `"}]`, 0, 0, true},
		"a part as large as can be": {`[{"id":"` + strings.Repeat("x", maxItem-9) + `"}]`, 0, 1, false},
	} {
		client := blueCalls(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, `{"value":` + c.value + `}` }))
		held := &Held{Namespace: "a", Kept: client.Bounds.Kept, bytes: c.replaced}
		vms, a := Pages(t.Context(), client, client.VMsIn(blue.Group), held, keep)
		expect.Same(t, name+": fails", c.fails, a.Err() != nil)
		expect.Same(t, name+": VMs", c.ids, len(vms))
		expect.Same(t, name+": bytes", []int{c.ids * size, c.ids * size}, []int{a.Kept, client.Bounds.Kept.Kept("a")})
	}
}

// TestHeld: what is kept of a list counts for its namespace, and goes with the list.
func TestHeld(t *testing.T) {
	kept := &tenants.Bytes{}
	h := &Held{Namespace: "a", Kept: kept}
	expect.Same(t, "there is room", true, h.Grow(100) && h.Grow(50))
	expect.Same(t, "grown", 150, kept.Kept("a"))
	h.Hold(0)
	expect.Same(t, "held anew", 0, kept.Kept("a"))
	expect.Same(t, "there is room again", true, h.Grow(100))
	h.End()
	expect.Same(t, "ended", 0, kept.Kept("a"))
	expect.Same(t, "it grows after its end", false, h.Grow(1))
	expect.Same(t, "after its end", 0, kept.Kept("a"))
}
