// Package daemons gives the nodes of a workload cluster the rights of the daemons that run on them as Windows services with their
// kubelet's login: kube-proxy and flanneld. daemons.yaml has the rights. A reader may rely on this:
//
//   - A role is bound while a WindowsBootstrapConfig of the Cluster has its daemon run as a service, or a Node has the label that
//     the join of such a node writes. It is taken away when neither has been there for unused. Configs and Nodes are read from
//     the API servers themselves for that, each time: a process that starts anew finds what another one left.
//   - What has our names and is not ours, by the label in daemons.yaml, is neither changed nor removed.
//   - No user data is made for a node that would not get its rights: the config's condition tells why.
package daemons

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// keep is how soon the rights of a cluster are looked at again: a person may have changed or removed them.
	keep = 10 * time.Minute
	// retry is how soon a refusal is tried again. All machines of the cluster wait for the same.
	retry = 15 * time.Second
	// unused is how long nobody must need a role before it is taken away. It MUST NOT be shorter than keep: whoever made user data
	// may have relied on a look of that age.
	unused = 10 * time.Minute
)

// Rights are those of the nodes in all workload clusters, for those who make user data. The zero value with Now is ready to use.
type Rights struct {
	Now func() time.Time

	mu    sync.Mutex
	known map[place]*look
}

// place is a role in a cluster.
type place struct {
	cluster client.ObjectKey
	role    Role
}

// look is how the last look at a role ended.
type look struct {
	mu    sync.Mutex
	until time.Time // guarded by the lock of Rights, too
	err   error
}

// Ensure gives the nodes of a cluster a role, unless that was done just now. Of many callers, one does it. The error is a
// RefusedError if a person must mend it.
func (r *Rights) Ensure(ctx context.Context, cluster client.ObjectKey, api client.Client, role Role) error {
	known := r.of(place{cluster, role})
	known.mu.Lock()
	defer known.mu.Unlock()
	now := r.Now()
	if now.Before(known.until) {
		return known.err
	}
	err := give(ctx, api, role)
	_, refused := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		r.note(known, nil, now.Add(keep))
	case refused:
		r.note(known, err, now.Add(retry))
	}
	return err
}

func (r *Rights) note(known *look, err error, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known.err, known.until = err, until
}

// of also forgets looks that nobody relies on any more.
func (r *Rights) of(at place) *look {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[place]*look{}
	}
	if r.known[at] == nil {
		now := r.Now()
		maps.DeleteFunc(r.known, func(_ place, l *look) bool { return !l.until.IsZero() && !now.Before(l.until) })
		r.known[at] = &look{}
	}
	return r.known[at]
}
