package session

import (
	"context"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

func TestCallsAreCounted(t *testing.T) {
	v := vcenter.New(t)
	before := scrape.Now(t)
	s := open(t, authorized(v))
	expect.OK(t, ask(t, s))
	expect.OK(t, ask(t, s))
	expect.OK(t, s.Close(t.Context()))
	expect.Same(t, "calls of a session", map[string]float64{
		"RetrieveServiceContent ok": 1, "Login ok": 1, "CurrentTime ok": 2, "Logout ok": 1,
	}, scrape.Calls(t, before, "vsphere"))

	before = scrape.Now(t)
	if ask(t, open(t, with(authorized(v), "password", "wrong"))) == nil {
		t.Error("a wrong password is accepted")
	}
	expect.Same(t, "calls with a wrong password", map[string]float64{"RetrieveServiceContent ok": 1, "Login denied": 1},
		scrape.Calls(t, before, "vsphere"))

	before = scrape.Now(t)
	if ask(t, open(t, with(v.Credentials(), "thumbprint", strings.Repeat("00", 32)))) == nil {
		t.Error("another certificate is accepted")
	}
	expect.Same(t, "calls with another certificate", map[string]float64{"RetrieveServiceContent denied": 1},
		scrape.Calls(t, before, "vsphere"))
}

// TestCanceledCall: a call that we end ourselves is no fault of the vCenter.
func TestCanceledCall(t *testing.T) {
	v := vcenter.New(t)
	s := open(t, authorized(v))
	expect.OK(t, ask(t, s))
	before := scrape.Now(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Do(ctx, s, func(ctx context.Context, c *vim25.Client) (any, error) {
		cancel()
		return methods.GetCurrentTime(ctx, c)
	})
	if err == nil {
		t.Error("a call that was canceled has an answer")
	}
	expect.Same(t, "calls", map[string]float64{"CurrentTime canceled": 1}, scrape.Calls(t, before, "vsphere"))
}

// TestMethodsAreOurs: no server makes a label.
func TestMethodsAreOurs(t *testing.T) {
	for _, c := range []struct {
		request soap.HasFault
		want    string
	}{
		{&methods.CloneVM_TaskBody{}, "CloneVM_Task"},
		{&methods.FindByUuidBody{Req: &types.FindByUuid{Uuid: "Login"}}, "FindByUuid"},
	} {
		expect.Same(t, "method", c.want, methodOf(c.request))
	}
}
