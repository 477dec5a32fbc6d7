// Package workload reaches the API servers of workload clusters. It trusts neither the author of a
// kubeconfig nor the API server behind it. It promises:
//
//   - Nothing of the manager's leaves it: a kubeconfig may bring certificates, keys and tokens, and nothing that names a file, a
//     program or a proxy of the manager's. One that does is a [RefusedError]. Redirects are not followed.
//   - Only clusters that a caller asks for are connected to. A connection that no caller uses is closed, and a namespace has as
//     many as it may have: for one more, the one that was not used for the longest time is closed, or any if all are in use.
//   - No cluster holds its callers for longer than a few seconds, and one that fails answers with an [UnreachableError] at once
//     until it is tried again. The clusters of one namespace hold a few callers at a time, however many they are. No answer may
//     be larger than what we ask for needs.
//   - A kubeconfig that changed is used within minutes, and within seconds if the old one has just begun to fail. One that fails
//     for longer is read more and more rarely.
//   - The kubeconfigs of one namespace are read at a pace, however many clusters it has: the management cluster's API server
//     answers the rivals, too.
//
// Nothing is watched. What is cached serves for a few seconds: Nodes and cluster DNS; and for a minute whether
// kubeadm's ConfigMaps exist, and DaemonSets for Windows.
package workload

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

const (
	// reread is how soon a changed kubeconfig is noticed while the old one works. Some providers write tokens that live for
	// a quarter of an hour.
	reread = 3 * time.Minute
	// rereadFailed is how soon a mended kubeconfig is noticed. It doubles as often as nothing was mended, up to longestReread.
	rereadFailed, longestReread = 10 * time.Second, 5 * time.Minute
	// unused is how long a connection is kept that no caller asks for: longer than the time between two looks at a token.
	unused = 15 * time.Minute

	kubeconfigSuffix, kubeconfigKey = "-kubeconfig", "value"
)

// Clusters are the workload clusters that callers asked for. The zero value with Live is ready to use; Start closes what is not
// used any more.
type Clusters struct {
	// Live reads the kubeconfigs from the management cluster's API server itself.
	Live client.Reader
	// QPS and Burst are how many calls one cluster gets in a second and at once; UserAgent names the caller to it.
	QPS       float32
	Burst     int
	UserAgent string
	// Limits are how many clusters a namespace may be connected to, Notices get how many it is, and Bytes counts what is kept of
	// their answers.
	Limits  tenants.Limits
	Notices *tenants.Notices
	Bytes   *tenants.Bytes

	pace     tenants.Pace // of reads of kubeconfigs
	vetting  sync.Mutex
	mu       sync.Mutex
	clusters map[client.ObjectKey]*cluster
	gates    map[string]*gate // of namespaces with clusters
}

// GetClient returns a client for the Secrets and Nodes of a Cluster. It does not wait for the cluster: if that does not answer,
// a call fails with an [UnreachableError].
func (c *Clusters) GetClient(ctx context.Context, key client.ObjectKey) (client.Client, error) {
	found := c.cluster(key)
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.isStale() && c.pace.Take(tenants.Kubeconfigs, key.Namespace, 1, time.Now()) > 0 {
		if err := c.read(ctx, key, found); err != nil {
			return nil, err
		}
	}
	if found.err != nil {
		return nil, found.err
	}
	if err := found.line.open(); err != nil {
		return nil, err
	}
	return found.api, nil
}

// IsUp reports whether a Cluster has an API server and is nobody's work in progress.
func IsUp(c *clusterv1.Cluster) bool {
	return c.DeletionTimestamp.IsZero() && ptr.Deref(c.Status.Initialization.ControlPlaneInitialized, false) &&
		!annotations.IsPaused(c, c)
}

