package cloudtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// restart is how long to wait before a watch that failed is started again.
const restart = 10 * time.Millisecond

// listener receives the keys of a watch.
type listener struct {
	mu    sync.Mutex
	heard map[cloud.Key]int
	ended chan error
}

// watch runs the account's Watch as accounts.Register does: it starts again after each error.
func (w world) watch(c cloud.Cloud) *listener {
	ctx, end := context.WithCancel(context.Background())
	l := &listener{heard: map[cloud.Key]int{}, ended: make(chan error, 1)}
	go func() {
		var err error
		for ok := true; ok; ok = ctx.Err() == nil {
			err = c.Watch(ctx, l.note)
			select {
			case <-ctx.Done():
			case <-time.After(restart):
			}
		}
		l.ended <- err
	}()
	w.t.Cleanup(func() {
		end()
		if err := <-l.ended; err != nil {
			w.t.Errorf("Watch = %v when its context has ended, want nil", describe(err))
		}
	})
	return l
}

func (l *listener) note(keys ...cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.heard[key]++
	}
}

// Into sends the keys of a watch to a channel, those of a call once. It must have room for them, or a reader that waits for
// nothing.
func Into(keys chan<- cloud.Key) func(...cloud.Key) {
	return func(all ...cloud.Key) {
		for key := range sets.New(all...) {
			keys <- key
		}
	}
}

func (l *listener) count(m cloud.Machine) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[m.Key]
}

// wantKey wants the watch to send the key of m when something is done, without a call about m.
func (w world) wantKey(l *listener, m cloud.Machine, when string, do func()) {
	w.t.Helper()
	before := l.count(m)
	do()
	w.wantKeys(l, m, "the key to be sent when "+when, before)
}

func (w world) wantKeys(l *listener, m cloud.Machine, what string, before int) {
	w.t.Helper()
	wait.Until(w.t, what, func() (any, bool) { return l.count(m), l.count(m) > before })
}

func watchSends(w world) {
	c, m := w.process(), w.machine("m")
	l := w.watch(c)
	w.wantKey(l, m, "the VM is made", func() { w.begin(c, m) })
	w.ensure(c, m)
	for _, change := range []struct {
		when string
		do   func()
		done func(cloud.VM) bool
	}{
		{"it has an address", func() { w.Address(m.Name, "10.1.2.3") }, func(vm cloud.VM) bool { return len(vm.Addresses) == 3 }},
		{"its guest reports", func() { w.Report(m.Name, "x") }, func(vm cloud.VM) bool { return vm.Report == "x" }},
		{"it is switched off", func() { w.PowerOff(m.Name) }, func(vm cloud.VM) bool { return vm.State == cloud.Stopped }},
	} {
		if w.Mute && change.when == "its guest reports" {
			continue
		}
		w.wantKey(l, m, change.when, change.do)
		wait.Until(w.t, "it to be observed when "+change.when, func() (any, bool) {
			vm := w.observe(c, m)
			return vm, change.done(vm)
		})
	}
	w.wantKey(l, m, "it is gone", func() { w.Remove(m.Name) })
	wait.Until(w.t, "it to be observed when it is gone", func() (any, bool) {
		vm, err := c.Observe(w.t.Context(), m)
		return vm, err == cloud.ErrNotFound //nolint:errorlint // because a wrapped one is an error as well
	})
}

func watchResends(w world) {
	c := w.process()
	l := w.watch(c)
	machines := []cloud.Machine{w.machine("a"), w.machine("b"), w.machine("c")}
	for _, m := range machines {
		w.ensure(c, m)
	}
	for range 2 {
		for _, m := range machines {
			w.wantKeys(l, m, "the key to be sent", 0)
		}
		w.wantResent(l, machines)
	}
}

// wantResent breaks all connections, and wants the key of each machine once more. It may have to do so again, because a watch
// that was just between two calls has lost nothing.
func (w world) wantResent(l *listener, machines []cloud.Machine) {
	w.t.Helper()
	before := map[cloud.Key]int{}
	for _, m := range machines {
		before[m.Key] = l.count(m)
	}
	wait.Eventually(w.t, "all keys to be sent again", func(ctx context.Context) error {
		w.Cut()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return wait.Poll(ctx, func(context.Context) error {
			for _, m := range machines {
				if l.count(m) == before[m.Key] {
					return fmt.Errorf("the key %s was not sent", m.Key)
				}
			}
			return nil
		})
	})
}

func closed(w world) {
	present := goleak.IgnoreCurrent()
	c, m := w.process(), w.machine("m")
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Watch(ctx, func(...cloud.Key) {}) }()
	w.ensure(c, m)
	wait.Until(w.t, "one session", func() (any, bool) { return w.Sessions(), w.Sessions() == 1 })
	end()
	if err := <-ended; err != nil {
		w.t.Errorf("Watch = %v when its context has ended, want nil", describe(err))
	}
	for range 2 {
		if err := c.Close(context.Background()); err != nil {
			w.t.Errorf("Close = %v", describe(err))
		}
	}
	if n := w.Sessions(); n != 0 {
		w.t.Errorf("%d sessions are left", n)
	}
	_, _ = c.Ensure(context.Background(), m)
	if n := w.Sessions(); n != 0 {
		w.t.Errorf("%d sessions are left after a late call", n)
	}
	if err := goleak.Find(present); err != nil {
		w.t.Error(err)
	}
}
