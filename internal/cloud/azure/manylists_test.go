package azure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// crowded is an Azure with so many VMs in each group, in pages of 2,500.
type crowded struct {
	vms  int
	name string // how their names begin
	rest string // what each has besides its ID
}

const crowdedPage = 2500

// Do implements policy.Transporter.
func (c crowded) Do(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	answer.Body = io.NopCloser(strings.NewReader(`{"value":[]}`))
	if strings.HasSuffix(r.URL.Path, "/virtualMachines") {
		body, pipe := io.Pipe()
		go c.write(pipe, r)
		answer.Body = body
	}
	return answer, nil
}

func (c crowded) write(pipe *io.PipeWriter, r *http.Request) {
	var page int
	_, _ = fmt.Sscan(r.URL.Query().Get("$skiptoken"), &page)
	begin, end := page*crowdedPage, min(c.vms, (page+1)*crowdedPage)
	_, _ = io.WriteString(pipe, `{"value":[`)
	for i := begin; i < end; i++ {
		if i > begin {
			_, _ = io.WriteString(pipe, ",")
		}
		_, _ = fmt.Fprintf(pipe, `{"id":"%s/%s%d",%s}`, r.URL.Path, c.name, i, c.rest)
	}
	next := ""
	if end < c.vms {
		next = fmt.Sprintf("%s%s?$skiptoken=%d", blue.Endpoint, r.URL.Path, page+1)
	}
	_, _ = fmt.Fprintf(pipe, `],"nextLink":"%s"}`, next)
	_ = pipe.Close()
}

// tags has tags of so many bytes each.
func tags(size int, names ...string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%q:%q", name, strings.Repeat("x", size)))
	}
	return `"tags":{` + strings.Join(texts, ",") + `}`
}

// strangers are VMs that cannot be ours, of a KiB each.
func strangers(count int) crowded {
	return crowded{count, "not-one-of-ours-", tags(250, "a", "b", "c", "d")}
}

// marked are VMs of 4 KiB each that have our marks, and may be machines' by their names.
func marked(count int) crowded {
	group := arm.GroupID(armsim.Subscription, "group")
	var parts []string
	for i := range 20 {
		parts = append(parts, fmt.Sprintf(`{"managedDisk":{"id":%q}}`, group.Disk(fmt.Sprint("disk-", i)).String()))
	}
	const names = "capwin-namespace capwin-machine capwin-providerid capwin-cluster capwin-userdata"
	return crowded{count, "v", tags(250, strings.Fields(names)...) +
		`,"properties":{"vmId":"` + blue.ID + `","storageProfile":{"dataDisks":[` + strings.Join(parts, ",") + `]}}`}
}

// heapOf is how much the heap grows at most during a function, with what is garbage already, and how much of it stays, in MiB.
// Garbage is collected as in a manager.
func heapOf(f func()) (peak, stays int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	size := func() int64 {
		metrics.Read(heap)
		return int64(heap[0].Value.Uint64()) //nolint:gosec // a heap is smaller
	}
	runtime.GC()
	begin, ended := size(), make(chan struct{})
	var sampled sync.WaitGroup
	sampled.Go(func() {
		for {
			peak = max(peak, size()-begin)
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	f()
	close(ended)
	sampled.Wait()
	runtime.GC()
	return peak >> 20, (size() - begin) >> 20
}

// tenant is one with accounts at an Azure of his own.
type tenant struct {
	bounds   *calls.Bounds
	accounts []*account
	failed   int
}

// list has so many accounts list the VMs of a group to its end, all at once. Those of a namespace are 16.
func (o *tenant) list(t testing.TB, count int, azure crowded) {
	t.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	o.bounds = calls.NewBounds(&tenants.Bytes{})
	for i := range count {
		principal := bluePrincipal(azure)
		principal.Name = func() string { return fmt.Sprint(i) }
		a := expect.Got(open(principal, time.Now))(t)
		a.choose(t)
		a.bound(o.bounds)
		o.accounts = append(o.accounts, a)
		s, _ := a.lists.Enter(arm.GroupID(armsim.Subscription, "group"), lists.User{
			Namespace: fmt.Sprint("team-", i/16), Instant: time.Now(),
		})
		running.Go(func() {
			err := wait.Poll(t.Context(), func(ctx context.Context) error {
				_, err := a.listVMs(ctx, s)
				if err != nil && !cloud.IsLater(err) {
					return wait.Final(err)
				}
				return err
			})
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				o.failed++
			}
		})
	}
	running.Wait()
}

// TestListsAtOnce has the accounts of a tenant list many VMs each, at the same time, at an endpoint that he chose. A VM that
// cannot be ours is not kept; of the others, all accounts of his namespace together keep what a namespace may have.
func TestListsAtOnce(t *testing.T) {
	for _, c := range []struct {
		count       int
		azure       crowded
		peak, stays int64
	}{{1, strangers(10_000), 60, 2}, {4, strangers(10_000), 60, 2}, {2, marked(10_000), 250, 36}} {
		var o tenant
		peak, stays := heapOf(func() { o.list(t, c.count, c.azure) })
		kept := o.bounds.Kept.Kept("team-0")
		t.Logf("%d accounts list %d VMs %q: the heap grows by %d MiB, %d stay, %d are counted",
			c.count, c.azure.vms, c.azure.name, peak, stays, kept>>20)
		if peak > c.peak || stays > c.stays || kept > o.bounds.Kept.Bound("team-0") || o.failed > 0 {
			t.Errorf("want at most %d and %d MiB; %d lists failed", c.peak, c.stays, o.failed)
		}
		for _, a := range o.accounts {
			expect.OK(t, a.Close(t.Context()))
		}
		expect.Same(t, "bytes that are counted once all is closed", 0, o.bounds.Kept.Kept("team-0"))
	}
}

// BenchmarkListsAtOnce prints how much the heap grows while accounts list 50,000 VMs at once.
func BenchmarkListsAtOnce(b *testing.B) {
	for _, azure := range []crowded{strangers(50_000), marked(25_000)} {
		for _, count := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%d accounts, VMs %s", count, azure.name), func(b *testing.B) {
				for b.Loop() {
					var o tenant
					peak, stays := heapOf(func() { o.list(b, count, azure) })
					b.ReportMetric(float64(peak), "MiB-at-most")
					b.ReportMetric(float64(stays), "MiB-kept")
					runtime.KeepAlive(&o)
				}
			})
		}
	}
}
