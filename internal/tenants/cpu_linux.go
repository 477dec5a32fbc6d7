package tenants

import (
	"runtime"
	"syscall"
	"time"
)

// WorkOf runs a function and returns the processor's time that its own goroutine took. What it waits for costs nothing.
func WorkOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadTime()
	f()
	return threadTime() - begin
}

// threadTime is what the thread has taken so far. The call fails for a wrong first argument alone.
func threadTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
