package accounts

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestStart: a register that runs tells within a second that an account is broken, and within a minute closes an account that no
// one has asked for in half an hour.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		ctx, end := context.WithCancel(logr.NewContext(t.Context(), log))
		world, a := &fake.World{}, &ailing{}
		r := &Register{Changed: make(chan cloud.Key, 1)}
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		synctest.Wait()
		expect.Got(r.Get(ailingProvider{fake.Provider{World: world}, a}, key("ns", "vcenter"), password("secret")))(t)
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		a.breaks(true)
		pass(tellEvery)
		if len(lines) != 1 || !strings.Contains(lines[0], "does not answer") {
			t.Errorf("lines = %q", lines)
		}
		pass(KeepUnused - tellEvery - 1)
		expect.Same(t, "sessions in use", 1, world.Sessions())
		pass(sweepEvery + 1)
		expect.Same(t, "sessions that are not used", 0, world.Sessions())
		end()
		expect.OK(t, <-ended)
	})
}
