package workload

import (
	"errors"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPanic: what looks at a cluster may panic. That ends the look with an error, and not the process; an error stays as it is.
func TestPanic(t *testing.T) {
	expect.Says(t, "error", Guard(t.Context(), func() error { panic("a Node") }), "panic: a Node")
	away := errors.New("away")
	expect.Same(t, "the same error", true, errors.Is(Guard(t.Context(), func() error { return away }), away))
	expect.OK(t, Guard(t.Context(), func() error { return nil }))
}
