package azure

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// account is a principal in a cloud of Azure.
type account struct {
	calls    *calls.Client
	lists    lists.Lists
	ledger   ledger
	blocks   capacityBlocks
	sizes    sizeCaches
	watching atomic.Bool
	// refusesInline is true once the cloud wants adapters to be there before their VM.
	refusesInline atomic.Bool
	now           func() time.Time
	ticks         func() (<-chan time.Time, func())
	opened        time.Time // requests of a process before us were sent until then
	manager       types.UID // of the management cluster
	limits        tenants.Limits
	notices       *tenants.Notices
}

var (
	_ cloud.Cloud    = (*account)(nil)
	_ cloud.Tenanted = (*account)(nil)
	_ cloud.Console  = (*account)(nil)
)

// Observe reports the VM as the lists have it.
func (a *account) Observe(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	return a.pursue(ctx, m, next.Report)
}

// Ensure asks for the VM once. User data cannot be taken away in Azure, so a settled machine is only reported.
func (a *account) Ensure(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	return a.pursue(ctx, m, next.Running)
}

// Delete asks for the VM's removal once, and then makes sure that nothing is left and none can appear.
func (a *account) Delete(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	m = a.atServer(m)
	if left, gone := a.isGone(m); gone {
		return cloud.VM{Left: left}, cloud.ErrNotFound
	}
	a.ledger.note(m, a.now(), func(w *work) { w.going = true })
	vm, err := a.pursue(ctx, m, next.Gone)
	if errors.Is(err, cloud.ErrNotFound) {
		w := a.ledger.recall(m)
		vm.Orphans, vm.Left = a.lists.Scope(homeOf(m).Parent()).Orphans(m, knownOf(m, w)), leftOf(m, w)
		a.ledger.bury(m, vm.Left, a.now())
	}
	return vm, err
}

// isGone reports whether it was proven lately that nothing is left of a machine. The proof takes calls and time, and the caller
// of Delete may come back for other reasons, such as the machine's Secret. No list has shown anything since. Its orphans were
// reported the first time. But a VM that may be left is reported each time: nobody must log that a machine's VM was deleted if it
// may be left.
func (a *account) isGone(m cloud.Machine) (left string, gone bool) {
	w := a.ledger.recall(m)
	return w.left, !w.gone.IsZero() && a.now().Sub(w.gone) < lists.OldEnough && !a.lists.HasVM(m)
}

// Server is the cloud and the tenant, once Azure Resource Manager has let us in.
func (a *account) Server(ctx context.Context, asker cloud.Key) (string, error) {
	if a.calls.Health().Heard.IsZero() {
		if answer := a.calls.Welcome(ctx, asker); answer.Verdict != nil {
			return "", answer.Err()
		}
	}
	return a.server(), nil
}

// server names the cloud and the tenant. A cloud whose addresses a Secret chose never has the server of a cloud with a name: what
// is learned there proves nothing here.
func (a *account) server() string {
	server := a.calls.Endpoint + "/" + a.calls.Principal.TenantID
	if a.calls.Principal.Cloud.Chosen() {
		return "chosen " + server
	}
	return server
}

// serves reports whether the machine's VM is at this server, as far as that is known. It proves nothing.
func (a *account) serves(m cloud.Machine) bool { return m.Server == "" || m.Server == a.server() }

// ShowTenant is part of cloud.Tenanted.
func (a *account) ShowTenant(status *infrav1.WindowsMachineStatus) {
	if tenant := a.calls.Principal.TenantID; status.Azure != nil && login.IsID(tenant) {
		status.Azure.TenantID = tenant
	}
}

// Health is that of the calls and the watch.
func (a *account) Health() cloud.Health {
	h := a.calls.Health()
	h.Synced = a.synced()
	return h
}

// Close ends all connections for good.
func (a *account) Close(context.Context) error {
	a.calls.Close()
	a.lists.Close()
	a.sizes.close()
	return nil
}

// maxSteps is more than any way through the decisions has.
const maxSteps = 8

// pursue gathers what is known, decides and does, until there is an answer.
func (a *account) pursue(ctx context.Context, m cloud.Machine, want next.Goal) (cloud.VM, error) {
	if !a.serves(m) {
		return cloud.VM{}, cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
			"the VM is in another tenant or cloud than these credentials: restore those with which it was made")
	}
	id, err := placement.Home(m.ProviderID)
	if err != nil {
		return cloud.VM{}, err
	}
	p, err := a.begin(m, id, want)
	if err != nil {
		return cloud.VM{}, err
	}
	if !a.watching.Load() && !p.scope.Unlisted() {
		a.poll(ctx)
	}
	for range maxSteps {
		survey := p.gather()
		step := next.Decide(p.m, survey, want)
		switch {
		case step.Act != "":
		case step.Err != nil:
			return p.withNews(step.VM), step.Err
		default:
			return p.withRecord(step.VM), nil
		}
		ended, err := p.perform(ctx, step)
		if err != nil || ended {
			return p.withRecord(step.VM), err
		}
	}
	return p.withRecord(cloud.VM{State: cloud.Creating, Detail: "waiting for Azure"}), nil
}

// perform carries out one step. It has ended when the caller gets the answer of the step; otherwise the account decides again.
func (p *pursuit) perform(ctx context.Context, step next.Step) (ended bool, err error) {
	switch step.Act {
	case next.List:
		return false, p.firstList(ctx, p.scope)
	case next.Sizes:
		return false, p.listSizes(ctx, p.cache)
	case next.Look:
		return false, p.look(ctx)
	case next.View:
		return false, p.view(ctx)
	case next.Create:
		return p.create(ctx, step.Choice)
	case next.Seek:
		return false, p.seek(ctx)
	default:
		return p.clean(ctx, step)
	}
}

