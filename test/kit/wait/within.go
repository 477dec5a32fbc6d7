package wait

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// slices is how many parts of a bound are compared with the machine's load.
	slices = 50
	// slowest bounds how much longer a hang may take on a busy machine.
	slowest = 8
)

// Within returns a context that ends after a time, as a machine without other work counts it: where three times as many threads
// as processors want to run, a second counts a third. So what bounds a hang does not end a test that is slow because others work.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return within(ctx, limit, crowding)
}

func within(ctx context.Context, limit time.Duration, crowding func() float64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for range slices {
			part := time.Duration(float64(limit/slices) * min(max(crowding(), 1), slowest))
			select {
			case <-ctx.Done():
				return
			case <-time.After(part):
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(nil) }
}

// crowding is how many threads want to run for each processor, by the average of the last minute; 0 where the system has no such
// figure at Linux's place.
func crowding() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	load, _, _ := strings.Cut(string(text), " ")
	threads, err := strconv.ParseFloat(load, 64)
	if err != nil {
		return 0
	}
	return threads / float64(runtime.NumCPU())
}
