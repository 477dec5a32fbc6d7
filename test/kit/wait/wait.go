// Package wait is how tests wait for what happens by itself: they ask again until the answer is nil, and fail with the last
// answer. Nothing here sleeps longer than it must.
package wait

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Patience is how long a test waits for what should take a second; Within has it count the less the busier the machine is.
const Patience = 4 * time.Minute

// The pause between two questions begins short, for what a simulator does, and gets longer, for what a cluster does. A question
// that took long gets a longer one: those who wait would take the processors from what they wait for.
const (
	shortest = time.Millisecond
	longest  = 32 * time.Millisecond
	patient  = 4 // times as long as the question took
	atMost   = time.Second / 2
)

// Eventually waits until ask returns nil. It ends the test with the last error of ask when that takes too long.
func Eventually(t testing.TB, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := Within(t.Context(), Patience)
	defer cancel()
	if err := Poll(ctx, ask); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// Until waits until what is seen is good, and ends the test with what was seen last when that takes too long.
func Until(t testing.TB, what string, look func() (seen any, good bool)) {
	t.Helper()
	Eventually(t, what, func(context.Context) error {
		if seen, good := look(); !good {
			return fmt.Errorf("what is seen is %+v", seen)
		}
		return nil
	})
}

// Poll asks until the answer is nil or Final. When ctx ends first, its error has the last answer.
func Poll(ctx context.Context, ask func(context.Context) error) error {
	var missing error
	for pause := shortest; ; pause = min(2*pause, longest) {
		begin := time.Now()
		err := ask(ctx)
		if _, ended := errors.AsType[final](err); err == nil || ended {
			return err
		}
		// An answer that the end of ctx cut short says less than the one before.
		if ctx.Err() == nil || missing == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(max(pause, min(patient*time.Since(begin), atMost))):
		}
	}
}

type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Final is an error that waiting will not mend.
func Final(err error) error { return final{err} }
