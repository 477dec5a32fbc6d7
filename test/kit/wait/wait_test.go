package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
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
