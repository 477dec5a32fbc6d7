// Package guests carries what guests report to objects in the workload cluster, where their cloud carries no reports: each has an
// object of its own, which it may replace by the rights of controllers/cluster/guests.
package guests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// firstPause is between two passes over the reports of a cluster. It doubles up to longestPause while the cluster is away.
	firstPause, longestPause = 10 * time.Second, time.Minute
	// forget is longer than the time in which every machine is looked at anyway.
	forget = 30 * time.Minute
	// maxReads of a pass take half a minute with the 20 calls a second that a cluster gets by default: so long waits a machine that
	// asks for the first time, however many others ask.
	maxReads = 512
)

// Ears reads what guests report. A pass reads the reports of a cluster one after the other, until no machine has asked for half
// an hour. The clusters of a namespace have as many passes at a time as it may have, the others wait for their turn. Whoever is
// in a guest or its cluster may write anything there: what is kept is bounded, no cluster takes room or time from those of other
// namespaces, and a report wakes no other machine than its own.
type Ears struct {
	// GetClient reaches workload clusters.
	GetClient func(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// Heard gets the keys of machines whose guest has reported, and returns at once.
	Heard func(...cloud.Key)
	// Limits are how many passes a namespace may have at a time, Notices get how many it has, and Bytes counts what is kept of
	// reports.
	Limits  tenants.Limits
	Notices *tenants.Notices
	Bytes   *tenants.Bytes

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // because passes begin when a machine asks, and end with the manager
	passes   *tenants.Passes
	clusters map[client.ObjectKey]map[string]*report // by the names of their objects
}

type report struct {
	name, text  string
	machine     cloud.Key
	asked, read time.Time // the last times
	boots       bool      // each pass reads it
}

// Report returns what the guest has reported last, "" if nothing, and has its object read: once, or by each pass if the guest
// still boots by its report. The machine is woken when the guest has reported anew.
func (e *Ears) Report(cluster client.ObjectKey, name string, machine cloud.Key, boots func(report string) bool) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.ctx.Err() != nil {
		return "" // the manager does not run yet, or not any more: the machine is looked at again
	}
	if e.clusters[cluster] == nil {
		e.clusters[cluster] = map[string]*report{}
		ctx := e.ctx
		e.passes.Go(cluster.Namespace, func() { e.readCluster(ctx, cluster, firstPause) })
	}
	r := e.clusters[cluster][name]
	if r == nil {
		r = &report{name: name}
		e.clusters[cluster][name] = r
	}
	r.machine, r.asked, r.boots = machine, time.Now(), boots(r.text)
	return r.text
}

// Start reads reports until ctx ends.
func (e *Ears) Start(ctx context.Context) error {
	e.mu.Lock()
	e.ctx, e.clusters = ctx, map[client.ObjectKey]map[string]*report{}
	e.passes = &tenants.Passes{Kind: tenants.Guests, Limits: e.Limits, Notices: e.Notices}
	e.mu.Unlock()
	<-ctx.Done()
	e.passes.Close()
	return nil
}

// readCluster reads the reports of a cluster, and again after a pause, until no machine asks for one.
func (e *Ears) readCluster(ctx context.Context, cluster client.ObjectKey, pause time.Duration) {
	due, asked := e.due(cluster)
	if !asked || ctx.Err() != nil {
		return
	}
	pause = min(2*pause, longestPause)
	if e.pass(ctx, cluster, due) {
		pause = firstPause
	}
	time.AfterFunc(pause, func() {
		e.passes.Go(cluster.Namespace, func() { e.readCluster(ctx, cluster, pause) })
	})
}

// due returns the reports that a pass reads, first what was read longest ago, and whether any machine still asks.
func (e *Ears) due(cluster client.ObjectKey) (due []*report, asked bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	reports := e.clusters[cluster]
	for name, r := range reports {
		if time.Since(r.asked) > forget {
			e.Bytes.Swap(r.machine.Namespace, len(r.text), 0)
			delete(reports, name)
		} else if r.boots || r.read.Before(r.asked) {
			due = append(due, r)
		}
	}
	if len(reports) == 0 {
		delete(e.clusters, cluster)
	}
	slices.SortFunc(due, func(a, b *report) int { return a.read.Compare(b.read) })
	return due[:min(len(due), maxReads)], len(reports) > 0
}

// pass reads reports, and returns false once the cluster is away.
func (e *Ears) pass(ctx context.Context, cluster client.ObjectKey, due []*report) bool {
	for _, r := range due {
		api, err := e.GetClient(ctx, cluster)
		if err != nil {
			return false
		}
		began, object := time.Now(), client.ObjectKey{Namespace: bootstrap.GuestNamespace, Name: r.name}
		var found corev1.ConfigMap
		err = workload.Guard(ctx, func() error { return api.Get(workload.OfGuest(ctx), object, &found) })
		if err == nil && client.ObjectKeyFromObject(&found) != object {
			err = errors.New("the API server has sent another object")
		}
		if client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).V(4).Info("Report of a guest not read", "cluster", cluster, "report", r.name, "error", err.Error())
		}
		e.keep(r, found.Data[bootstrap.GuestReportKey], began, err)
	}
	return true
}

// keep keeps what was read. What is not there was removed, so it is read again when its machine asks.
func (e *Ears) keep(r *report, text string, began time.Time, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.read, r.boots = began, r.boots && !apierrors.IsNotFound(err)
	text = plan.Shorten(text)
	if client.IgnoreNotFound(err) != nil || text == r.text {
		return
	}
	if !e.Bytes.Swap(r.machine.Namespace, len(r.text), len(text)) {
		text = ""
	}
	if text != "" {
		e.Heard(r.machine)
	}
	r.text = text
}

// MakeReport makes the empty object that a guest may replace, unless it is there. It has no labels and no annotations: a guest
// would have to send them back as they are.
func MakeReport(ctx context.Context, api client.Client, name string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: name}}
	if err := api.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the object of the guest's reports: %w", err)
	}
	return nil
}

// RemoveReport removes the object of a guest that is gone.
func RemoveReport(ctx context.Context, api client.Client, name string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: name}}
	if err := api.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the object of the guest's reports: %w", err)
	}
	return nil
}
