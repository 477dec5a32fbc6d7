package workload

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func bookmark(version string, end bool) string {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":%q%s}}}`+"\n", version, annotations)
}

// TestLists: the first watch tells a list, and says when it is complete. The next goes on where it ended, unless it never was, or
// that is too long ago.
func TestLists(t *testing.T) {
	const asks = "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
	gone := `{"type":"ERROR","object":{"kind":"Status","code":410}}`
	steps := []struct {
		name, want string // of the query
		status     int
		body, told string
	}{
		{"a list that is cut off", asks, 200, event("ADDED", "x"), "[BEGUN ADDED a.1 x]"},
		{
			"a list", asks, 200, event("ADDED", "x") + bookmark("8", true) + event("MODIFIED", "y"),
			"[BEGUN ADDED a.1 x LISTED MODIFIED a.1 y]",
		},
		{"after an object", "allowWatchBookmarks=true&resourceVersion=7", 200, bookmark("9", false), "[]"},
		{"after a bookmark", "allowWatchBookmarks=true&resourceVersion=9", 200, gone, "[]"},
		{"after an error", asks, 200, bookmark("10", true), "[BEGUN LISTED]"},
		{"after a list of nothing", "allowWatchBookmarks=true&resourceVersion=10", 410, "{}", "[]"},
		{"after 410", asks, 200, bookmark("11", true), "[BEGUN LISTED]"},
		{"refused for a while", "allowWatchBookmarks=true&resourceVersion=11", 403, "{}", "[]"},
		{"shown again", "allowWatchBookmarks=true&resourceVersion=11", 200, "", "[]"},
	}
	step := steps[0]
	clusters, _ := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Del("watch")
		query.Del("timeoutSeconds")
		expect.Same(t, step.name, step.want, query.Encode())
		w.WriteHeader(step.status)
		_, _ = io.WriteString(w, step.body)
	})
	var told []string
	feed := reports(&told)
	feed.Lists = true
	for _, step = range steps {
		told = nil
		_ = clusters.Follow(t.Context(), key, feed) // how each ends, TestFollow says
		expect.Same(t, step.name, step.told, fmt.Sprint(told))
	}
}

// TestPlainLists: an API server that cannot tell when a list ends is asked without that, and the list is complete once nothing
// more comes, or with the first bookmark.
func TestPlainLists(t *testing.T) {
	var asked []string
	clusters, _ := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("sendInitialEvents"))
		if r.URL.Query().Has("sendInitialEvents") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		_, _ = io.WriteString(w, event("ADDED", "x")+bookmark("8", false)+event("MODIFIED", "y"))
	})
	var told []string
	feed := reports(&told)
	feed.Lists = true
	expect.OK(t, clusters.Follow(t.Context(), key, feed))
	expect.Same(t, "told", "[BEGUN ADDED a.1 x LISTED MODIFIED a.1 y]", fmt.Sprint(told))
	expect.Same(t, "asked", []string{"true", ""}, asked)
	synctest.Test(t, func(t *testing.T) {
		var told []string
		feed := reports(&told)
		feed.Lists, feed.plain = true, true
		body, send := io.Pipe()
		w := &Watcher{large: make(chan struct{}, 1), pace: flowcontrol.NewTokenBucketRateLimiter(eventPace, eventBurst)}
		go func() { _ = feed.read(t.Context(), w, body) }() // it ends with the pipe
		for range 3 {
			_, _ = io.WriteString(send, event("ADDED", "x")) // it is read
			later(calmTime / 2)
		}
		synctest.Wait()
		expect.Same(t, "told before it is calm", "[BEGUN ADDED a.1 x ADDED a.1 x ADDED a.1 x]", fmt.Sprint(told))
		later(calmTime)
		synctest.Wait()
		expect.Same(t, "told then", "LISTED", told[len(told)-1])
		expect.OK(t, send.Close())
		synctest.Wait()
	})
}

// TestOneConnection: all watches of a cluster share a connection, if its API server speaks HTTP/2. A watch that is refused ends
// none of the others.
func TestOneConnection(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		var conns atomic.Int32
		var open sync.WaitGroup
		open.Add(mostFeeds)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/apis/apps/v1/refused" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			expect.OK(t, http.NewResponseController(w).Flush())
			open.Done()
			<-r.Context().Done()
		}))
		server.EnableHTTP2 = http2
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		server.StartTLS()
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		clusters := &Clusters{Live: &management{kubeconfig: text(server.URL, base64.StdEncoding.EncodeToString(ca))}}
		ctx, end := context.WithCancel(t.Context())
		hidden := make(chan error, 1)
		of := func(name string) Resource { return Resource{Group: "apps", Version: "v1", Name: name} }
		feeds := []*Feed{{Resource: of("refused"), Told: func(e Event) { hidden <- e.Why }}}
		for i := range mostFeeds {
			feeds = append(feeds, &Feed{Resource: of(fmt.Sprint("r", i)), Told: func(Event) {}})
		}
		ended := make(chan error, 1)
		go func() { ended <- clusters.FollowAll(ctx, key, feeds...) }()
		expect.Same(t, "refused", true, apierrors.IsForbidden(<-hidden))
		open.Wait()
		want := int32(1)
		if !http2 {
			want = mostFeeds
		}
		expect.Same(t, fmt.Sprint("connections, HTTP/2 is ", http2), want, conns.Load())
		end()
		if err := <-ended; err == nil {
			t.Error("it ended as it should")
		}
		server.Close()
	}
}
