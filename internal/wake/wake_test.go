package wake

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// fed is a pacer with a queue, in a bubble.
type fed struct {
	Pacer
	to workqueue.TypedRateLimitingInterface[ctrl.Request]
}

func feed(t *testing.T) *fed {
	t.Helper()
	f := &fed{to: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())}
	t.Cleanup(f.to.ShutDown)
	expect.OK(t, f.Feed(t.Context(), f.to))
	return f
}

// woken returns the machines that are woken by now, by name.
func (f *fed) woken() (names []string) {
	synctest.Wait()
	for f.to.Len() > 0 {
		request, _ := f.to.Get()
		names = append(names, request.Name)
		f.to.Done(request)
	}
	slices.Sort(names)
	return names
}

// TestFlood: who wakes without pause wakes each machine once a second at most, and all of them at the rate.
func TestFlood(t *testing.T) {
	const sent = 30_000
	for name, c := range map[string]struct {
		key          func(int) types.NamespacedName
		burst, after int
	}{
		"one machine":          {func(int) types.NamespacedName { return key("a", "m") }, 1, 1},
		"machines without end": {func(n int) types.NamespacedName { return key("a", fmt.Sprint(n)) }, burst, perSecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := feed(t)
				for n := range sent {
					f.Wake(c.key(n))
				}
				expect.Same(t, "woken at once", c.burst, len(f.woken()))
				<-time.After(time.Second)
				expect.Same(t, "woken in a second", c.after, len(f.woken()))
				f.Wake(key("b", "honest"))
				expect.Same(t, "woken of another namespace", []string{"honest"}, f.woken())
				f.to.ShutDown()
			})
		})
	}
}

// TestTwice: a machine that is named twice in one call is woken once, and one that is named again after a second.
func TestTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed(t)
		f.Wake(key("a", "m"), key("a", "m"))
		expect.Same(t, "woken", []string{"m"}, f.woken())
		<-time.After(time.Minute)
		expect.Same(t, "woken later", 0, len(f.woken()))
		f.Wake(key("a", "m"))
		f.Wake(key("a", "m"))
		expect.Same(t, "woken by the next call", []string{"m"}, f.woken())
		<-time.After(pause)
		expect.Same(t, "woken by the last call", []string{"m"}, f.woken())
		f.to.ShutDown()
	})
}

// TestOnlyNamespace: a manager that is limited to one wakes no machine of another. Before there is a queue, none is woken.
func TestOnlyNamespace(t *testing.T) {
	(&Pacer{}).Wake(key("a", "m"))
	for only, want := range map[string]string{"": "m other", "ns": "m", "empty": ""} {
		synctest.Test(t, func(t *testing.T) {
			f := feed(t)
			f.Namespace = only
			f.Wake(key("ns", "m"), key("elsewhere", "other"))
			expect.Same(t, "woken in "+only, want, strings.Join(f.woken(), " "))
			f.to.ShutDown()
		})
	}
}

// TestForgotten: a namespace is forgotten once none of its keys waits or has passed lately, and no sooner.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed(t)
		f.Wake(key("a", "m"))
		<-time.After(lately - 1)
		f.Wake(key("b", "m"))
		expect.Same(t, "namespaces while one has passed lately", 2, len(f.namespaces))
		<-time.After(2 * lately)
		f.Wake()
		expect.Same(t, "namespaces", 0, len(f.namespaces))
		f.to.ShutDown()
	})
}

// TestFigures: the limits and times that documents promise.
func TestFigures(t *testing.T) {
	s := time.Second
	expect.Same(t, "limits", []int{5000, 100, 10_000}, []int{burst, perSecond, mostWaiting})
	expect.Same(t, "times", []time.Duration{s, s / 10, 60 * s}, []time.Duration{pause, tickEvery, lately})
}
