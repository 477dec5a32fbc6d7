package vcenter

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ForgetEvents removes the events so far, as vCenter does after some time: its setting event.maxAge is 30 days by default.
func (v *VCenter) ForgetEvents() {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.gate.events = time.Now()
}

// forgetfulEvents is the simulator's manager of events, which keeps the last 1,000 for ever.
type forgetfulEvents struct {
	*simulator.EventManager
	gate *gate
}

// giveEventsAnEnd puts the manager into a session. A session prefers what is in its own registry, even to a handler that
// VCenter.call returns.
func (v *VCenter) giveEventsAnEnd(ctx *simulator.Context, method *simulator.Method) {
	if events, ok := ctx.Map.Get(method.This).(*simulator.EventManager); ok && ctx.Session.Registry.Get(method.This) == nil {
		ctx.Session.Registry.Put(&forgetfulEvents{events, &v.gate})
	}
}

// QueryEvents is called by the simulator.
func (f *forgetfulEvents) QueryEvents(ctx *simulator.Context, req *types.QueryEvents) soap.HasFault {
	f.gate.mu.Lock()
	since := f.gate.events
	f.gate.mu.Unlock()
	answer := f.EventManager.QueryEvents(ctx, req)
	if body, ok := answer.(*methods.QueryEventsBody); ok && body.Res != nil {
		body.Res.Returnval = slices.DeleteFunc(body.Res.Returnval, func(e types.BaseEvent) bool {
			return e.GetEvent().CreatedTime.Before(since)
		})
	}
	return answer
}
