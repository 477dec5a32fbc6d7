package workload

import (
	"io"
	"net/http"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestPanic: who hears of a cluster may panic. That ends the watch, and neither the process nor what is heard of the next one.
func TestPanic(t *testing.T) {
	clusters, _ := workloadCluster(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, event("ADDED", "x"))
	})
	times := 0
	feed := &Feed{Resource: Resource{Version: "v1", Name: "configmaps"}, Told: func(Event) {
		times++
		panic("a Node")
	}}
	for _, follow := range []func() error{
		func() error { return clusters.Follow(t.Context(), key, feed) },
		func() error { return clusters.FollowAll(t.Context(), key, feed) },
	} {
		expect.Says(t, "error", follow(), "panic: a Node")
	}
	expect.Same(t, "events", 2, times)
}
