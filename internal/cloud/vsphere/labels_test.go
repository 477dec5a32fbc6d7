package vsphere

import (
	"context"
	"errors"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
)

// TestEveryCallHasAName: the metrics have the methods that a life needs.
func TestEveryCallHasAName(t *testing.T) {
	v := newStage(t)
	a := v.account()
	before := scrape.Now(t)
	t.Run("life", func(t *testing.T) { // the watch ends with it
		keys := watched(t, a)
		m := v.machine("m")
		driven(t, keys, m, func() bool { return expect.Got(a.Ensure(t.Context(), m))(t).State == cloud.Running })
		settled := m
		settled.Asked, settled.Settled = cloud.Existed, true
		driven(t, keys, m, func() bool { return !expect.Got(a.Ensure(t.Context(), settled))(t).UserData })
		driven(t, keys, m, func() bool { return errors.Is(expect.ErrorOf(a.Delete(t.Context(), m)), cloud.ErrNotFound) })
	})
	expect.OK(t, a.Close(context.WithoutCancel(t.Context())))

	calls := scrape.Calls(t, before, "vsphere")
	for _, method := range []string{
		"Login", "CreateFilter", "CloneVM_Task", "PowerOffVM_Task", "ReconfigVM_Task", "Destroy_Task", "Logout",
	} {
		if calls[method+" ok"] == 0 {
			t.Errorf("%s was not counted", method)
		}
	}
}
