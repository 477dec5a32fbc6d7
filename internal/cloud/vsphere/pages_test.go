package vsphere

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// TestPagesTooLarge: pages that are too large are asked for again, smaller, down to one VM. Then the watch ends.
func TestPagesTooLarge(t *testing.T) {
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
	err := lateConnect(t, door.Credentials()).Watch(t.Context(), make(chan cloud.Key))
	expect.Same(t, "why it ends", true, errors.Is(err, session.ErrTooLarge))
	close(pages)
	var all []string
	for page := range pages {
		all = append(all, page)
	}
	expect.Same(t, "pages", []string{"100", "25", "6", "1"}, all)
}

// TestNothingNew: a vCenter may answer that nothing has changed, and need not say that nothing follows.
func TestNothingNew(t *testing.T) {
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
