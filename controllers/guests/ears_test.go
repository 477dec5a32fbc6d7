package guests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// voice is a cluster whose guests say what a test says.
type voice struct {
	mu      sync.Mutex
	watches int
	ended   int
	fails   error         // how the next watch ends, if not well
	slow    time.Duration // how long a watch takes to end
	say     func(watch.EventType, *corev1.ConfigMap)
	ends    chan struct{} // ends one watch
}

func (v *voice) Follow(ctx context.Context, _ client.ObjectKey, feed *workload.Feed) error {
	v.mu.Lock()
	v.watches++
	v.say = func(what watch.EventType, object *corev1.ConfigMap) {
		text, _ := json.Marshal(object) // it always can
		feed.Told(workload.Event{Type: what, Object: text})
	}
	ends := v.ends
	v.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-ends:
	}
	pass(v.slow)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended++
	return v.fails
}

// pass lets time pass, in a bubble.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func said(name, report string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{Key: report}}
}

// TestEars: a report is kept whether its machine has asked yet or not, wakes that machine once, and is forgotten with its object.
// Two machines of a cluster share a watch, which ends when none has asked for half an hour.
func TestEars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan cloud.Key, 10)
		v := &voice{}
		ears := &Ears{Clusters: v, Heard: heard, Now: time.Now}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		cluster := client.ObjectKey{Namespace: "a", Name: "c"}
		one, two := cloud.Key{Namespace: "a", Name: "one"}, cloud.Key{Namespace: "a", Name: "two"}
		expect.Same(t, "before the start", "", ears.Report(cluster, "win-1.a", one))
		go func() { over <- ears.Start(ctx) }()
		synctest.Wait()
		expect.Same(t, "at first", "", ears.Report(cluster, "win-1.a", one))
		synctest.Wait()
		for _, text := range []string{"x", "x", "y"} {
			v.say(watch.Modified, said("win-1.a", text))
		}
		v.say(watch.Modified, said("win-1.old", "of an older token"))
		v.say(watch.Added, said("win-2.a", "z"))
		expect.Same(t, "woken", 2, len(heard))
		expect.Same(t, "who", one, <-heard)
		expect.Same(t, "the last report", "y", ears.Report(cluster, "win-1.a", one))
		expect.Same(t, "one that came first", "z", ears.Report(cluster, "win-2.a", two))
		expect.Same(t, "watches", 1, v.watches)
		v.say(watch.Added, said("win-4.a", strings.Repeat("x", 2*cloud.MaxReport)))
		expect.Same(t, "bytes of one that is too long", cloud.MaxReport+1, len(ears.Report(cluster, "win-4.a", two)))
		v.say(watch.Deleted, said("win-2.a", "z"))
		expect.Same(t, "one that is gone", "", ears.Report(cluster, "win-2.a", two))
		pass(forget / 2)
		ears.Report(cluster, "win-2.a", two)
		pass(forget/2 + time.Second)
		expect.Same(t, "objects before the look of the next minute", 4, len(ears.clusters[cluster].objects))
		pass(time.Minute - time.Second)
		synctest.Wait()
		expect.Same(t, "objects, of which one was asked for", 1, len(ears.clusters[cluster].objects))
		expect.Same(t, "bytes of strangers that were forgotten", 0, ears.clusters[cluster].strange)
		expect.Same(t, "watches that ended", 0, v.ended)
		pass(forget)
		expect.Same(t, "clusters", 0, len(ears.clusters))
		expect.Same(t, "watches that ended, for nobody", 1, v.ended)
		cancel()
		expect.OK(t, <-over)
	})
}

// listening are ears that hear of all clusters what v says, until end.
func listening(t *testing.T, v *voice) (ears *Ears, end func()) {
	t.Helper()
	ears = &Ears{Clusters: v, Heard: make(chan cloud.Key, 10), Now: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- ears.Start(ctx) }()
	synctest.Wait()
	return ears, func() {
		t.Helper()
		cancel()
		expect.OK(t, <-over)
	}
}

// TestGoneWhileNobodyWatched: the next good watch does not tell of an object that went between two, so it is forgotten with that.
func TestGoneWhileNobodyWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &voice{ends: make(chan struct{})}
		ears, end := listening(t, v)
		cluster, one := client.ObjectKey{Namespace: "a", Name: "c"}, cloud.Key{Namespace: "a", Name: "one"}
		ears.Report(cluster, "win-1.a", one)
		ears.Report(cluster, "win-2.a", one)
		synctest.Wait()
		watched := func(lasts time.Duration, names ...string) {
			for _, name := range names {
				v.say(watch.Added, said(name, "x"))
			}
			pass(lasts)
			v.ends <- struct{}{}
			synctest.Wait()
		}
		watched(5*time.Minute, "win-1.a", "win-2.a", "strange")
		expect.Same(t, "after a good watch", "x", ears.Report(cluster, "win-2.a", one))
		watched(time.Second, "win-1.a") // too short to tell of all
		pass(firstPause)
		synctest.Wait()
		expect.Same(t, "after a watch that failed", "x", ears.Report(cluster, "win-2.a", one))
		watched(5*time.Minute, "win-1.a")
		expect.Same(t, "one that is gone", "", ears.Report(cluster, "win-2.a", one))
		expect.Same(t, "one that is there", "x", ears.Report(cluster, "win-1.a", one))
		expect.Same(t, "objects", 2, len(ears.clusters[cluster].objects))
		expect.Same(t, "bytes of strangers", 0, ears.clusters[cluster].strange)
		end()
	})
}

