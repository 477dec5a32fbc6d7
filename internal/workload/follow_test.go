package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

func event(kind, report string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":"a.1","resourceVersion":"7"},"data":{"report":%q}}}`+"\n",
		kind, report)
}

// reports is a feed of the ConfigMaps of a namespace, which notes what it is told.
func reports(told *[]string) *Feed {
	feed := &Feed{Resource: Resource{Version: "v1", Name: "configmaps", Namespace: "reports"}}
	feed.Told = func(e Event) {
		var object corev1.ConfigMap
		if len(e.Object) == 0 || json.Unmarshal(e.Object, &object) != nil {
			*told = append(*told, string(e.Type))
			return
		}
		*told = append(*told, fmt.Sprint(e.Type, " ", object.Name, " ", object.Data["report"]))
	}
	return feed
}

// follow has a feed told what a watch says.
func follow(ctx context.Context, feed *Feed, body string) error {
	return feed.read(ctx, &Watcher{
		large: make(chan struct{}, 1), pace: flowcontrol.NewTokenBucketRateLimiter(eventPace, eventBurst),
	}, strings.NewReader(body))
}

// TestLongestReport: a guest that fills its report with what JSON writes as six bytes each is told as it is.
func TestLongestReport(t *testing.T) {
	const most = 16384 // guests.yaml
	for _, filler := range []string{"<", "\x01"} {
		object := corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a.1"}, Data: map[string]string{"report": strings.Repeat(filler, most)},
		}
		line := expect.Got(json.Marshal(map[string]any{"type": watch.Modified, "object": object}))(t)
		var told []string
		expect.OK(t, follow(t.Context(), reports(&told), string(line)+"\n"+event("ADDED", "x")))
		expect.Same(t, "events", 2, len(told))
		expect.Same(t, "bytes of the first", most, len(told[0])-len("MODIFIED a.1 "))
	}
}

// TestTooLarge: what is too large, or would take too much memory, is left out, and nothing after it.
func TestTooLarge(t *testing.T) {
	many := `{"type":"ADDED","object":{"data":{` + strings.TrimSuffix(strings.Repeat(`"a":{},`, maxObjects+1), ",") + "}}}\n"
	for name, body := range map[string]string{
		"long": event("ADDED", strings.Repeat("x", maxEvent)), "longer": event("ADDED", strings.Repeat("x", 20*maxEvent)), "many": many,
	} {
		var told []string
		expect.OK(t, follow(t.Context(), reports(&told), event("ADDED", "w")+body+event("ADDED", "x")))
		expect.Same(t, name, []string{"ADDED a.1 w", "LEFTOUT", "ADDED a.1 x"}, told)
	}
}

// TestLargeOneByOne: of the watches of a cluster, one at a time has a large event. It holds the others up, until it has ended.
func TestLargeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Watcher{large: make(chan struct{}, 1), pace: flowcontrol.NewTokenBucketRateLimiter(eventPace, eventBurst)}
		large := event("ADDED", strings.Repeat("x", 2*smallEvent))
		stalls, send := io.Pipe()
		var first, second []string
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go func() { _ = reports(&first).read(ctx, w, stalls) }()        // it ends with the pipe
		go func() { _, _ = send.Write([]byte(large[:len(large)-2])) }() // and does not go on
		synctest.Wait()
		go func() { _ = reports(&second).read(ctx, w, strings.NewReader(event("ADDED", "a")+large)) }() // it ends with its text
		synctest.Wait()
		expect.Same(t, "events of the other", 1, len(second))
		expect.OK(t, send.Close())
		synctest.Wait()
		expect.Same(t, "events of the other, then", 2, len(second))
	})
}

// TestEventPace: 5,000 events are read at once, and 200 a second after that.
func TestEventPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		began := time.Now()
		expect.OK(t, follow(t.Context(), reports(&told), strings.Repeat(event("ADDED", "x"), 5400)))
		expect.Same(t, "events", 5400, len(told))
		expect.Same(t, "time", 2*time.Second, time.Since(began).Round(time.Millisecond))
	})
}

