package azure

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// separate is what this process remembers of the adapters that it made before their VM.
type separate struct {
	// made are those that may be there without a VM. firstNeeded is when the first was needed for one, and lastNeeded when one last
	// was.
	made                    []asked
	firstNeeded, lastNeeded time.Time
	// err is why Azure refused one, and notBefore when the next try is due.
	err       *cloud.Error
	notBefore time.Time
}

// asked is an adapter as this process asked for it.
type asked struct {
	id arm.ID
	// fast is whether it was asked for with accelerated networking; nil if an earlier process asked for it.
	fast *bool
	// accepted is when Azure last took the request, and repaired is when it was last repeated because the adapter had failed.
	accepted, repaired time.Time
}

func (s separate) contains(id arm.ID) bool {
	return slices.ContainsFunc(s.made, func(adapter asked) bool { return adapter.id.Key() == id.Key() })
}

func (s separate) adapter(id arm.ID) asked {
	for _, adapter := range s.made {
		if adapter.id.Key() == id.Key() {
			return adapter
		}
	}
	return asked{id: id}
}

// prepare makes the adapters of a VM, and returns its request. That is written before them, so that nothing is half made if the
// VM cannot be asked for.
func (p *pursuit) prepare(ctx context.Context, want request.Want) (write func(context.Context) (any, error), err error) {
	content, err := body(ctx, want)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (any, error) { return content, nil }, p.makeAdapters(ctx, want)
}

// How long Azure takes to make an adapter, for how long a longer wait is no error, and how soon an adapter is asked for again
// that failed twice, or that Azure accepted and does not show.
const (
	adapterTime    = 5 * time.Second
	adapterTimeout = 2 * time.Minute
	adapterAgain   = time.Minute
)

// makeAdapters makes the adapters of a VM that has none in its own request. Without an error all are there and ready. A request
// for an adapter replaces what is there, so a look comes before each.
func (p *pursuit) makeAdapters(ctx context.Context, want request.Want) error {
	if remembered := p.recall().separate; p.now().Before(remembered.notBefore) {
		return remembered.err
	}
	waits := false
	for i := range want.Placement.SubnetIDs {
		id := p.vm.Parent().Adapter(request.AdapterName(p.m, i))
		ready, err := p.makeAdapter(ctx, id, wanted{request.Adapter(want, i), request.Accelerated(want, i)})
		if err != nil {
			return err
		}
		waits = waits || !ready
	}
	if waits {
		return waitForAdapters()
	}
	return nil
}

func waitForAdapters() *cloud.Error {
	return cloud.LaterIn(adapterTime, "waiting until Azure has made the adapters of the VM")
}

// waitWhileUnready makes an error into a wait while Azure works on adapters that were just asked for, whichever part of Azure
// reports it.
func (p *pursuit) waitWhileUnready(answer calls.Answer) calls.Answer {
	start := p.recall().separate.firstNeeded
	if answer.Effect() != fault.Unready || start.IsZero() || p.now().Sub(start) >= adapterTimeout {
		return answer
	}
	verdict := *answer.Verdict
	verdict.Error = waitForAdapters()
	answer.Verdict = &verdict
	return answer
}

// wanted is what to ask for an adapter.
type wanted struct {
	body any
	fast bool
}

// makeAdapter looks for an adapter and asks for it if it is not there. One that failed is asked for again, as Azure wants it
// (CAPZ #5515), and so is one that was made for a size with other abilities.
func (p *pursuit) makeAdapter(ctx context.Context, id arm.ID, want wanted) (ready bool, err error) {
	found, answer := p.calls.GetResource(ctx, id)
	adapter, now := p.recall().separate.adapter(id), p.now()
	state, fast := found.Properties.ProvisioningState, found.Properties.EnableAcceleratedNetworking
	failed, made := strings.EqualFold(state, string(next.Failed)), strings.EqualFold(state, string(next.Succeeded))
	switch {
	case answer.Effect() == fault.Gone && now.Sub(adapter.accepted) < adapterAgain:
		return false, nil
	case answer.Effect() == fault.Gone:
		return false, p.askForAdapter(ctx, id, true, want)
	case answer.Verdict != nil:
		return false, answer.Err()
	case !isAdapterOf(found, p.m, p.vm):
		return false, p.holdAdapters(adapterTaken(id))
	case failed && now.Sub(adapter.repaired) < adapterAgain:
		return false, p.holdAdapters(adapterFailed(id, adapter.repaired.Add(adapterAgain).Sub(now)))
	case failed:
		p.noteAdapter(id, func(adapter *asked) { adapter.repaired = now })
	case !made, fast == want.fast, adapter.fast != nil && *adapter.fast == want.fast:
		p.noteAdapter(id, nil)
		return made, nil
	}
	return false, p.askForAdapter(ctx, id, false, want)
}

