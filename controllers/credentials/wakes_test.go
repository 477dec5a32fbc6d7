package credentials

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWakes has a tenant change the one Secret of many machines without pause: each change would have all of them looked at and
// written, before those of others. Another namespace's machines are woken as ever.
func TestWakes(t *testing.T) {
	k := newKeeping(t)
	const machines, changes = 2000, 12
	bad, good := vcenter("bad"), vcenter("good")
	k.put(t, bad, "0")
	k.put(t, good, "0")
	for i := range machines {
		k.saw(machine(fmt.Sprint("m-", i), bad))
	}
	k.saw(machine("good", good))
	k.pass(t, time.Second)
	expect.Same(t, "woken at once by the first read", machines+1, len(k.woken()))
	woken, began := 0, k.clock
	for i := range changes {
		k.set(t, bad, fmt.Sprint(i))
		k.pass(t, every)
		woken += len(k.woken())
	}
	// The queue's clock goes as well, and may have woken some of those that wait.
	if most := wakeBurst - machines + int(k.clock.Sub(began).Seconds())*wakeRate; woken > most+most/10 {
		t.Errorf("%d machines were woken at once in %s, at most %d are allowed", woken, k.clock.Sub(began), most)
	}
	k.set(t, good, "1")
	k.pass(t, every)
	if !slices.Contains(k.woken(), "good") {
		t.Error("the machine of the other namespace waits")
	}
	k.pass(t, 10*time.Minute)
	expect.Same(t, "namespaces remembered", 0, len(k.wakes))
}

// set writes another password.
func (k *keeping) set(t *testing.T, name types.NamespacedName, password string) {
	t.Helper()
	k.change(t, name, func(s *corev1.Secret) { s.Data["clientSecret"] = []byte(password) })
}

// TestWakeTimes has the figures: 5000 machines of a namespace at once, 100 a second after that, and none waits for long.
func TestWakeTimes(t *testing.T) {
	w := wakes{5000, start}
	for range 5000 {
		next, rest := w.next(start)
		if w = next; rest != 0 {
			t.Fatalf("one of the first waits for %s", rest)
		}
	}
	w, rest := w.next(start)
	expect.Same(t, "the next one waits", 10*time.Millisecond, rest)
	w, rest = w.next(start)
	expect.Same(t, "the one after it waits", 20*time.Millisecond, rest)
	_, rest = w.next(start.Add(time.Second))
	expect.Same(t, "a second later one waits", time.Duration(0), rest)
	for range 10000 {
		w, rest = w.next(start)
	}
	expect.Same(t, "one of very many waits", 50*time.Second, rest)
	_, rest = w.next(start.Add(10 * time.Second))
	expect.Same(t, "one of these waits, 10 seconds later", 40*time.Second+10*time.Millisecond, rest)
	w, _ = w.next(start.Add(time.Hour))
	expect.Same(t, "left after an hour", 4999.0, w.left)
}

// TestWakesAreForgotten once they say nothing more.
func TestWakesAreForgotten(t *testing.T) {
	k := newKeeping(t)
	k.wake(vcenter("a"))
	expect.Same(t, "wakes", map[string]float64{"a": 4999}, map[string]float64{"a": k.wakes["a"].left})
	k.forgetWakes(start.Add(100*time.Second - 1))
	expect.Same(t, "remembered until then", 1, len(k.wakes))
	k.forgetWakes(start.Add(100 * time.Second))
	expect.Same(t, "remembered after it", 0, len(k.wakes))
	(&Keeper{Now: k.Now}).wake(vcenter("a")) // nothing to wake yet
}
