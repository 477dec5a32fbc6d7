package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

func event(kind, report string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":"a.1"},"data":{"report":%q}}}`+"\n", kind, report)
}

// TestLongestReport: a guest that fills its report with what JSON writes as six bytes each does not end the watch of its cluster.
func TestLongestReport(t *testing.T) {
	const most = 16384 // guests.yaml
	for _, filler := range []string{"<", "\x01"} {
		object := corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a.1"}, Data: map[string]string{"report": strings.Repeat(filler, most)},
		}
		line := expect.Got(json.Marshal(map[string]any{"type": watch.Modified, "object": object}))(t)
		var told []int
		err := readEvents(t.Context(), strings.NewReader(string(line)+"\n"+event("ADDED", "x")),
			func(_ watch.EventType, object *corev1.ConfigMap) { told = append(told, len(object.Data["report"])) })
		expect.OK(t, err)
		expect.Same(t, "bytes told", fmt.Sprint([]int{most, 1}), fmt.Sprint(told))
	}
}

// TestEventPace: 5,000 events are read at once, and 200 a second after that.
func TestEventPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, told := time.Now(), 0
		err := readEvents(t.Context(), strings.NewReader(strings.Repeat(event("ADDED", "x"), 5400)),
			func(watch.EventType, *corev1.ConfigMap) { told++ })
		expect.OK(t, err)
		expect.Same(t, "events", 5400, told)
		expect.Same(t, "time", 2*time.Second, time.Since(began).Round(time.Millisecond))
	})
}

// TestFollowEnds: who stops listening is told of no event after the one that is told of just then.
func TestFollowEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	told := 0
	err := readEvents(ctx, strings.NewReader(event("ADDED", "x")+event("ADDED", "y")), func(watch.EventType, *corev1.ConfigMap) {
		told++
		end()
	})
	expect.Same(t, "it ends with", true, errors.Is(err, context.Canceled))
	expect.Same(t, "events", 1, told)
}

// TestFollow: all events are told, in their order, until the server ends the watch; what is no event, or too long, ends it too.
func TestFollow(t *testing.T) {
	for name, test := range map[string]struct {
		status      int
		body        string
		told, wrong string
	}{
		"all":         {http.StatusOK, event("ADDED", "x") + event("MODIFIED", "y"), "ADDED a.1 x, MODIFIED a.1 y", ""},
		"an error":    {http.StatusOK, event("ADDED", "x") + `{"type":"ERROR","object":{}}`, "ADDED a.1 x", "ended with"},
		"no events":   {http.StatusOK, "<html>", "", "read event"},
		"too long":    {http.StatusOK, event("ADDED", strings.Repeat("x", maxEvent)), "", "too long"},
		"not allowed": {http.StatusForbidden, "{}", "", "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			clusters, _ := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/namespaces/reports/configmaps" || r.URL.Query().Get("watch") != "true" {
					t.Errorf("asked for %s", r.URL)
				}
				expect.Same(t, "what is understood", "application/json", r.Header.Get("Accept"))
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body)) // the client may have gone
			})
			var told []string
			var wire net.Conn
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(c httptrace.GotConnInfo) { wire = c.Conn },
			})
			err := clusters.Follow(ctx, key, "reports",
				func(what watch.EventType, object *corev1.ConfigMap) {
					told = append(told, fmt.Sprint(what, " ", object.Name, " ", object.Data["report"]))
				})
			expect.Same(t, "told", test.told, strings.Join(told, ", "))
			if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("it ends with %v, wanted %q", err, test.wrong)
			}
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
		err := clusters.Follow(t.Context(), key, "reports", func(watch.EventType, *corev1.ConfigMap) { t.Error("an event was told") })
		expect.Says(t, "Follow", err, why)
	}
	expect.Same(t, "calls", int32(0), calls.Load())
}
