// Package orphans tells people of VMs whose machine is gone, and of what such VMs left, as a disk. A reader may rely on this:
//
//   - A VM is an orphan if the Cluster in its mark is here and the WindowsMachine with its provider ID has not been for Lasts.
//     What a VM left is one if the WindowsMachine with both the name and the provider ID of its mark has not been.
//     The Cluster has the name and the UID of the mark. A Cluster that was moved or restored has another UID than before: the one
//     on the VM of a machine that it has now is its own, too. The VMs of other installations are none of ours.
//   - It is told in three ways: the metric capwin_orphan_vms or capwin_orphan_resources counts it while it is seen, an event on
//     its Cluster names it once, and so does a line of the log. Another line follows when it has not been seen for Lasts. A new
//     process tells anew.
//   - It is left alone. Whoever may change VMs in a cloud can write our marks, so nothing is done because of them.
//   - It is told only in the namespace of its mark, and only if a Secret there has an account that sees it. A namespace is told
//     of at most AtOnce VMs with each look, and at most Most of its VMs are remembered. The same holds for what VMs left.
//   - Of a paused Cluster nothing new is told, nor while the account does not know which VMs there are; what was told stays so.
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

	every   = time.Minute
	maxName = 128  // of what others write
	maxNote = 1024 // of an Event
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
// being told.
type group struct {
	namespace string
	resources bool
}

// thing is one VM or resource of a namespace, however often it is seen. A VM keeps its provider ID when it is renamed. A resource
// has that of the VM for which it was made, so its kind and its name tell it from what else that VM left.
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

	since, last time.Time
	told        bool
}

func (o *orphan) cluster() cloud.Key { return clusterOf(o.Marked) }

// Start looks every minute until ctx ends.
func (l *Lookout) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("orphans"))
	// Its only error is that ctx has ended.
	_ = wait.PollUntilContextCancel(ctx, every, false, func(ctx context.Context) (bool, error) {
		if err := l.Look(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot look for orphaned VMs")
		}
		return false, nil
	})
	return nil
}

// Look compares the VMs with the machines, once. Start calls it.
func (l *Lookout) Look(ctx context.Context) error {
	have, err := read(ctx, l.Client, l.WatchFilter)
	if err != nil {
		return err
	}
	now := l.Now()
	l.Accounts.Marked(have.learn)
	blind := l.Accounts.Marked(func(m accounts.Marked) {
		if have.orphaned(m) {
			l.note(m, now)
		}
	})
	gone := l.forget(func(o *orphan) bool { return o.stays(now, blind[o.Secret], have.paused(o.cluster())) })
	l.count(now)
	for _, o := range l.due(now) {
		o.told = true
		l.publish(ctx, o, have.clusters[o.cluster()])
	}
	logGone(ctx, gone)
	return nil
}

// note remembers what is seen without a machine.
func (l *Lookout) note(m accounts.Marked, now time.Time) {
	id, in := thingOf(m), group{m.Key.Namespace, m.Kind != ""}
	of := l.orphans[in]
	if of == nil {
		of = map[thing]*orphan{}
	}
	if of[id] == nil && len(of) < Most {
		of[id] = &orphan{since: now}
	}
	if o := of[id]; o != nil {
		o.Marked, o.last = m, now
	}
	if l.orphans == nil {
		l.orphans = map[group]map[thing]*orphan{}
	}
	l.orphans[in] = of
}

// stays says whether to remember the orphan. One that was told is remembered a while longer than it is seen, so that it is not
// told again when the cloud cannot read it for a moment; and for as long as it is not known whether it is there.
func (o *orphan) stays(now time.Time, blind, paused bool) bool {
	if o.told && (blind || paused) {
		o.last = now
	}
	switch {
	case paused:
		return o.told // its machines may be on the way here
	case blind:
		return true
	default:
		return o.last.Equal(now) || o.told && now.Sub(o.last) < Lasts
	}
}

// forget drops all but those that stay, and returns those of them that people were told of.
func (l *Lookout) forget(stays func(*orphan) bool) (gone []*orphan) {
	for in, of := range l.orphans {
		for id, o := range of {
			if stays(o) {
				continue
			}
			delete(of, id)
			if o.told {
				gone = append(gone, o)
			}
		}
		if len(of) == 0 {
			delete(l.orphans, in)
		}
	}
	return gone
}

// is says that it is there now and has been without a machine for long enough.
func (o *orphan) is(now time.Time) bool { return o.last.Equal(now) && now.Sub(o.since) >= Lasts }

// count tells the metrics.
func (l *Lookout) count(now time.Time) {
	all := map[cloud.Key]tally{}
	for in, of := range l.orphans {
		for _, o := range of {
			if !o.is(now) {
				continue
			}
			n := all[o.cluster()]
			if in.resources {
				n.resources++
			} else {
				n.vms++
			}
			all[o.cluster()] = n
		}
	}
	for cluster := range l.counted {
		if all[cluster] == (tally{}) {
			l.Count(cluster.String(), 0, 0)
		}
	}
	for cluster, n := range all {
		l.Count(cluster.String(), n.vms, n.resources)
	}
	l.counted = all
}

// due are those to tell of now: in each group those that have waited for the longest time.
func (l *Lookout) due(now time.Time) (all []*orphan) {
	for _, of := range l.orphans {
		var untold []*orphan
		for _, o := range of {
			if !o.told && o.is(now) {
				untold = append(untold, o)
			}
		}
		slices.SortFunc(untold, func(a, b *orphan) int {
			return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
		})
		all = append(all, untold[:min(AtOnce, len(untold))]...)
	}
	return all
}
