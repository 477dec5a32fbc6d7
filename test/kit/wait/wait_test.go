package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPollEndsWithTheLastAnswer(t *testing.T) {
	var asked int
	count := func(until int, with error) func(context.Context) error {
		asked = 0
		return func(context.Context) error {
			if asked++; asked < until {
				return errors.New("not yet")
			}
			return with
		}
	}
	if err := Poll(t.Context(), count(4, nil)); err != nil || asked != 4 {
		t.Errorf("Poll = %v after %d questions, want nil after 4", err, asked)
	}
	broken := errors.New("broken")
	if err := Poll(t.Context(), count(3, Final(broken))); !errors.Is(err, broken) || asked != 3 {
		t.Errorf("Poll = %v after %d questions, want what is final after 3", err, asked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := Poll(ctx, func(ctx context.Context) error {
		if asked++; asked > 5 {
			<-ctx.Done()
			return ctx.Err()
		}
		return errors.New("refused")
	})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Poll = %v, want the deadline and the answer before the one that was cut short", err)
	}
}

func TestWithin(t *testing.T) {
	for name, test := range map[string]struct {
		crowding float64
		want     time.Duration
	}{
		"no figure":          {0, time.Minute},
		"a free machine":     {0.3, time.Minute},
		"three at a time":    {3, 3 * time.Minute},
		"a hopeless machine": {90, slowest * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := within(t.Context(), time.Minute, func() float64 { return test.crowding })
				defer cancel()
				<-ctx.Done()
				if took := time.Since(began); took.Round(time.Second) != test.want {
					t.Errorf("the context ends after %v, want %v", took, test.want)
				}
				if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
					t.Errorf("it ends with %v", cause)
				}
			})
		})
	}
}
