// Package orphans reports VMs whose machine is gone, and of what such VMs left, as a disk. A reader may rely on this:
//
//   - A VM is an orphan if the Cluster in its mark is here and the WindowsMachine with its provider ID has not been for Lasts.
//     What a VM left is one if the WindowsMachine with both the name and the provider ID of its mark has not been.
//     The Cluster has the name and the UID of the mark. A Cluster that was moved or restored has another UID than before: the one
//     on the VM of a machine that it has now is its own, too. The VMs of other installations are none of ours.
//   - It is reported in three ways: the metric capwin_orphan_vms or capwin_orphan_resources counts it while it is seen, an event
//     on its Cluster names it once, and so does a line of the log. Another line follows when it has not been seen for Lasts. A
//     new process reports anew.
//   - It is left alone. Whoever may change VMs in a cloud can write our marks, so nothing is done because of them.
//   - It is reported only in the namespace of its mark, and only if a Secret there has an account that sees it. A namespace gets
//     reports of at most AtOnce VMs with each look, and at most Most of its VMs are remembered. The same holds for what VMs left.
//   - For a paused Cluster nothing new is reported, nor while the account does not know its VMs; earlier reports stand.
//   - A look reads the cache and what the accounts remember. It asks neither the API server nor a cloud.
package orphans

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
)

const (
	// Lasts is longer than a cache is behind, and than a restore takes to bring the machines after their Cluster.
	Lasts = 10 * time.Minute

	// AtOnce bounds what a namespace costs, and what one can do to another in a cloud that they share.
	AtOnce = 10
	// Most does the same.
	Most = 1000

	interval = time.Minute
	maxName  = 128  // of what others write
	maxNote  = 1024 // of an Event
)

// Accounts show the VMs with our marks, and return the Secrets whose account does not know its VMs at present.
type Accounts interface {
	Marked(show func(accounts.Marked)) (blind map[cloud.Key]bool)
}

// Lookout is a Runnable of a manager. Set its fields before use.
type Lookout struct {
	// Client reads the cache.
	Client   client.Reader
	Accounts Accounts
	Events   events.EventRecorder
	// Count gets how many orphans a Cluster has, and zeros when there are none any more. The Cluster is NAMESPACE/NAME.
	Count func(cluster string, vms, resources int)
	Now   func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string

	orphans map[group]map[thing]*orphan
	counted map[cloud.Key]tally // by Cluster
}

// group is the VMs of a namespace, or what VMs left there. The limits are those of a group, so that neither keeps the other from
// being reported.
type group struct {
	namespace string
	resources bool
}

// thing is one VM or resource of a namespace, however often it is seen. A VM keeps its provider ID when it is renamed. A resource
// has that of the VM for which it was made, so its kind and its name distinguish it from what else that VM left.
type thing struct{ server, providerID, kind, name string }

func thingOf(m accounts.Marked) thing {
	if m.Kind == "" {
		return thing{server: m.Server, providerID: m.ProviderID}
	}
	return thing{m.Server, m.ProviderID, m.Kind, m.Name}
}

// tally counts orphans.
type tally struct{ vms, resources int }

// orphan is a VM or resource that is seen without a machine.
type orphan struct {
	accounts.Marked

	firstSeen, lastSeen time.Time
	reported            bool
}

func (o *orphan) cluster() cloud.Key { return clusterOf(o.Marked) }

// Start looks every minute until ctx ends.
func (l *Lookout) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("orphans"))
	// Its only error is that ctx has ended.
	_ = wait.PollUntilContextCancel(ctx, interval, false, func(ctx context.Context) (bool, error) {
		if err := l.Look(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot look for orphaned VMs")
		}
		return false, nil
	})
	return nil
}

// Look compares the VMs with the machines, once. Start calls it.
func (l *Lookout) Look(ctx context.Context) error {
	cached, err := read(ctx, l.Client, l.WatchFilter)
	if err != nil {
		return err
	}
	now := l.Now()
	l.Accounts.Marked(cached.learn)
	blind := l.Accounts.Marked(func(m accounts.Marked) {
		if cached.orphaned(m) {
			l.note(m, now)
		}
	})
	gone := l.forget(func(o *orphan) bool { return o.stays(now, blind[o.Secret], cached.paused(o.cluster())) })
	l.count(now)
	for _, o := range l.due(now) {
		o.reported = true
		l.publish(ctx, o, cached.clusters[o.cluster()])
	}
	logGone(ctx, gone)
	return nil
}

// note remembers what is seen without a machine.
func (l *Lookout) note(m accounts.Marked, now time.Time) {
	id, in := thingOf(m), group{m.Key.Namespace, m.Kind != ""}
	orphans := l.orphans[in]
	if orphans == nil {
		orphans = map[thing]*orphan{}
	}
	if orphans[id] == nil && len(orphans) < Most {
		orphans[id] = &orphan{firstSeen: now}
	}
	if o := orphans[id]; o != nil {
		o.Marked, o.lastSeen = m, now
	}
	if l.orphans == nil {
		l.orphans = map[group]map[thing]*orphan{}
	}
	l.orphans[in] = orphans
}

// stays reports whether to remember the orphan. A reported one is remembered a while longer than it is seen, so that it is not
// reported again when the cloud cannot read it for a moment; and for as long as it is not known whether it is there.
func (o *orphan) stays(now time.Time, blind, paused bool) bool {
	if o.reported && (blind || paused) {
		o.lastSeen = now
	}
	switch {
	case paused:
		return o.reported // its machines may be on the way here
	case blind:
		return true
	default:
		return o.lastSeen.Equal(now) || o.reported && now.Sub(o.lastSeen) < Lasts
	}
}

// forget drops all but those that stay, and returns those of them that were reported.
func (l *Lookout) forget(stays func(*orphan) bool) (gone []*orphan) {
	for in, orphans := range l.orphans {
		for id, o := range orphans {
			if stays(o) {
				continue
			}
			delete(orphans, id)
			if o.reported {
				gone = append(gone, o)
			}
		}
		if len(orphans) == 0 {
			delete(l.orphans, in)
		}
	}
	return gone
}

// isDue reports whether it is there now and has been without a machine for long enough.
func (o *orphan) isDue(now time.Time) bool {
	return o.lastSeen.Equal(now) && now.Sub(o.firstSeen) >= Lasts
}

// count updates the metrics.
func (l *Lookout) count(now time.Time) {
	tallies := map[cloud.Key]tally{}
	for in, orphans := range l.orphans {
		for _, o := range orphans {
			if !o.isDue(now) {
				continue
			}
			n := tallies[o.cluster()]
			if in.resources {
				n.resources++
			} else {
				n.vms++
			}
			tallies[o.cluster()] = n
		}
	}
	for cluster := range l.counted {
		if tallies[cluster] == (tally{}) {
			l.Count(cluster.String(), 0, 0)
		}
	}
	for cluster, n := range tallies {
		l.Count(cluster.String(), n.vms, n.resources)
	}
	l.counted = tallies
}

// due are those to report now: in each group those that have waited for the longest time.
func (l *Lookout) due(now time.Time) (list []*orphan) {
	for _, orphans := range l.orphans {
		var untold []*orphan
		for _, o := range orphans {
			if !o.reported && o.isDue(now) {
				untold = append(untold, o)
			}
		}
		slices.SortFunc(untold, func(a, b *orphan) int {
			return cmp.Or(a.firstSeen.Compare(b.firstSeen), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
		})
		list = append(list, untold[:min(AtOnce, len(untold))]...)
	}
	return list
}
