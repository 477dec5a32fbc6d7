package vsphere

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFreed: a place that is free wakes the machine that has waited for the longest time, each once, and none before the list of
// all VMs, which wakes them all.
func TestFreed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := func(name string) cloud.Key { return cloud.Key{Namespace: "ns", Name: name} }
	keys := make(chan cloud.Key, 1)
	wake := cloudtest.Into(keys)
	var w waiting
	busy := func(names ...string) {
		for _, name := range names {
			expect.Says(t, name, w.note(key(name), &cloud.Error{Kind: cloud.Later, Message: "busy"}), "busy")
		}
	}
	w.begin(now, wake)
	busy("early")
	w.freed()
	expect.Same(t, "those that wait for the list", []cloud.Key{key("early")}, w.finish(true))
	busy("first", "second", "first")
	w.freed()
	expect.Same(t, "woken", key("first"), <-keys)
	busy("first")
	w.freed()
	expect.Same(t, "woken then", key("second"), <-keys)
	w.freed()
	expect.Same(t, "woken at last", key("first"), <-keys)
	w.freed()
	busy("left")
	expect.Same(t, "those that wait for another watch", []cloud.Key{key("left")}, w.finish(false))
	busy("later")
	w.freed()
	expect.Same(t, "woken without a watch", 0, len(keys))
}

// TestAwait: a machine waits for the first list for a minute, and no longer.
func TestAwait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var w waiting
	m := cloud.Machine{}
	expect.OK(t, w.await(m, now))
	w.begin(now, func(...cloud.Key) {})
	wantLater(t, w.await(m, now))
	wantLater(t, w.await(m, now.Add(firstSnapshot-1)))
	expect.OK(t, w.await(m, now.Add(firstSnapshot)))
}
