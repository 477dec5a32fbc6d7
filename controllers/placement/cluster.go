package placement

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// firstPause and longestPause are between two connections to a cluster, longer each time that one fails.
	firstPause, longestPause = 2 * time.Second, time.Minute
	// goodWatch is how long a connection lasts that has not failed.
	goodWatch = time.Minute
	// calm is how long changes are gathered before they are looked at.
	calm = time.Second
	// recheck is how soon is looked again where nothing has changed: the policies are probed, and what was refused is tried again.
	recheck = 10 * time.Minute
	// retry is how soon what has failed is tried again, and settle how soon policies are probed after a write, and again until they
	// act: each API server of a control plane reads them every second or so.
	retry, settle = 15 * time.Second, 2 * time.Second
	// askAgain is how soon the API server is asked for its version again where something has changed.
	askAgain = time.Minute
	// rest is how many times as long as a look has taken there is none after it: a cluster that tells much has no more of this
	// computer than that.
	rest = 5
	// writePause is between two writes of the same object, whoever undoes them.
	writePause = 10 * time.Second
)

// cluster is one that is looked after.
type cluster struct {
	keeper *Keeper
	key    client.ObjectKey
	uid    types.UID
	stop   context.CancelFunc
	view   *view
	wake   chan struct{}

	mu      sync.Mutex
	object  *clusterv1.Cluster // of the cache
	settled bool               // machines need not wait
	warning string
	waiting time.Time // since when a machine waits

	// The rest is for the goroutine that works.
	opened time.Time
	policing
	told   uint64
	tellAt time.Time
	rested time.Time // when it may be looked at again
}

func newCluster(k *Keeper, about *clusterv1.Cluster, stop context.CancelFunc) *cluster {
	return &cluster{
		keeper: k, key: client.ObjectKeyFromObject(about), uid: about.UID, stop: stop, view: newView(),
		wake: make(chan struct{}, 1), object: about, opened: time.Now(), policing: newPolicing(),
	}
}

// update takes the Cluster as it is now.
func (c *cluster) update(about *clusterv1.Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hasOtherMode(about, c.object) {
		c.settled = false
		c.hurry()
	}
	c.object = about
}

// hurry has the goroutine that works look at once.
func (c *cluster) hurry() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *cluster) about() *clusterv1.Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.object
}

// answer is what a machine learns that asks for the policies.
func (c *cluster) answer(now time.Time) (kept bool, warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled {
		c.waiting = time.Time{}
		return true, c.warning
	}
	if c.waiting.IsZero() {
		c.waiting = now
	}
	if now.Sub(c.waiting) < patience {
		return false, ""
	}
	return true, fmt.Sprintf("Cluster %s: it is not known after a minute whether the policies act that keep workloads for Linux "+
		"off Windows Nodes", c.key.Name)
}

// settle notes what machines are to learn, if the annotation is still that of the Cluster which was looked at.
func (c *cluster) settle(about *clusterv1.Cluster, settled bool, warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hasOtherMode(about, c.object) {
		return
	}
	if c.settled, c.warning = settled, warning; settled {
		c.waiting = time.Time{} // whoever waited may be gone, and the next one waits anew
	}
}

// watch follows the cluster again and again.
func (c *cluster) watch(ctx context.Context) {
	defer c.view.release()
	pause, feeds := firstPause, c.view.feeds()
	for ctx.Err() == nil {
		began := time.Now()
		err := c.keeper.Workload.FollowAll(ctx, c.key, feeds...)
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).V(4).Info("A cluster with Windows is not watched", "error", err.Error())
		}
		if time.Since(began) > goodWatch {
			pause = firstPause
			if err == nil {
				continue // an API server ends each watch after some minutes
			}
		}
		sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// work looks after the cluster whenever something has changed, or is due.
func (c *cluster) work(ctx context.Context) {
	for ctx.Err() == nil {
		next := time.Now().Add(every) // unless the step says something else
		_ = workload.Guard(ctx, func() error {
			next = c.step(ctx)
			return nil
		})
		due := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-c.view.news:
		case <-due.C:
		}
		due.Stop()
		sleep(ctx, calm)
	}
}

// step does what is due, and says when to look again.
func (c *cluster) step(ctx context.Context) time.Time {
	about := c.about()
	var there clusterv1.Cluster
	if c.keeper.Client.Get(ctx, c.key, &there) != nil || there.UID != c.uid || !workload.IsUp(&there) {
		return time.Now().Add(every) // the next look closes it
	}
	next := deadline{c.police(ctx, about)}
	c.tell(ctx, about, &next)
	return next.at
}

// tell has people told when something has changed, and now and then.
func (c *cluster) tell(ctx context.Context, about *clusterv1.Cluster, next *deadline) {
	s, now := c.view.state(), time.Now()
	if c.keeper.Teller == nil || !s.complete || s.changed == c.told && now.Before(c.tellAt) {
		return
	}
	if now.Before(c.rested) {
		next.by(c.rested)
		return
	}
	if s.version != "" && now.Sub(c.probe.asked) >= askAgain {
		// The control plane may have been upgraded since: what joins then is not newer than it.
		_ = c.readVersion(ctx) // else it is as it was
		s = c.view.state()
	}
	began := time.Now()
	c.told, c.tellAt = s.changed, began.Add(recheck)
	c.keeper.Teller.look(ctx, about, c.view)
	c.rested = time.Now().Add(rest * time.Since(began))
}