// clean carries out a step that removes something, or makes sure that it is gone.
func (p *pursuit) clean(ctx context.Context, step next.Step) (ended bool, err error) {
	id, _ := arm.Parse(step.ID)
	switch step.Act {
	case next.Remove:
		return true, p.remove(ctx)
	case next.Retreat:
		return true, p.retreat(ctx)
	case next.Forget:
		p.note(func(w *work) { w.forget(p.m, knownOf(p.m, *w), nil) })
		return true, nil
	case next.Search:
		p.scope.SweepSoon()
		return true, nil
	case next.Check:
		return false, p.checkRemnant(ctx, p.scope, id)
	default: // next.Sweep
		return true, p.sweepRemnant(ctx, id)
	}
}

// create sends the one request. A look comes first if the cloud ignores its precondition.
func (p *pursuit) create(ctx context.Context, choice request.Choice) (ended bool, err error) {
	resolved, err := placementOf(p.m)
	if err != nil {
		return true, err
	}
	if p.calls.ComputeVersion() < calls.Preconditioned {
		if err := p.look(ctx); err != nil || p.gather().Seen != nil {
			return false, err
		}
	}
	if blocked := p.blocks.probe(p.region(), choice, p.m.ID(), p.now()); blocked != nil {
		return true, blocked
	}
	want := request.Want{
		Machine: p.m, Placement: resolved, Choice: choice, Accelerated: p.size(choice.Size).Accelerated,
		Separate: p.refusesInline.Load(), Untagged: p.calls.ComputeVersion() < calls.Tagged,
	}
	write := func(ctx context.Context) (any, error) { return body(ctx, want) }
	if request.Separate(want) {
		if write, err = p.prepare(ctx, want); err != nil {
			return true, err
		}
	}
	sent := p.now()
	answer := p.calls.CreateVM(ctx, p.vm, write)
	switch {
	case cloud.IsLater(answer.Err()), answer.Unsent != nil:
		return true, answer.Err()
	case answer.Verdict != nil:
		return p.refused(answer, choice, sent)
	}
	made := p.recall().separate.made
	p.note(func(w *work) { w.accepted(p.m, choice, sent, vmIDOf(answer.Body)) })
	for _, adapter := range made {
		p.scope.Attach(adapter.id)
	}
	return true, nil
}

// refused notes a request that Azure did not accept, as far as we know, and decides whether another may follow.
func (p *pursuit) refused(answer calls.Answer, choice request.Choice, sent time.Time) (ended bool, err error) {
	answer = p.waitWhileUnready(answer)
	put := putOf(answer, sent)
	p.note(func(w *work) { w.refused(p.m, choice, put) })
	p.blocks.block(p.region(), choice, *answer.Verdict, sent)
	switch {
	case answer.Effect() == fault.Inline:
		p.refusesInline.Store(true)
	case answer.Effect() == fault.Taken, answer.Verdict.AllowsFallback():
		return false, nil
	}
	return true, answer.Err()
}

// putOf is what is known of a request that Azure did not accept.
func putOf(a calls.Answer, sent time.Time) next.Put {
	if a.Lost {
		return next.Put{Sent: sent, Answer: next.Lost}
	}
	put := next.Put{
		Sent: sent, Answer: next.Refused, Err: a.Verdict.Error, NotBefore: sent.Add(a.Verdict.Error.After),
		Took: a.Effect() == fault.Taken,
	}
	if a.Verdict.AllowsFallback() {
		put.NotBefore = sent // nothing was made, so the next size or zone need not wait; this one is closed for all
	}
	return put
}

// body is the VM as it is asked for. The user data are read now and at no other time.
func body(ctx context.Context, want request.Want) (any, error) {
	data, err := want.Machine.UserData(ctx)
	if err != nil {
		return nil, err
	}
	want.UserData = data
	if err := request.Check(want); err != nil {
		return nil, err
	}
	want.Password, err = request.Password(rand.Reader)
	return request.VM(want), err
}

// vmIDOf reads Azure's own ID of a VM from the answer to the request for it.
func vmIDOf(body []byte) string {
	var made calls.VM
	if json.Unmarshal(body, &made) != nil || made.Properties == nil {
		return ""
	}
	return arm.UUID(made.Properties.VMID)
}

// retreat removes a VM that has no room, so that another one may follow.
func (p *pursuit) retreat(ctx context.Context) error {
	r := p.scope.Latest(p.m.Name, p.recall().look)
	if err := p.remove(ctx); err != nil || r == nil {
		return err
	}
	p.note(func(w *work) {
		if w.Delete.Accepted {
			w.forget(p.m, knownOf(p.m, *w), r.Adapters)
		}
	})
	return nil
}

// remove sends the one deletion. Only a 202 is an acceptance: a front end that does not know the VM yet answers 204.
func (p *pursuit) remove(ctx context.Context) error {
	sent := p.now()
	answer := p.calls.DeleteVM(ctx, p.vm)
	if cloud.IsLater(answer.Err()) {
		return answer.Err()
	}
	del := next.Delete{Sent: sent, Accepted: answer.Status == http.StatusAccepted}
	if answer.Verdict != nil && answer.Effect() != fault.Gone && answer.Effect() != fault.GroupGone {
		del.Err = answer.Verdict.Error
	}
	p.note(func(w *work) {
		if w.Delete = del; del.Accepted {
			w.accept(p.m)
		}
	})
	if del.Err != nil {
		return del.Err
	}
	return nil
}
