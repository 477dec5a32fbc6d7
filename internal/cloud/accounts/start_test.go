package accounts

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestStart: a register that runs logs within a second that an account is broken, and within a minute closes an account that was
// not asked for in half an hour.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		ctx, end := context.WithCancel(logr.NewContext(t.Context(), log))
		world, a := &fake.World{}, &ailing{}
		r := &Register{Changed: func(...cloud.Key) {}}
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		synctest.Wait()
		expect.Got(r.Get(ailingProvider{fake.Provider{World: world}, a}, key("ns", "vcenter"), password("secret"), false))(t)
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		a.breaks(true)
		pass(healthEvery)
		if len(lines) != 1 || !strings.Contains(lines[0], "does not answer") {
			t.Errorf("lines = %q", lines)
		}
		pass(KeepUnused - healthEvery - 1)
		expect.Same(t, "sessions in use", 1, world.Sessions())
		pass(sweepEvery + 1)
		expect.Same(t, "sessions that are not used", 0, world.Sessions())
		end()
		expect.OK(t, <-ended)
	})
}

// ending is a cloud whose watch ends at once, three times, and then with the account.
type ending struct {
	*ailing
	times atomic.Int64
}

// Watch is part of cloud.Cloud.
func (e *ending) Watch(ctx context.Context, _ func(...cloud.Key)) error {
	if e.times.Add(1) > 3 {
		<-ctx.Done()
	}
	return errRefusing
}

type endingProvider struct {
	ailingProvider
	ending *ending
}

// Connect is part of cloud.Provider.
func (p endingProvider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	_, err := p.ailingProvider.Connect(namespace, credentials)
	return p.ending, err
}

// TestWatchAgain: a watch that ended is started again after 1, 2 and 4 seconds. The log has a line about it, unless
// the account is broken, about which it has one already.
func TestWatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		ctx, end := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, args string) {
			if strings.Contains(args, "starting it again") {
				lines++
			}
		}, funcr.Options{})))
		e := &ending{ailing: &ailing{}}
		r := &Register{Changed: func(...cloud.Key) {}}
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		synctest.Wait()
		p := endingProvider{ailingProvider{fake.Provider{World: &fake.World{}}, e.ailing}, e}
		expect.Got(r.Get(p, key("ns", "vcenter"), password("secret"), false))(t)
		for _, step := range []struct {
			after        time.Duration
			broken       bool
			times, lines int
		}{
			{0, false, 1, 1},
			{time.Second - 1, true, 1, 1},
			{1, true, 2, 1},
			{2*time.Second - 1, false, 2, 1},
			{1, false, 3, 2},
			{4 * time.Second, false, 4, 2},
		} {
			<-time.After(step.after)
			synctest.Wait()
			expect.Same(t, "watches", step.times, int(e.times.Load()))
			expect.Same(t, "lines", step.lines, lines)
			e.breaks(step.broken)
		}
		end()
		expect.OK(t, <-ended)
		expect.Same(t, "lines at the end", 2, lines)
	})
}
