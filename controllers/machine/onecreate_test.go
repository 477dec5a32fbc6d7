package machine

import (
	"testing"
	"testing/synctest"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestOneCreate is what a reader follows first: one machine, until its VM is asked for and is there. test/repo counts the lines
// that it enters.
func TestOneCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		release := s.cloud.Hold(fake.Create)
		s.look(t)
		release()
		_, m := s.look(t)
		expect.Same(t, "Ready", "True Running", short(m, infrav1.ReadyCondition))
	})
}