// askForAdapter notes the adapter before its request, whose answer may be lost.
func (p *pursuit) askForAdapter(ctx context.Context, id arm.ID, create bool, want wanted) error {
	p.noteAdapter(id, func(adapter *asked) { adapter.fast = &want.fast })
	answer := p.waitWhileUnready(p.calls.PutAdapter(ctx, id, create, want.body))
	if answer.Verdict == nil {
		p.noteAdapter(id, func(adapter *asked) { adapter.accepted = p.now() })
		p.keepAdapter(id, answer.Body)
	}
	if answer.Verdict == nil || answer.Lost {
		return answer.Err()
	}
	if create && answer.Effect() != fault.Unready {
		p.dropAdapter(id) // a refusal makes nothing; but one that Azure works on is there, for another process asked for it
	}
	if cloud.IsLater(answer.Err()) {
		return answer.Err()
	}
	if answer.Effect() == fault.Taken {
		return nil // somebody made it meanwhile: the next look shows who
	}
	return p.holdAdapters(answer.Verdict.Error)
}

// isAdapterOf reports whether an adapter has the marks of a machine, from no other management cluster, and no VM but its own.
func isAdapterOf(r calls.Resource, m cloud.Machine, vm arm.ID) bool {
	mark, user := arm.ReadMark(r.Tags), r.Properties.VirtualMachine.ID
	manager := mark.Cluster.Manager
	trusted := m.Own || manager == "" || manager == m.Cluster.Manager || slices.Contains(m.TookOver, manager)
	return trusted && arm.Belongs(m, mark) && (user == "" || arm.SameID(user, vm.String()))
}

// noteAdapter remembers an adapter that may be there, and what changes of it, if anything.
func (p *pursuit) noteAdapter(id arm.ID, change func(*asked)) {
	now := p.now()
	p.note(func(w *work) {
		adapter := w.separate.adapter(id)
		if change != nil {
			change(&adapter)
		}
		w.separate.lastNeeded = now
		if w.separate.firstNeeded.IsZero() {
			w.separate.firstNeeded = now
		}
		w.separate.made = append(w.separate.minus(id), adapter)
	})
}

// keepAdapter records Azure's own ID of an adapter that was asked for.
func (p *pursuit) keepAdapter(id arm.ID, body []byte) {
	var made calls.Resource
	if json.Unmarshal(body, &made) != nil {
		return
	}
	p.note(func(w *work) { w.record = new(belongings.Add(knownOf(p.m, *w), p.m, id, made.UniqueID())) })
}

// holdAdapters keeps the reason why an adapter cannot be made, until it is time to try again.
func (p *pursuit) holdAdapters(err *cloud.Error) error {
	notBefore := p.now().Add(err.After)
	p.note(func(w *work) { w.separate.err, w.separate.notBefore = err, notBefore })
	return err
}

// sweepRemnant removes what a deletion left, or an adapter that was made for a VM which never came.
func (p *pursuit) sweepRemnant(ctx context.Context, id arm.ID) error {
	if p.recall().separate.contains(id) {
		return p.removeAdapter(ctx, id)
	}
	return p.clear(ctx, p.scope, id)
}

// removeAdapter removes an adapter that this process asked for and no VM has. A look comes first: if the answer to the request
// was lost, a stranger may have been faster.
func (p *pursuit) removeAdapter(ctx context.Context, id arm.ID) error {
	found, answer := p.calls.GetResource(ctx, id)
	switch {
	case answer.Effect() == fault.Gone && p.now().Sub(p.recall().separate.lastNeeded) < adapterAgain:
		return nil // Azure may not show it yet
	case answer.Effect() == fault.Gone:
	case answer.Verdict != nil:
		return answer.Err()
	case isAdapterOf(found, p.m, p.vm):
		if err := p.removeRemnant(ctx, p.scope, id); err != nil {
			return err
		}
	}
	p.dropAdapter(id)
	return nil
}

// dropAdapter forgets an adapter that is not there, or that Azure removes, or that is a stranger's.
func (p *pursuit) dropAdapter(id arm.ID) {
	p.note(func(w *work) { w.separate.made = w.separate.minus(id) })
}

// minus are the adapters except one, in a new slice.
func (s separate) minus(id arm.ID) []asked {
	return slices.DeleteFunc(slices.Clone(s.made), func(adapter asked) bool { return adapter.id.Key() == id.Key() })
}

func adapterFailed(id arm.ID, pause time.Duration) *cloud.Error {
	err := cloud.Errorf(cloud.Transient, infrav1.CloudTaskFailedReason,
		"Azure failed to make the network interface %q twice: the controller tries again every minute; the activity log of the "+
			"resource group has the cause", id.Name())
	err.After = pause
	return err
}

// takenFor is how long the name of an adapter is believed to be taken.
const takenFor = 5 * time.Minute

func adapterTaken(id arm.ID) *cloud.Error {
	err := cloud.NameTaken("the resource group", "network interface", id.Name(), "remove it")
	err.After = takenFor
	return err
}