// TestBytePace: 32 MiB are read at once, and 1 MiB a second after that, whatever they are.
func TestBytePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			for range 34 {
				_, _ = theirs.Write(make([]byte, 1<<20)) // all is read
			}
			_ = theirs.Close() // a pipe always can
		}()
		began := time.Now()
		n := expect.Got(io.Copy(io.Discard, &pacedConn{Conn: ours, left: byteBurst, counted: began}))(t)
		expect.Same(t, "bytes", int64(34<<20), n)
		expect.Same(t, "time", 2*time.Second, time.Since(began).Round(50*time.Millisecond))
	})
}

// TestFollowEnds: who stops listening is told of no event after the one that is told of just then.
func TestFollowEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	told := 0
	err := follow(ctx, &Feed{Told: func(Event) {
		told++
		end()
	}}, event("ADDED", "x")+event("ADDED", "y"))
	expect.Same(t, "it ends with", true, errors.Is(err, context.Canceled))
	expect.Same(t, "events", 1, told)
}

// TestFollow: all events are told, in their order, until the server ends the watch; what is no event ends it, too.
func TestFollow(t *testing.T) {
	for name, test := range map[string]struct {
		status      int
		body        string
		told, wrong string
	}{
		"all":         {http.StatusOK, event("ADDED", "x") + event("MODIFIED", "y"), "ADDED a.1 x, MODIFIED a.1 y", ""},
		"an error":    {http.StatusOK, event("ADDED", "x") + `{"type":"ERROR","object":{}}`, "ADDED a.1 x", "ended with"},
		"no events":   {http.StatusOK, "<html>", "", "what is no event"},
		"other types": {http.StatusOK, event("HELLO", "x"), "", `tells "HELLO"`},
		"other JSON":  {http.StatusOK, `{"type":[]}`, "", "read event"},
		"cut off":     {http.StatusOK, event("ADDED", "x") + `{"type":"ADD`, "ADDED a.1 x", "what is no event"},
		"not allowed": {http.StatusForbidden, `{"kind":"Status","message":"no right"}`, "", "no right"},
		"a redirect":  {http.StatusFound, "{}", "", "a redirect, which is not followed"},
		"an old key":  {http.StatusUnauthorized, "{}", "", "must be renewed"},
		"no server":   {http.StatusBadGateway, "<html>", "", "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			clusters, _ := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/namespaces/reports/configmaps" || r.URL.Query().Get("watch") != "true" {
					t.Errorf("asked for %s", r.URL)
				}
				expect.Same(t, "what is understood", "application/json", r.Header.Get("Accept"))
				w.Header().Set("Location", "https://127.0.0.1/")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body)) // the client may have gone
			})
			var told []string
			var wire net.Conn
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(c httptrace.GotConnInfo) { wire = c.Conn },
			})
			err := clusters.Follow(ctx, key, reports(&told))
			expect.Same(t, "told", test.told, strings.Join(told, ", "))
			if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("it ends with %v, wanted %q", err, test.wrong)
			}
			expect.Same(t, "forbidden", test.status == http.StatusForbidden, apierrors.IsForbidden(err))
			wait.Until(t, "the end of its connection", func() (any, bool) {
				err := wire.SetDeadline(time.Time{})
				return err, errors.Is(err, net.ErrClosed)
			})
		})
	}
}

// TestFollowRefused: with a kubeconfig that is refused, or cannot be read, nothing is asked, and the one who listens learns why.
func TestFollowRefused(t *testing.T) {
	clusters, calls := workloadCluster(t, showNode)
	for why, live := range map[string]*management{
		"the kubeconfig in Secret prod-kubeconfig is refused: ": {kubeconfig: text("http://127.0.0.1", aCA(t))},
		"get kubeconfig: etcd is away":                          {fails: errors.New("etcd is away")},
	} {
		clusters.Live = live
		err := clusters.Follow(t.Context(), key, &Feed{Told: func(Event) { t.Error("an event was told") }})
		expect.Says(t, "Follow", err, why)
	}
	expect.Same(t, "calls", int32(0), calls.Load())
}
