package lab_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// try lives a cell to its end.
func (w *podWorld) try(t *testing.T, c *cell) outcome {
	c.image(t.TempDir(), w.Version)
	userData, err := w.userData(c)
	if err != nil {
		return outcome{sentence: "render: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	over := make(chan error, 1)
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("%s: %v", c.computer(), err)
		}
	}()
	go func() { over <- c.guest.Boot(ctx, guest.NewMemoryVM("uid-"+c.computer(), c.computer(), userData)) }()
	if why := w.join(ctx, c); why != "" {
		return outcome{sentence: why}
	}
	if c.condition == daemonLate {
		if r := w.settled(ctx, c, time.Time{}); r.falseReady || r.service {
			r.sentence = "not late at all: " + r.sentence
			return r
		}
		c.clock.Skip(lateness)
	}
	r := w.settled(ctx, c, time.Time{})
	if c.condition == rebooted {
		start := c.clock.Now()
		if err := c.guest.Restart(ctx); err != nil {
			return outcome{sentence: err.Error()}
		}
		r = w.settled(ctx, c, start)
	}
	return r
}

// join waits for the end of the bootstrap, and does what controllers do with the Node. It says why not.
func (w *podWorld) join(ctx context.Context, c *cell) (why string) {
	err := wait.Poll(ctx, func(ctx context.Context) error {
		report, err := c.reportOf()
		switch {
		case err != nil:
			return err
		case report.State == plan.StateFailed:
			return wait.Final(fmt.Errorf("%s: %s", report.Reason, report.Message))
		}
		node := w.node(ctx, c)
		if node == nil {
			return fmt.Errorf("the bootstrap is in %s %s; there is no Node", report.Phase.Name, report.Step)
		}
		if err := w.initialize(ctx, c, node); err != nil {
			return err
		}
		if report.State != plan.StateSucceeded {
			return fmt.Errorf("the bootstrap is in %s %s", report.Phase.Name, report.Step)
		}
		return nil
	})
	if err == nil {
		err = w.makePod(ctx, c)
	}
	if err != nil {
		return strings.TrimSpace(err.Error())
	}
	return ""
}

// settled waits until all is well, or until what is wrong has not changed for so long by the guest's clock that it is the end.
func (w *podWorld) settled(ctx context.Context, c *cell, start time.Time) outcome {
	const patience = 100 * time.Second
	var last outcome
	since := c.clock.Now()
	_ = wait.Poll(ctx, func(ctx context.Context) error { // the last look counts, also where the time is over
		now := w.look(ctx, c, start)
		if now != last {
			last, since = now, c.clock.Now()
		}
		if now.service || c.clock.Now().Sub(since) > patience {
			return nil
		}
		return errors.New("not yet")
	})
	last.falseReady = last.ready && !last.address
	return last
}
