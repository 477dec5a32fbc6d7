package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lockInterval is how often a held lock is tried again.
const lockInterval = 200 * time.Millisecond

// Lock waits until no other process holds the file. The kernel gives the lock back when its holder dies, so that a killed
// build blocks no other process.
func Lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	release := func() { _ = file.Close() }
	first := true
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return release, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			release()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first && progress != nil {
			fmt.Fprintln(progress, "waiting: another process is building the same programs")
		}
		first = false
		select {
		case <-ctx.Done():
			release()
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(lockInterval):
		}
	}
}
