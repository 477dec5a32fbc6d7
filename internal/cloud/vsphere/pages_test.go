package vsphere

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestPagesTooLarge: pages that are too large are asked for again, smaller, down to one VM. Then the watch ends.
func TestPagesTooLarge(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	asked, pages := regexp.MustCompile(`<maxObjectUpdates>(\d+)<`), make(chan string, 10)
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "WaitForUpdatesEx" {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		pages <- asked.FindStringSubmatch(string(body))[1]
		_, _ = io.WriteString(w, strings.Repeat("<x>", 1000)) // deeper than any answer
	})
	t.Cleanup(door.Close)
	err := lateConnect(t, door.Credentials()).Watch(t.Context(), func(...cloud.Key) {})
	expect.Same(t, "why it ends", true, errors.Is(err, session.ErrTooLarge))
	close(pages)
	var all []string
	for page := range pages {
		all = append(all, page)
	}
	expect.Same(t, "pages", []string{"100", "25", "6", "1"}, all)
}

// TestLargePage: where the VMs of a list have too much to report, pages are smaller, and full again before and after it.
func TestLargePage(t *testing.T) {
	t.Parallel()
	const count = 500
	many := vcenter.Property("guest.net", "ArrayOfGuestNicInfo", "<GuestNicInfo><network>n</network>"+
		strings.Repeat("<ipAddress>10.96.100.100</ipAddress>", 2000)+"</GuestNicInfo>")
	v := newStage(t)
	machines := make([]cloud.Machine, count)
	for n := range machines {
		machines[n] = v.machine(fmt.Sprint("m", n))
	}
	asked, seen := regexp.MustCompile(`<version>([^<]*)</version>.*<maxObjectUpdates>(\d+)<`), new(waits)
	a, calls := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "WaitForUpdatesEx" {
			body, _ := io.ReadAll(r.Body)
			seen.add(asked.FindStringSubmatch(strings.ReplaceAll(string(body), "\n", "")))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	}, vcenter.Crowd(count, func(n int) string {
		if 200 <= n && n < 260 {
			return crowdOf(machines[n]) + many
		}
		return crowdOf(machines[n])
	}))
	watched(t, a)
	small, full, last := seen.pages()
	t.Logf("%d waits; in the last list %d pages of 100 and %d smaller ones", calls("WaitForUpdatesEx"), full, small)
	if small > 40 || full < 8 {
		t.Errorf("%d full pages and %d smaller ones of 1,000 VMs, of which 60 have too much", full, small)
	}
	expect.Same(t, "the last page", 100, last)
	for _, m := range machines {
		expect.Same(t, "the address of "+m.Name+" is known", true, isGuestKnown(a, m))
	}
}

// waits are the pages that were asked for, since the list was begun the last time.
type waits struct {
	mu  sync.Mutex
	all []int
}

func (w *waits) add(request []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request == nil {
		w.all = []int{maxPage} // without a version
		return
	}
	page, _ := strconv.Atoi(request[2]) // digits
	w.all = append(w.all, page)
}

func (w *waits) pages() (small, full, last int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, page := range w.all {
		if page == maxPage {
			full++
		} else {
			small++
		}
	}
	return small, full, w.all[len(w.all)-1]
}