// ControlPlane returns the Nodes of a Cluster's control plane that run on Linux, as they were seconds ago: of each, its name,
// its Ready condition, the version of its kubelet, and UninitializedTaint. Of a control plane with more Nodes than any has, it
// returns some.
func (c *Clusters) ControlPlane(ctx context.Context, key client.ObjectKey) ([]corev1.Node, error) {
	api, err := c.GetClient(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.cluster(key).nodes.get(ctx, fresh, func(ctx context.Context) ([]corev1.Node, error) {
		return readControlPlane(ctx, api)
	})
}

// Start closes connections that no caller uses, until ctx ends.
func (c *Clusters) Start(ctx context.Context) error {
	look := time.Tick(time.Minute)
	for {
		select {
		case <-ctx.Done():
			c.closeUnused(0)
			return nil
		case <-look:
			c.closeUnused(unused)
		}
	}
}

// cluster is one that callers asked for.
type cluster struct {
	line      *line
	namespace *gate
	clock     clock

	// What was read: the Nodes of the control plane, those on Linux, the ConfigMaps of kubeadm, cluster DNS, and DaemonSets.
	nodes                reading[[]corev1.Node]
	linux                reading[Nodes]
	kubeadm, clusterInfo reading[ConfigMaps]
	dns                  reading[DNS]
	sets                 reading[DaemonSets]

	used time.Time // guarded by the lock of Clusters
	// connected is whether there is a connection to close.
	connected atomic.Bool

	mu sync.Mutex
	// read is when the kubeconfig was read, and digest what it was; pause is the one before the next read if it fails. err is why
	// there is no api.
	read   time.Time
	pause  time.Duration
	digest [sha256.Size]byte
	err    error
	api    client.Client
	rest   *rest.RESTClient
	close  func()
}

func (c *Clusters) cluster(key client.ObjectKey) *cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.clusters[key]
	if found == nil {
		if c.clusters == nil {
			c.clusters, c.gates = map[client.ObjectKey]*cluster{}, map[string]*gate{}
		}
		if c.gates[key.Namespace] == nil {
			c.gates[key.Namespace] = newGate()
		}
		found = &cluster{line: newLine(), namespace: c.gates[key.Namespace], err: errUnread}
		swap := func(previous, next int) bool { return c.Bytes.Swap(key.Namespace, previous, next) }
		found.nodes.swap, found.linux.swap, found.kubeadm.swap, found.clusterInfo.swap = swap, swap, swap, swap
		found.dns.swap, found.sets.swap = swap, swap
		c.clusters[key] = found
	}
	found.used = time.Now()
	return found
}

func (c *Clusters) closeUnused(idle time.Duration) {
	for _, found := range c.forgetUnused(idle) {
		found.mu.Lock()
		found.drop(nil)
		found.mu.Unlock()
	}
}

// forgetUnused takes out what no caller uses. Who closes it does not have the lock of Clusters: who reads a kubeconfig may wait
// for that.
func (c *Clusters) forgetUnused(idle time.Duration) (unused []*cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := map[string]bool{}
	for key, found := range c.clusters {
		if time.Since(found.used) >= idle {
			unused = append(unused, found)
			delete(c.clusters, key)
		} else {
			used[key.Namespace] = true
		}
	}
	maps.DeleteFunc(c.gates, func(namespace string, _ *gate) bool { return !used[namespace] })
	return unused
}

// makeRoom closes connections of a namespace that has more than it may have, those first that were not used for the longest time.
// One that is being read or made just now is left for the next time. Of those that are in use it takes any: with one cluster too
// many, the one that was used longest ago is the one that is asked next.
func (c *Clusters) makeRoom(namespace string, newest *cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rivals []*cluster
	for key, k := range c.clusters { // in any order
		if key.Namespace == namespace && k != newest && k.connected.Load() {
			rivals = append(rivals, k)
		}
	}
	limit := c.Limits.Allowed(namespace, tenants.Clusters)
	c.Notices.Counted(namespace, tenants.Clusters, min(len(rivals)+1, limit), time.Now())
	excess := len(rivals) + 1 - limit
	if excess <= 0 {
		return
	}
	instant := time.Now()
	slices.SortStableFunc(rivals, func(a, b *cluster) int { return cmp.Compare(b.idle(instant), a.idle(instant)) })
	for _, k := range rivals {
		if excess > 0 && k.mu.TryLock() {
			k.drop(errUnread)
			k.read = time.Time{}
			k.mu.Unlock()
			excess--
		}
	}
}

