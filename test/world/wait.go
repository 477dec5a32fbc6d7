package world

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Patience is how long a test waits for what should take a second, on a machine that is busy with other tests.
	Patience  = 90 * time.Second
	frequency = 20 * time.Millisecond
)

// Eventually waits until ask is content, and ends the test with what was missing when it is not in time.
func Eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	if err := Poll(t.Context(), Patience, ask); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// Poll asks until the answer is nil. Its error says what was missing in the end.
func Poll(ctx context.Context, patience time.Duration, ask func(context.Context) error) error {
	missing := errors.New("never asked")
	err := wait.PollUntilContextTimeout(ctx, frequency, patience, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if ctx.Err() == nil {
			missing = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, missing)
	}
	return nil
}
