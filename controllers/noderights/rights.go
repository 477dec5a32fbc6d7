// Package noderights gives the nodes of a workload cluster the rights of kube-proxy and flanneld, which run on them as Windows
// services with their kubelet's login. roles.yaml has the rights. A reader may rely on this:
//
//   - A role is granted while a WindowsBootstrapConfig of the Cluster has its program run as a service, or a Node has the label
//     that the join of such a node writes. It is revoked when neither has been there for revokeAfter. Configs and Nodes are read
//     from the API servers themselves for that, each time: a process that starts anew finds what another one left.
//   - What has our names and is not ours, by the label in roles.yaml, is neither changed nor removed.
//   - No user data is made for a node that would not get its rights: the config's condition tells why. What is refused later, or
//     when a role is to be revoked, an event about the Cluster tells, again and again while that lasts.
//   - A Cluster that needs nothing and has nothing of ours is not asked again until it needs something.
package noderights

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// recheck is how soon the rights of a cluster are looked at again: a person may have changed or removed them.
	recheck = 10 * time.Minute
	// retryRefused is how soon a refusal is tried again. All machines of the cluster wait for the same.
	retryRefused = 15 * time.Second
	// revokeAfter is how long nobody must need a role before it is revoked. It MUST NOT be shorter than recheck: whoever made user
	// data may have relied on a check of that age.
	revokeAfter = 10 * time.Minute
	// tellAgain is how soon a refusal that lasts is told once more. An API server forgets an Event after an hour.
	tellAgain = 30 * time.Minute
)

// Rights are those of the nodes in all workload clusters, for those who make user data. The zero value with Now is ready to use.
type Rights struct {
	Now func() time.Time

	mu     sync.Mutex
	checks map[grant]*check
	// written are the clusters where a role may have been written since a Keeper last asked.
	written map[client.ObjectKey]bool
}

// grant is a role in a cluster.
type grant struct {
	cluster client.ObjectKey
	role    Role
}

// check is how the last check of a grant ended.
type check struct {
	mu    sync.Mutex
	until time.Time // guarded by the lock of Rights, too
	err   error
}

// Ensure gives the nodes of a cluster a role, unless that was done just now. Of many callers, one does it. The error is a
// RefusedError if a person must mend it.
func (r *Rights) Ensure(ctx context.Context, cluster client.ObjectKey, api client.Client, role Role) error {
	last := r.checkOf(grant{cluster, role})
	last.mu.Lock()
	defer last.mu.Unlock()
	now := r.Now()
	if now.Before(last.until) {
		return last.err
	}
	err := write(ctx, api, role)
	r.noteWritten(cluster)
	_, refused := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		r.noteCheck(last, nil, now.Add(recheck))
	case refused:
		r.noteCheck(last, err, now.Add(retryRefused))
	}
	return err
}

func (r *Rights) noteCheck(last *check, err error, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last.err, last.until = err, until
}

// checkOf also forgets checks that nobody relies on any more.
func (r *Rights) checkOf(key grant) *check {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checks == nil {
		r.checks = map[grant]*check{}
	}
	if r.checks[key] == nil {
		now := r.Now()
		maps.DeleteFunc(r.checks, func(_ grant, c *check) bool { return !c.until.IsZero() && !now.Before(c.until) })
		r.checks[key] = &check{}
	}
	return r.checks[key]
}

func (r *Rights) noteWritten(cluster client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[client.ObjectKey]bool{}
	}
	r.written[cluster] = true
}

// takeWritten returns the clusters that were written to since the last call.
func (r *Rights) takeWritten() map[client.ObjectKey]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	clusters := r.written
	r.written = nil
	return clusters
}
