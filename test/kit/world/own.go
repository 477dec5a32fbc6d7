package world

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Own is a world of one test. It ends with the test, and what is in it then goes without being removed.
func Own(t *testing.T) *World {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	ctrl.SetLogger(logr.Discard())
	w := expect.Got(startIn(t.Context(), t.TempDir(), newest))(t)
	w.ends = true
	t.Cleanup(func() { expect.Fine(t, errors.Join(w.refused(), w.stop())) })
	return w
}
