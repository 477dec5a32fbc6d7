package servers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/daemons"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// testDaemonRights gives nodes each role, and tries with a node's certificate what it opens and what it must leave closed. Then
// nobody needs the roles, and the node has lost them.
func testDaemonRights(t *testing.T, w *Workload) {
	login := clientOf(t, asNode(t, w, bootstrapToken(t, w)))
	expect.Got(w.client.CoreV1().Nodes().Create(t.Context(), newNode("other"), metav1.CreateOptions{}))(t)
	t.Cleanup(func() { _ = w.client.CoreV1().Nodes().Delete(context.Background(), "other", metav1.DeleteOptions{}) })
	rights := &daemons.Rights{Now: time.Now}
	tryAsNode(t, "without a role", login)
	ensure := func(role daemons.Role) {
		expect.OK(t, rights.Ensure(t.Context(), client.ObjectKey{Name: "prod"}, guestsManager(t, w), role))
	}
	ensure(daemons.KubeProxy)
	opens(t, login, "list EndpointSlices")
	proxies := []string{"list EndpointSlices", "watch EndpointSlices", "list ServiceCIDRs", "watch ServiceCIDRs"}
	tryAsNode(t, "with capwin-kube-proxy", login, proxies...)
	syncAsKubeProxy(t, login)
	ensure(daemons.Flannel)
	opens(t, login, "list Nodes")
	tryAsNode(t, "with both", login, append(proxies, "get another Node", "list Nodes", "watch Nodes")...)
	loseRights(t, w)
	wait.Eventually(t, "the end of the rights", func(ctx context.Context) error {
		for _, act := range []string{"list EndpointSlices", "list Nodes"} {
			if err := acts[act](ctx, login); !apierrors.IsForbidden(err) {
				return fmt.Errorf("%s: got %w", act, err)
			}
		}
		return nil
	})
	tryAsNode(t, "in the end", login)
}

// acts are what a node may do with one of the roles, and what no role of ours may let it do.
var acts = map[string]func(context.Context, kubernetes.Interface) error{
	"list EndpointSlices": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
		return err
	},
	"watch EndpointSlices": func(ctx context.Context, c kubernetes.Interface) error {
		return stopped(c.DiscoveryV1().EndpointSlices("").Watch(ctx, metav1.ListOptions{}))
	},
	"get an EndpointSlice": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.DiscoveryV1().EndpointSlices("default").Get(ctx, "kubernetes", metav1.GetOptions{})
		return err
	},
	"delete an EndpointSlice": func(ctx context.Context, c kubernetes.Interface) error {
		return c.DiscoveryV1().EndpointSlices("default").Delete(ctx, "kubernetes", metav1.DeleteOptions{})
	},
	"list ServiceCIDRs": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
		return err
	},
	"watch ServiceCIDRs": func(ctx context.Context, c kubernetes.Interface) error {
		return stopped(c.NetworkingV1().ServiceCIDRs().Watch(ctx, metav1.ListOptions{}))
	},
	"get another Node": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Nodes().Get(ctx, "other", metav1.GetOptions{})
		return err
	},
	"list Nodes": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	},
	"watch Nodes": func(ctx context.Context, c kubernetes.Interface) error {
		return stopped(c.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{}))
	},
	"patch another Node": func(ctx context.Context, c kubernetes.Interface) error {
		patch := []byte(`{"spec":{"unschedulable":true}}`)
		_, err := c.CoreV1().Nodes().Patch(ctx, "other", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	},
	"list Pods": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		return err
	},
	"list Endpoints": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Endpoints("").List(ctx, metav1.ListOptions{})
		return err
	},
	"list Secrets": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
		return err
	},
	"get a Secret": func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Secrets("kube-system").Get(ctx, "any", metav1.GetOptions{})
		return err
	},
}

func stopped(w interface{ Stop() }, err error) error {
	if err == nil {
		w.Stop()
	}
	return err
}

// tryAsNode tries all acts: those that are named are allowed, and no others.
func tryAsNode(t *testing.T, when string, login kubernetes.Interface, allowed ...string) {
	t.Helper()
	may := map[string]bool{}
	for _, act := range allowed {
		may[act] = true
	}
	for act, try := range acts {
		err := try(t.Context(), login)
		if may[act] != (err == nil) || !may[act] && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %s: got %v", when, act, err)
		}
	}
}

// opens waits until the API server has read a new role.
func opens(t *testing.T, login kubernetes.Interface, act string) {
	t.Helper()
	wait.Eventually(t, "the right to "+act, func(ctx context.Context) error { return acts[act](ctx, login) })
}

// syncAsKubeProxy reads all that kube-proxy reads (kubernetes v1.36.3, cmd/kube-proxy/app/server.go), with such informers.
func syncAsKubeProxy(t *testing.T, login kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	own := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, joiningNode).String()
	})
	proxied := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless"
	})
	all := informers.NewSharedInformerFactory(login, 0)
	all.Networking().V1().ServiceCIDRs().Informer()
	services := informers.NewSharedInformerFactoryWithOptions(login, 0, proxied)
	services.Core().V1().Services().Informer()
	services.Discovery().V1().EndpointSlices().Informer()
	node := informers.NewSharedInformerFactoryWithOptions(login, 0, own)
	node.Core().V1().Nodes().Informer()
	for _, factory := range []informers.SharedInformerFactory{all, services, node} {
		factory.Start(ctx.Done())
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				t.Errorf("the informer of %s has not synced", kind)
			}
		}
	}
}

// loseRights has the keeper see for ten minutes that nobody needs the roles: first with a Node that has the label, then without.
func loseRights(t *testing.T, w *Workload) {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme)))
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "prod"}}
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	management := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).Build()
	now := time.Now()
	keeper := &daemons.Keeper{
		Client: management, Live: management, Workload: prodOnly{guestsManager(t, w)}, Now: func() time.Time { return now },
	}
	label := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s,%q:%s}}}`,
			bootstrap.LabelKubeProxy, value, bootstrap.LabelFlannel, value)
		nodes := w.client.CoreV1().Nodes()
		expect.Got(nodes.Patch(t.Context(), "other", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	}
	label(`"service"`)
	bindingsAfter(t, w, keeper, &now, 2)
	label("null")
	bindingsAfter(t, w, keeper, &now, 0)
}

func bindingsAfter(t *testing.T, w *Workload, keeper *daemons.Keeper, now *time.Time, want int) {
	t.Helper()
	for range 25 {
		*now = now.Add(time.Minute)
		expect.OK(t, keeper.Look(t.Context()))
	}
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=capwin"}
	bindings := expect.Got(w.client.RbacV1().ClusterRoleBindings().List(t.Context(), ours))(t)
	roles := expect.Got(w.client.RbacV1().ClusterRoles().List(t.Context(), ours))(t)
	expect.Same(t, "bindings and roles", []int{want, want}, []int{len(bindings.Items), len(roles.Items)})
}

// prodOnly reaches one cluster.
type prodOnly struct{ api client.Client }

// GetClient implements daemons.Clusters.
func (p prodOnly) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return p.api, nil
}
