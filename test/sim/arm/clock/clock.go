// Package clock is the time of the simulator: it stands still until a test moves it, and what is due on the way happens in order.
//
// A Clock has no lock of its own: whoever owns the world that it belongs to holds the lock of that world.
package clock

import (
	"container/heap"
	"time"
)

// Clock tells the time and keeps what is to happen later.
type Clock struct {
	now    time.Time
	alarms queue
	serial int
}

// New returns a clock that shows start.
func New(start time.Time) *Clock { return &Clock{now: start} }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.now }

// Alarm is something that is to happen.
type Alarm struct {
	due    time.Time
	serial int
	what   func()
}

// Stop makes sure that it does not happen. Stopping twice, or after it has happened, is fine.
func (a *Alarm) Stop() {
	if a != nil {
		a.what = nil
	}
}

// After has something happen when d has passed.
func (c *Clock) After(d time.Duration, what func()) *Alarm {
	c.serial++
	a := &Alarm{due: c.now.Add(max(d, 0)), serial: c.serial, what: what}
	heap.Push(&c.alarms, a)
	return a
}

// Advance moves the time. What is due happens at its own time, also if it is added on the way.
func (c *Clock) Advance(d time.Duration) {
	end := c.now.Add(d)
	for len(c.alarms) > 0 && !c.alarms[0].due.After(end) {
		a := heap.Pop(&c.alarms).(*Alarm)
		c.now = a.due
		if what := a.what; what != nil {
			a.what = nil
			what()
		}
	}
	c.now = end
}

// Next says how long it is to the next thing that happens, and false if nothing will.
func (c *Clock) Next() (time.Duration, bool) {
	for len(c.alarms) > 0 && c.alarms[0].what == nil {
		heap.Pop(&c.alarms)
	}
	if len(c.alarms) == 0 {
		return 0, false
	}
	return c.alarms[0].due.Sub(c.now), true
}

// queue is a heap of alarms: the earliest first, and of two at one time the one that was set first.
type queue []*Alarm

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].serial < q[j].serial
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is called by package heap only.
func (q *queue) Push(x any) { *q = append(*q, x.(*Alarm)) }

// Pop is called by package heap only.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
