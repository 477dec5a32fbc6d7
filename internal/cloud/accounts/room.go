package accounts

import (
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// room returns an error unless a namespace may open one more account.
func (r *Register) room(namespace string, forVM bool) error {
	count, limit := r.countOf(namespace), r.Limits.Allowed(namespace, tenants.Accounts)
	r.Notices.Counted(namespace, tenants.Accounts, min(count+1, limit), r.Now())
	if count < limit && count+r.closing[namespace] < 2*limit {
		return nil
	}
	return r.makeRoom(namespace, limit, forVM)
}

// makeRoom has more accounts for machines that may have a VM, and beyond that closes the one that was not used for the longest
// time. Each must have ended before there are too many of those that are being closed.
func (r *Register) makeRoom(namespace string, limit int, forVM bool) error {
	bound := r.Limits.Bound(namespace, tenants.Accounts, forVM)
	if r.countOf(namespace) >= bound {
		oldest, idle := r.oldest(namespace)
		if !forVM || idle < tenants.Turn {
			return tooMany(namespace, bound, forVM)
		}
		for holder := range oldest.holders {
			r.release(holder)
		}
	}
	if r.countOf(namespace)+r.closing[namespace] >= bound+limit {
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

// oldest is the account of a namespace that was not used for the longest time, and for how long it was not. One that another
// namespace uses, too, is left out.
func (r *Register) oldest(namespace string) (oldest *account, idle time.Duration) {
	instant := r.Now()
	for _, a := range r.open {
		if unused := instant.Sub(a.used()); a.isOnlyOf(namespace) && (oldest == nil || unused > idle) {
			oldest, idle = a, unused
		}
	}
	return oldest, idle
}

// Await has a machine woken, by Changed, when its namespace may open an account again.
func (r *Register) Await(machine cloud.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Add(machine)
}

// noteRoom wakes the machines of a namespace that wait, if it may open an account again.
func (r *Register) noteRoom(namespace string) {
	if r.waiting.Waits(namespace) && r.countOf(namespace) < r.Limits.Allowed(namespace, tenants.Accounts) {
		r.Changed(r.waiting.Take(namespace)...)
	}
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
