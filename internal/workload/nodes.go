package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fresh is how long one reading of the Nodes serves all machines of a Cluster.
	fresh = 4 * time.Second
	// mostNodes of a control plane are read. etcd's own advice is 7.
	mostNodes = 20
)

// ControlPlaneLabel is what Nodes of a control plane have.
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

// nodes are those of one control plane, read for one caller at a time.
type nodes struct {
	mu    sync.Mutex
	found []corev1.Node
	err   error
	read  time.Time
	// reading is closed when the reading under way has ended; nil when there is none.
	reading chan struct{}
	// turned says that callers were turned away since the Nodes were read last; tell is called when they are known.
	turned bool
	tell   func()
}

func (n *nodes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.found, n.err, n.read = nil, nil, time.Time{}
}

// list reads the Nodes, or takes what another caller has read.
func (n *nodes) list(ctx context.Context, api client.Client) ([]corev1.Node, error) {
	n.mu.Lock()
	if time.Since(n.read) < fresh && n.err == nil {
		defer n.mu.Unlock()
		return n.found, nil
	}
	if other := n.reading; other != nil {
		if n.err != nil { // the cluster failed before: none waits for it
			defer n.mu.Unlock()
			n.turned = true
			return nil, n.err
		}
		n.mu.Unlock()
		return n.await(ctx, other)
	}
	n.reading = make(chan struct{})
	n.mu.Unlock()
	var found []corev1.Node
	err := errors.New("the reading did not end") // unless it does
	defer func() { n.end(found, err) }()
	found, err = read(ctx, api)
	return found, err
}

func (n *nodes) end(found []corev1.Node, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.found, n.err, n.read = found, err, time.Now()
	close(n.reading)
	n.reading = nil
	if n.turned && err == nil {
		n.tell()
	}
	n.turned = err != nil
}

// await waits for a reading of another caller, but not for long.
func (n *nodes) await(ctx context.Context, reading chan struct{}) ([]corev1.Node, error) {
	select {
	case <-reading:
	case <-time.After(patience):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reading == reading {
		n.turned = true
		return nil, &UnreachableError{Why: away, cause: "its Nodes are being read"}
	}
	return n.found, n.err
}

// read asks for as many Nodes as we want, and for no more when there are more.
func read(ctx context.Context, api client.Client) ([]corev1.Node, error) {
	var list corev1.NodeList
	err := api.List(ctx, &list, client.HasLabels{ControlPlaneLabel}, client.MatchingLabels{corev1.LabelOSStable: "linux"},
		client.Limit(mostNodes))
	if err != nil {
		return nil, err
	}
	if len(list.Items) > mostNodes {
		return nil, &UnreachableError{Why: "answers with more Nodes than it was asked for"}
	}
	var found []corev1.Node
	for _, node := range list.Items {
		found = append(found, brief(node))
	}
	return found, nil
}

func brief(node corev1.Node) corev1.Node {
	kept := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	kept.Status.NodeInfo.KubeletVersion = node.Status.NodeInfo.KubeletVersion
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			kept.Status.Conditions = []corev1.NodeCondition{condition}
		}
	}
	return kept
}
