package accounts

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFigures: the limits and times that documents promise, or that others were chosen for.
func TestFigures(t *testing.T) {
	s := time.Second
	expect.Same(t, "accounts of a namespace", 16, defaultLimit)
	expect.Same(t, "times of accounts", []time.Duration{1800 * s, 60 * s, s, 60 * s, 60 * s},
		[]time.Duration{KeepUnused, sweepEvery, healthEvery, quiet, steady})
}
