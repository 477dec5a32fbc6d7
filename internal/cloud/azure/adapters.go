package azure

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// separate is what this process remembers of the adapters that it made before their VM.
type separate struct {
	// made are those that may be there without a VM, and at is when they were last needed for one.
	made []arm.ID
	at   time.Time
	// err is why Azure refused one, and notBefore when the next try is due.
	err       *cloud.Error
	notBefore time.Time
}

// left is an adapter that this process made and no VM has. Nobody else needs it, so it goes at once.
func (s separate) left() *next.Remnant {
	if len(s.made) == 0 {
		return nil
	}
	return &next.Remnant{ID: s.made[0].String()}
}

// prepare returns how the request for a VM is written. If adapters come first, it is written before them, so that nothing is half
// made if the VM cannot be asked for.
func (a *account) prepare(ctx context.Context, m cloud.Machine, at place, want request.Want) (
	write func(context.Context) (any, error), err error,
) {
	if !request.Separate(want) {
		return func(ctx context.Context) (any, error) { return body(ctx, want) }, nil
	}
	content, err := body(ctx, want)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (any, error) { return content, nil }, a.makeAdapters(ctx, m, at, want)
}

const adapterTime = 5 * time.Second // how long Azure takes to make one

// makeAdapters makes the adapters of a VM that has none in its own request. Without an error all are there and ready. A request
// for an adapter replaces what is there, so a look comes before each.
func (a *account) makeAdapters(ctx context.Context, m cloud.Machine, at place, want request.Want) error {
	now := a.now()
	if was := a.ledger.recall(m).separate; now.Before(was.notBefore) {
		return was.err
	}
	waits := false
	for i := range want.Placement.Subnets {
		id := at.vm.Parent().Adapter(request.AdapterName(m, i))
		ready, err := a.makeAdapter(ctx, m, at, id, request.Adapter(want, i))
		if err != nil {
			return err
		}
		waits = waits || !ready
	}
	if waits {
		return &cloud.Error{Kind: cloud.Later, Message: "waiting until Azure has made the adapters of the VM", After: adapterTime}
	}
	return nil
}

// makeAdapter looks for an adapter and asks for it if it is not there. One that failed is asked for again.
func (a *account) makeAdapter(ctx context.Context, m cloud.Machine, at place, id arm.ID, body any) (ready bool, err error) {
	found, answer := a.calls.getAdapter(ctx, id)
	switch {
	case answer.effect() == fault.Gone:
	case answer.verdict != nil:
		return false, answer.err()
	case !found.of(m, at.vm):
		return false, a.holdAdapters(m, adapterTaken(id))
	case strings.EqualFold(found.Properties.ProvisioningState, string(next.Succeeded)):
		a.noteAdapter(m, id)
		return true, nil
	case !strings.EqualFold(found.Properties.ProvisioningState, string(next.Failed)):
		a.noteAdapter(m, id)
		return false, nil
	}
	return false, a.askForAdapter(ctx, m, id, answer.verdict != nil, body)
}

// askForAdapter notes the adapter before its request, whose answer may be lost.
func (a *account) askForAdapter(ctx context.Context, m cloud.Machine, id arm.ID, create bool, body any) error {
	a.noteAdapter(m, id)
	answer := a.calls.putAdapter(ctx, id, create, body)
	if answer.verdict == nil || answer.lost {
		return answer.err()
	}
	if create {
		a.dropAdapter(m, id) // a refusal makes nothing
	}
	if _, later := asLater(answer.err()); later {
		return answer.err()
	}
	if answer.effect() == fault.Taken {
		return nil // somebody made it meanwhile: the next look says who
	}
	return a.holdAdapters(m, answer.verdict.Error)
}

// of says that an adapter has the marks of a machine, and no VM but its own.
func (r resource) of(m cloud.Machine, vm arm.ID) bool {
	mark, user := arm.ReadMark(r.Tags), r.Properties.VirtualMachine.ID
	return mark.Key == m.Key && mark.ProviderID == m.ProviderID && (user == "" || arm.Same(user, vm.String()))
}

// attach forgets that adapters were seen without a VM, which has them now.
func (s *scope) attach(adapters []arm.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range adapters {
		delete(s.remnants, id.Key())
	}
}

func (a *account) noteAdapter(m cloud.Machine, id arm.ID) {
	now := a.now()
	a.ledger.note(m, now, func(w *work) {
		w.separate.at = now
		if !slices.ContainsFunc(w.separate.made, func(other arm.ID) bool { return other.Key() == id.Key() }) {
			w.separate.made = append(slices.Clone(w.separate.made), id)
		}
	})
}

// holdAdapters tells why an adapter cannot be made, until it is time to try again.
func (a *account) holdAdapters(m cloud.Machine, err *cloud.Error) error {
	now := a.now()
	a.ledger.note(m, now, func(w *work) { w.separate.err, w.separate.notBefore = err, now.Add(err.After) })
	return err
}

// dropAdapter forgets an adapter that Azure removes.
func (a *account) dropAdapter(m cloud.Machine, id arm.ID) {
	a.ledger.note(m, a.now(), func(w *work) {
		w.separate.made = slices.DeleteFunc(slices.Clone(w.separate.made), func(one arm.ID) bool { return one.Key() == id.Key() })
	})
}

// takenFor is how long the name of an adapter is believed to be taken.
const takenFor = 5 * time.Minute

func adapterTaken(id arm.ID) *cloud.Error {
	err := cloud.Errorf(cloud.Invalid, infrav1.NameTakenReason,
		"the resource group already has a network interface named %q that does not belong to this machine: remove it, or delete the "+
			"Machine so that a new one gets another name", id.Name())
	err.After = takenFor
	return err
}

func (c *calls) getAdapter(ctx context.Context, id arm.ID) (one resource, a answer) {
	a = c.send(ctx, call{
		method: http.MethodGet, path: id.String(), version: networkVersion, class: limiter.ListNetwork, subscription: id.Subscription,
	})
	return one, c.read(a, &one)
}

// putAdapter asks for an adapter; a new one only if there is none of the name.
func (c *calls) putAdapter(ctx context.Context, id arm.ID, create bool, body any) answer {
	return c.send(ctx, call{
		method: http.MethodPut, path: id.String(), version: networkVersion, class: limiter.WriteNetwork, create: create,
		subscription: id.Subscription, body: func(context.Context) (any, error) { return body, nil },
	})
}
