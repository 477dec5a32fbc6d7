package accounts

import (
	"maps"
	"slices"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// mostWaiting machines of a namespace are woken when it has room; others come by themselves, a little later.
const mostWaiting = 1000

// room returns an error unless a namespace may open one more account.
func (r *Register) room(namespace string, forVM bool) error {
	count, limit := r.countOf(namespace), r.Limits.Allowed(namespace, tenants.Accounts)
	r.Notices.Counted(namespace, tenants.Accounts, min(count+1, limit), r.now())
	if count < limit && count+r.closing[namespace] < 2*limit {
		return nil
	}
	return r.makeRoom(namespace, limit, forVM)
}

// makeRoom has more accounts for who asks for a machine that may have a VM, and beyond that closes the one that was not used for
// the longest time. Each must have ended before there are too many of those that are being closed.
func (r *Register) makeRoom(namespace string, limit int, forVM bool) error {
	bound := limit
	if forVM {
		bound *= tenants.ForVMs
	}
	switch {
	case r.countOf(namespace) >= bound && (!forVM || !r.endTurn(namespace)):
		return tooMany(namespace, bound, forVM)
	case r.countOf(namespace)+r.closing[namespace] >= bound+limit:
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
			"%d accounts that the machines of namespace %s used before are still being closed, because their servers do not answer; the "+
				"controller tries again", r.closing[namespace], namespace)
	}
	return nil
}

func tooMany(namespace string, bound int, forVM bool) error {
	if forVM {
		return cloud.Errorf(cloud.Exhausted, infrav1.TooManyAccountsReason,
			"the machines of namespace %s that may have a VM use %d cloud accounts, which is as many as there may be at a time; this one "+
				"waits for its turn; the operator may allow more by the manager's flag --tenants", namespace, bound)
	}
	return cloud.Errorf(cloud.Exhausted, infrav1.TooManyAccountsReason,
		"the machines of namespace %s already use %d cloud accounts, the limit of a namespace; use fewer Secrets in identityRef of "+
			"its machines, or delete machines: an account that no machine uses is closed after %d minutes; the operator may allow "+
			"more by the manager's flag --tenants",
		namespace, bound, int(KeepUnused.Minutes()))
}

// endTurn closes the account of a namespace that was not used for the longest time, if its turn is over. One that another
// namespace uses, too, stays.
func (r *Register) endTurn(namespace string) bool {
	var oldest *account
	for _, a := range r.open {
		if a.isOnlyOf(namespace) && (oldest == nil || a.used().Before(oldest.used())) {
			oldest = a
		}
	}
	if oldest == nil || r.now().Sub(oldest.used()) < tenants.Turn {
		return false
	}
	for holder := range oldest.holders {
		r.release(holder)
	}
	return true
}

// Await has a machine woken, by Changed, when its namespace may open an account again.
func (r *Register) Await(machine cloud.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[string]map[cloud.Key]bool{}
	}
	if r.waiting[machine.Namespace] == nil {
		r.waiting[machine.Namespace] = map[cloud.Key]bool{}
	}
	if waiting := r.waiting[machine.Namespace]; len(waiting) < mostWaiting {
		waiting[machine] = true
	}
}

// noteRoom wakes the machines of a namespace that wait, if it may open an account again.
func (r *Register) noteRoom(namespace string) {
	waiting := r.waiting[namespace]
	if len(waiting) == 0 || r.countOf(namespace) >= r.Limits.Allowed(namespace, tenants.Accounts) {
		return
	}
	delete(r.waiting, namespace)
	r.Changed(slices.Collect(maps.Keys(waiting))...)
}

// countOf is how many open accounts count for a namespace.
func (r *Register) countOf(namespace string) int {
	n := 0
	for _, a := range r.open {
		if a.namespace() == namespace {
			n++
		}
	}
	return n
}