// TestStrangers: objects that no machine asks for have little room, and none of a machine that asks.
func TestStrangers(t *testing.T) {
	h := &hearing{objects: map[string]*object{}}
	mine := cloud.Key{Namespace: "a", Name: "one"}
	h.objects["mine"] = &object{machine: mine}
	long := strings.Repeat("x", cloud.MaxReport)
	for i := range 2 * maxStrange / cloud.MaxReport {
		_, news := h.take(watch.Added, said(fmt.Sprintf("more-%d", i), long), time.Now())
		expect.Same(t, "news", false, news)
	}
	if h.strange > maxStrange || h.strange < maxStrange-2*cloud.MaxReport {
		t.Errorf("%d bytes of strangers are kept, of at most %d", h.strange, maxStrange)
	}
	if h.refused < 50 {
		t.Errorf("%d reports without room were counted", h.refused)
	}
	who, news := h.take(watch.Added, said("mine", long), time.Now())
	expect.Same(t, "news for "+who.Name, true, news && who == mine)
	_, news = h.take(watch.Modified, said("mine", ""), time.Now())
	expect.Same(t, "news of an object that was emptied", false, news)
	for i := range 2 * maxStrange / cloud.MaxReport {
		h.take(watch.Modified, said(fmt.Sprintf("more-%d", i), "short"), time.Now())
		h.take(watch.Deleted, said(fmt.Sprintf("more-%d", i), ""), time.Now())
	}
	for _, name := range []string{"unknown", "mine"} {
		h.take(watch.Deleted, said(name, ""), time.Now())
	}
	expect.Same(t, "bytes when all are gone", 0, h.strange)
	expect.Same(t, "objects", 1, len(h.objects))
	expect.Same(t, "that of a machine, which may still ask", mine, h.objects["mine"].machine)
}

// TestRoomForStrangers is used to the last byte.
func TestRoomForStrangers(t *testing.T) {
	for over, want := range map[int]int{0: 1, 1: 0} {
		h := &hearing{objects: map[string]*object{}, strange: maxStrange - len("name") - len("text") + over}
		h.take(watch.Added, said("name", "text"), time.Now())
		expect.Same(t, fmt.Sprint("objects, ", over, " bytes over"), want, len(h.objects))
		expect.Same(t, "left out", 1-want, h.refused)
	}
}

// TestEnd: the manager waits until all watches have ended, and begins none after that.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &voice{slow: time.Second}
		ears, end := listening(t, v)
		one := cloud.Key{Namespace: "a", Name: "one"}
		ears.Report(client.ObjectKey{Name: "c"}, "win-1.a", one)
		synctest.Wait()
		end()
		expect.Same(t, "watches that ended", 1, v.ended)
		ears.Report(client.ObjectKey{Name: "other"}, "win-1.a", one)
		expect.Same(t, "clusters", 1, len(ears.clusters))
	})
}

// TestLeftOutIsLogged: the log says once for a watch how many reports it had no room for, and nothing if it had room for all.
func TestLeftOutIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
		ctx, cancel := context.WithCancel(ctx)
		v := &voice{ends: make(chan struct{})}
		ears := &Ears{Clusters: v, Heard: make(chan cloud.Key, 10), Now: time.Now}
		var running sync.WaitGroup
		running.Go(func() { expect.Fine(t, ears.Start(ctx)) })
		synctest.Wait()
		ears.Report(client.ObjectKey{Name: "c"}, "win-1.a", cloud.Key{Name: "one"})
		long := strings.Repeat("x", cloud.MaxReport)
		room := 0
		for size := 0; size <= maxStrange; room++ {
			size += len(fmt.Sprint(room)) + len(long)
		}
		for _, c := range []struct{ strangers, lines int }{{room - 1, 0}, {room, 1}, {1, 1}} {
			synctest.Wait()
			for i := range c.strangers {
				v.say(watch.Added, said(fmt.Sprint(i), long))
			}
			pass(goodWatch + 1)
			v.ends <- struct{}{}
			synctest.Wait()
			expect.Same(t, "lines", c.lines, len(lines))
		}
		cancel()
		running.Wait()
	})
}

// TestWatchesThatFail: the pause between two watches gets longer each time that one fails, and begins anew after one that lasted.
// One that failed in the end may not have told of all.
func TestWatchesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &voice{ends: make(chan struct{}), fails: errors.New("no answer")}
		ears, end := listening(t, v)
		cluster, one := client.ObjectKey{Namespace: "a", Name: "c"}, cloud.Key{Namespace: "a", Name: "one"}
		ears.Report(cluster, "win-1.a", one)
		synctest.Wait()
		v.say(watch.Added, said("win-1.a", "x"))
		watches := 1
		ends := func(what string, lasts, pause time.Duration) {
			t.Helper()
			pass(lasts)
			v.ends <- struct{}{}
			synctest.Wait()
			if pause > 0 {
				pass(pause - 1)
				synctest.Wait()
				expect.Same(t, "watches before the pause is over, "+what, watches, v.watches)
				pass(1)
				synctest.Wait()
			}
			watches++
			expect.Same(t, "watches "+what, watches, v.watches)
		}
		for _, seconds := range []int{2, 4, 8, 16, 32, 60, 60} {
			ends("after one that failed", goodWatch, time.Duration(seconds)*time.Second)
		}
		ends("after one that lasted", goodWatch+1, firstPause)
		ends("after the next one that failed", 0, 2*firstPause)
		expect.Same(t, "what was not told of again", "x", ears.Report(cluster, "win-1.a", one))
		v.fails = nil
		ends("after one that ended well", goodWatch+1, 0)
		end()
	})
}
