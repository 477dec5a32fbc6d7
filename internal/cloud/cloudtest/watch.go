package cloudtest

import (
	"context"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// restart is how long to wait before a watch that failed is started again.
const restart = 10 * time.Millisecond

// listener receives the keys of a watch.
type listener struct {
	mu    sync.Mutex
	heard map[cloud.Key]int
	end   context.CancelFunc
	ended chan error
}

// watch runs the account's Watch as cloud.Accounts does: it starts again after each error.
func (w world) watch(c cloud.Cloud) *listener {
	ctx, end := context.WithCancel(context.Background())
	l := &listener{heard: map[cloud.Key]int{}, end: end, ended: make(chan error, 1)}
	changed := make(chan cloud.Key)
	go func() {
		var err error
		for ok := true; ok; ok = ctx.Err() == nil {
			err = c.Watch(ctx, changed)
			select {
			case <-ctx.Done():
			case <-time.After(restart):
			}
		}
		l.ended <- err
		close(changed)
	}()
	go func() {
		for key := range changed {
			l.mu.Lock()
			l.heard[key]++
			l.mu.Unlock()
		}
	}()
	w.t.Cleanup(func() {
		end()
		if err := <-l.ended; err != nil {
			w.t.Errorf("Watch = %v when its context has ended, want nil", describe(err))
		}
	})
	return l
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
	w.eventually("the key is sent when "+when, func() bool { return l.count(m) > before })
}

func watchSends(w world) {
	c, m := w.process(), w.machine("m")
	l := w.watch(c)
	w.wantKey(l, m, "the VM is made", func() {
		if _, err := c.Ensure(w.t.Context(), m); err != nil {
			w.t.Fatalf("ensure: %v", describe(err))
		}
	})
	w.ensure(c, m)
	for _, change := range []struct {
		when string
		do   func()
		done func() bool
	}{
		{"it has an address", func() { w.Address(m.Name, "10.1.2.3") }, func() bool { return len(w.observe(c, m).Addresses) == 3 }},
		{"its guest reports", func() { w.Report(m.Name, "x") }, func() bool { return w.observe(c, m).Report == "x" }},
		{"it is switched off", func() { w.PowerOff(m.Name) }, func() bool { return w.observe(c, m).State == cloud.Stopped }},
	} {
		w.wantKey(l, m, change.when, change.do)
		w.eventually("it is observed when "+change.when, change.done)
	}
	w.wantKey(l, m, "it is gone", func() { w.Remove(m.Name) })
	w.eventually("it is observed when it is gone", func() bool {
		_, err := c.Observe(w.t.Context(), m)
		return err == cloud.ErrNotFound //nolint:errorlint // because a wrapped one is an error as well
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
		before := map[cloud.Key]int{}
		for _, m := range machines {
			w.eventually("the keys are sent", func() bool { return l.count(m) > 0 })
			before[m.Key] = l.count(m)
		}
		w.Cut()
		for _, m := range machines {
			w.eventually("the key is sent again", func() bool { return l.count(m) > before[m.Key] })
		}
	}
}

func closed(w world) {
	present := goleak.IgnoreCurrent()
	c, m := w.process(), w.machine("m")
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	changed := make(chan cloud.Key) // is never read: a watch must not block on it for ever
	go func() { ended <- c.Watch(ctx, changed) }()
	w.ensure(c, m)
	w.eventually("there is one session", func() bool { return w.Sessions() == 1 })
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
