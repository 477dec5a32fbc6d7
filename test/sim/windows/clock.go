package windows

import (
	"context"
	"sync"
	"time"
)

// Clock is the machine's time. All waiting in the machine goes through it.
type Clock interface {
	Now() time.Time
	// Sleep returns early, with ctx's error, when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// RealClock is the host's.
type RealClock struct{}

// Now is part of Clock.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep is part of Clock.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// WithTimeout is part of Clock.
func (RealClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// FastClock runs some times as fast as the host's: what waits for minutes in a machine is over in seconds.
type FastClock struct {
	start time.Time
	times int64

	mu    sync.Mutex
	ahead time.Duration
	moved chan struct{}
}

// NewFastClock starts now.
func NewFastClock(times int) *FastClock {
	return &FastClock{start: time.Now(), times: int64(times), moved: make(chan struct{})}
}

// Now is part of Clock.
func (c *FastClock) Now() time.Time {
	now, _ := c.look()
	return now
}

func (c *FastClock) look() (now time.Time, moved <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start.Add(c.ahead + time.Duration(time.Since(c.start).Nanoseconds()*c.times)), c.moved
}

// Skip moves the clock: those who sleep wake when their time has come. Time limits of what runs stay as they are.
func (c *FastClock) Skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	close(c.moved)
	c.moved = make(chan struct{})
}

// Sleep is part of Clock.
func (c *FastClock) Sleep(ctx context.Context, d time.Duration) error {
	end := c.Now().Add(d)
	for {
		now, moved := c.look()
		if !now.Before(end) {
			return ctx.Err()
		}
		timer := time.NewTimer(c.ofHost(end.Sub(now)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-moved:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// WithTimeout is part of Clock.
func (c *FastClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.ofHost(d))
}

func (c *FastClock) ofHost(d time.Duration) time.Duration {
	return max(1, time.Duration(d.Nanoseconds()/c.times))
}

// VirtualClock stands still but for Sleep. It serves one goroutine at a time.
type VirtualClock struct {
	mu     sync.Mutex
	now    time.Time
	limits map[*limit]bool
}

type limit struct {
	at     time.Time
	cancel context.CancelCauseFunc
}

// NewVirtualClock starts at the given time.
func NewVirtualClock(start time.Time) *VirtualClock {
	return &VirtualClock{now: start, limits: map[*limit]bool{}}
}

// Now is part of Clock.
func (c *VirtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep moves the clock by d, or to the first time limit before that, which then ends its context.
func (c *VirtualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.now.Add(d)
	var first *limit
	for limit := range c.limits {
		if limit.at.Before(end) && (first == nil || limit.at.Before(first.at)) {
			first = limit
		}
	}
	if first == nil {
		c.now = end
		return ctx.Err()
	}
	c.now = first.at
	first.cancel(context.DeadlineExceeded)
	return ctx.Err()
}

// WithTimeout is part of Clock.
func (c *VirtualClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limited, cancel := context.WithCancelCause(ctx)
	entry := &limit{at: c.now.Add(d), cancel: cancel}
	c.limits[entry] = true
	return limited, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.limits, entry)
		cancel(context.Canceled)
	}
}

// SetTime puts the date of the machine wrong by so much. Clock goes on as it was, as the ticks of a machine do.
func (m *Machine) SetTime(ahead time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead = ahead
}

// Time is the date that the machine believes, by which it takes certificates for valid.
func (m *Machine) Time() time.Time {
	return held(m, func() time.Time { return time.Now().Add(m.ahead) })
}