// inUse is how long ago a connection that is in use was used at most.
const inUse = time.Minute

// idle is how long nobody has used the connection; zero while it is in use.
func (k *cluster) idle(instant time.Time) time.Duration {
	if idle := instant.Sub(k.used); idle > inUse {
		return idle
	}
	return 0
}

// errUnread is why a cluster has no connection until it is the turn of its kubeconfig.
var errUnread = &UnreachableError{Why: "is not known yet: the kubeconfigs of its namespace are read a few at a time"}

// fails reports whether a look at the kubeconfig may help.
func (k *cluster) fails() bool { return k.err != nil || k.line.doubtful() }

// isStale reports whether it is time to look at the kubeconfig.
func (k *cluster) isStale() bool {
	if k.fails() {
		return time.Since(k.read) >= k.pause
	}
	return time.Since(k.read) >= reread
}

// noteRead has the next look at a kubeconfig come the later the more often it failed and had not changed.
func (k *cluster) noteRead(changed bool) {
	if k.pause = min(2*k.pause, longestReread); changed || !k.fails() {
		k.pause = rereadFailed
	}
	k.read = time.Now()
}

// read looks at the kubeconfig. A connection whose kubeconfig is the same stays, and so does a refusal.
func (c *Clusters) read(ctx context.Context, key client.ObjectKey, k *cluster) error {
	name := key.Name + kubeconfigSuffix
	kubeconfig, err := c.kubeconfig(ctx, key)
	if apierrors.IsNotFound(err) {
		first := k.read.IsZero() || k.close != nil
		k.drop(&UnreachableError{Why: fmt.Sprintf("is not known: Secret %s with its kubeconfig does not exist", name)})
		k.noteRead(first)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get kubeconfig: %w", err)
	}
	digest := sha256.Sum256(kubeconfig)
	_, refused := errors.AsType[*RefusedError](k.err)
	unchanged := digest == k.digest && (k.close != nil || refused)
	k.noteRead(!unchanged)
	if unchanged {
		return nil
	}
	k.drop(nil)
	k.digest = digest
	if k.err = c.connect(kubeconfig, name, k); k.err == nil {
		c.makeRoom(key.Namespace, k)
	}
	return nil
}

// kubeconfig reads that of a Cluster from the management cluster.
func (c *Clusters) kubeconfig(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	var secret corev1.Secret
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + kubeconfigSuffix}, &secret)
	return secret.Data[kubeconfigKey], err
}

// connect makes a client from the kubeconfig in a Secret. Nothing is sent yet.
func (c *Clusters) connect(kubeconfig []byte, secret string, k *cluster) error {
	access, err := c.vetOne(kubeconfig, secret)
	if err != nil {
		return err
	}
	web, shut := c.httpClient(access, k)
	k.close = shut
	k.connected.Store(true)
	k.line.retry()
	k.api, k.rest, err = newClients(access.server, web, c.QPS, c.Burst)
	return err
}

// vetOne vets one kubeconfig at a time, because a text that is made for it takes some memory.
func (c *Clusters) vetOne(kubeconfig []byte, secret string) (access, error) {
	c.vetting.Lock()
	defer c.vetting.Unlock()
	return vet(kubeconfig, secret)
}

// drop closes the connection and notes why there is none.
func (k *cluster) drop(err error) {
	if k.close != nil {
		k.close()
	}
	k.connected.Store(false)
	k.api, k.rest, k.close, k.err = nil, nil, nil, err
	k.nodes.forget()
	k.linux.forget()
	k.kubeadm.forget()
	k.clusterInfo.forget()
	k.dns.forget()
	k.sets.forget()
}
