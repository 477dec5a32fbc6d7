package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// perishable are the kinds with which a manager goes on when a test has ended. Who makes others stands before what it makes.
// Kubernetes' garbage collector removes what belongs to these alone, such as the ExternalCluster of a Cluster.
var perishable = []schema.GroupVersionResource{
	clusterv1.GroupVersion.WithResource("clusters"),
	clusterv1.GroupVersion.WithResource("machinehealthchecks"),
	clusterv1.GroupVersion.WithResource("machinedeployments"),
	clusterv1.GroupVersion.WithResource("machinesets"),
	clusterv1.GroupVersion.WithResource("machines"),
	infrav1.GroupVersion.WithResource("windowsmachines"),
	bootstrapv1.GroupVersion.WithResource("windowsbootstrapconfigs"),
	ipamv1.GroupVersion.WithResource("ipaddressclaims"),
	ipamv1.GroupVersion.WithResource("ipaddresses"),
	corev1.SchemeGroupVersion.WithResource("secrets"),
}

// makers are those of them whose controllers make others, so that it takes another look whether one was made meanwhile.
var makers = map[string]bool{"machinehealthchecks": true, "machinedeployments": true, "machinesets": true}

// removals sums up what the tests of a process have left, and what it took to remove that.
type removals struct {
	mu                  sync.Mutex
	namespaces, objects int
	took                time.Duration
}

func (r *removals) add(objects int, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namespaces, r.objects, r.took = r.namespaces+1, r.objects+objects, r.took+took
}

func (r *removals) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namespaces > 0 {
		fmt.Fprintf(os.Stderr, "removed %d objects that %d namespaces of tests had left, in %.1f s\n",
			r.objects, r.namespaces, r.took.Seconds())
	}
}

// removeLeftovers removes what managers would go on with, once the test and its processes have ended: Cluster API asks the API
// server of each Cluster whether it lives, and many tests use one world. No cloud is behind the objects any more, so nobody is
// waited for who holds one by a finalizer.
func (n *Namespace) removeLeftovers(t *testing.T) {
	t.Helper()
	begin := time.Now()
	ctx, cancel := wait.Within(context.WithoutCancel(t.Context()), wait.Patience)
	defer cancel()
	removed := 0
	err := wait.Poll(ctx, func(ctx context.Context) error {
		found, more, err := n.removeOnce(ctx)
		removed += found
		if err == nil && more {
			err = errors.New("there was still what makes others")
		}
		return err
	})
	n.removed.add(removed, time.Since(begin))
	if err != nil {
		err = fmt.Errorf("remove what the test has left in namespace %s: %w", n.Name, err)
	}
	expect.Fine(t, errors.Join(err, n.removeNodes(ctx), n.removeTokens(ctx)))
}

// removeOnce removes what it finds, and returns how much that was, and whether there may be more by now.
func (n *Namespace) removeOnce(ctx context.Context) (found int, more bool, err error) {
	for _, kind := range perishable {
		api := n.metadata.Resource(kind).Namespace(n.Name)
		list, failed := api.List(ctx, metav1.ListOptions{})
		if failed != nil {
			err = errors.Join(err, client.IgnoreNotFound(failed)) // the world has not all kinds
			continue
		}
		found += len(list.Items)
		more = more || makers[kind.Resource] && len(list.Items) > 0
		for i := range list.Items {
			err = errors.Join(err, remove(ctx, api, &list.Items[i]))
		}
	}
	return found, more, err
}

// remove asks for the end of an object before it takes the finalizers off: a controller would put its own back on one that is to
// stay.
func remove(ctx context.Context, api metadata.ResourceInterface, object *metav1.PartialObjectMetadata) error {
	var err error
	if object.DeletionTimestamp == nil {
		background := metav1.DeletePropagationBackground
		err = api.Delete(ctx, object.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	}
	if len(object.Finalizers) > 0 && err == nil {
		_, err = api.Patch(ctx, object.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
	return client.IgnoreNotFound(err)
}

// removeNodes removes the Nodes of the namespace's machines: Cluster API follows those of each Cluster.
func (n *Namespace) removeNodes(ctx context.Context) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range n.nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err = errors.Join(err, client.IgnoreNotFound(n.Workload.Client.Delete(ctx, node)))
	}
	return err
}

// removeTokens removes the bootstrap tokens of the namespace's machines: who looks for those of a machine reads all of them.
func (n *Namespace) removeTokens(ctx context.Context) error {
	var tokens corev1.SecretList
	err := n.Workload.Client.List(ctx, &tokens, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingFields{"type": string(bootstrapapi.SecretTypeBootstrapToken)})
	for _, token := range tokens.Items {
		if strings.Contains(string(token.Data[bootstrapapi.BootstrapTokenDescriptionKey]), n.Name+"/") {
			err = errors.Join(err, client.IgnoreNotFound(n.Workload.Client.Delete(ctx, &token)))
		}
	}
	return err
}