// TestLargeChange: changes that are too large at once are read in parts, without reading all VMs anew, and in full pages after
// that.
func TestLargeChange(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	var large, refused atomic.Int32
	asked := regexp.MustCompile(`<maxObjectUpdates>(\d+)<`)
	pages := make(chan string, 1000)
	a, _ := through(t, v, func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "WaitForUpdatesEx" {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		page := asked.FindStringSubmatch(string(body))[1]
		pages <- page
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if large.Load() == 1 && page != "6" {
			refused.Add(1)
			_, _ = io.WriteString(w, strings.Repeat("<x>", 1000)) // deeper than any answer
			return
		}
		large.Store(0)
		_, _ = w.Write(answer.Body.Bytes())
	})
	holdLists(a)
	keys := watched(t, a)
	expect.Same(t, "key of the list", m.Key, <-keys)
	v.Count()
	large.Store(1)
	v.SetExtra(m.Name, seen.ReportKey, "r")
	expect.Same(t, "key of the change", m.Key, <-keys)
	expect.Same(t, "report", "r", found(a, m).VM.Report)
	expect.Same(t, "answers that were too large", 2, int(refused.Load()))
	v.SetExtra(m.Name, seen.ReportKey, "s")
	expect.Same(t, "key of the next change", m.Key, <-keys)
	compare(t, "besides waits", v, map[string]int{})
	v.SetExtra(m.Name, seen.ReportKey, "t")
	expect.Same(t, "key of the last change", m.Key, <-keys)
	var last []string
	for len(pages) > 0 {
		last = append(last, <-pages)
	}
	expect.Same(t, "pages "+strings.Join(last, " "), true, strings.Contains(strings.Join(last, " "), "100 25 6 24 96"))
}

// TestPageSizes: a page does not reach into a part of the list that is to be read in smaller ones. After too many of those, all
// that follows is read one by one.
func TestPageSizes(t *testing.T) {
	t.Parallel()
	var p pages
	at := func() (all []int32) {
		for _, read := range []int{0, 150, 200, 224, 250, 299, 300} {
			all = append(all, p.sizeAt(read))
		}
		return all
	}
	expect.Same(t, "at first", []int32{100, 100, 100, 100, 100, 100, 100}, at())
	expect.Same(t, "a smaller one can be asked for", true, p.tooLarge(200))
	expect.Same(t, "after a page was too large", []int32{100, 50, 25, 25, 25, 25, 100}, at())
	expect.Same(t, "a smaller one can be asked for", true, p.tooLarge(225))
	expect.Same(t, "after one of its parts was", []int32{100, 50, 6, 6, 6, 6, 100}, at())
	expect.Same(t, "down to one", []bool{true, false}, []bool{p.tooLarge(299), p.tooLarge(200)})
	for n := range maxSpans - 1 {
		p.tooLarge(1000 + 100*n)
	}
	expect.Same(t, "after some", []int32{100, 100}, []int32{p.sizeAt(0), p.sizeAt(5000)})
	p.tooLarge(5000)
	expect.Same(t, "after too many", []int32{100, 50, 1, 1}, []int32{p.sizeAt(0), p.sizeAt(150), p.sizeAt(200), p.sizeAt(50_000)})
}

// TestPace: the pages of the longest list are not slowed down, and changes without end are.
func TestPace(t *testing.T) {
	t.Parallel()
	p := newPace()
	for n := range 1000 {
		if !p[true].TryAccept() {
			t.Fatalf("page %d is slowed down", n)
		}
	}
	changes := 0
	for p[false].TryAccept() {
		changes++
	}
	if changes < manyAnswers || changes > manyAnswers+answersPerSecond {
		t.Errorf("%d answers with changes before they are slowed down, want %d", changes, manyAnswers)
	}
}

// TestNothingNew: a vCenter may answer that nothing has changed, and need not say that nothing follows.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	var waits atomic.Int32
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "WaitForUpdatesEx" {
			next.ServeHTTP(w, r)
			return
		}
		if waits.Add(1) == 2 {
			_, _ = io.WriteString(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>`+
				`<WaitForUpdatesExResponse xmlns="urn:vim25"/></s:Body></s:Envelope>`)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), "<truncated>false</truncated>", "", 1))
	})
	t.Cleanup(door.Close)
	a, m := lateConnect(t, door.Credentials()), v.machine("m")
	keys := watched(t, a)
	wait.Until(t, "a wait after the answer", func() (any, bool) { n := waits.Load(); return n, n >= 3 })
	running(t, v.account(), m)
	expect.Same(t, "key", m.Key, <-keys)
}
