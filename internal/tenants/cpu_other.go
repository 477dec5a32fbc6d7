//go:build !linux

package tenants

import "time"

// WorkOf runs a function and returns how long that took: managers run on Linux, and elsewhere a person tries one out.
func WorkOf(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
