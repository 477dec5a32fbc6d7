package servers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// rights.sh gives these for a control plane of another version than TestClusters has.
var (
	otherServers = flag.String("servers", "", "the folder of a control plane's programs")
	otherVersion = flag.String("version", "", "their version, such as v1.30.14")
	otherProxy   = flag.String("kube-proxy", "", "the kube-proxy of that version which test/upstream/programs builds")
)

// TestNodeRights does on that control plane what TestClusters does on the pinned one, and has the real kube-proxy read.
func TestNodeRights(t *testing.T) {
	if *otherServers == "" {
		t.Skip("make test-rights says with which programs")
	}
	w := startWorkload(t, Binaries{Dir: *otherServers})
	expect.Same(t, "version", *otherVersion, expect.Got(w.client.Discovery().ServerVersion())(t).GitVersion)
	testNodeRights(t, w, *otherProxy)
}

// testNodeRights gives nodes each role, and tries with a node's certificate what it opens and what it must leave closed. Then
// nobody needs the roles, and the node has lost them.
func testNodeRights(t *testing.T, w *Workload, kubeProxy string) {
	config := asNode(t, w, bootstrapToken(t, w))
	node := asNodeOf(t, w, clientOf(t, config))
	node.must(t, "without a role")
	var proxy *process
	if kubeProxy != "" {
		proxy = startKubeProxy(t, config, kubeProxy)
		hasLogged(t, proxy, `endpointslices.discovery.k8s.io is forbidden`)
	}
	bindOther(t, w)
	keeper := newRightsKeeper(t, guestsManager(t, w), time.Now)
	ensure := func(role nodes.Role) {
		expect.OK(t, keeper.ask(t, string(role)))
	}
	ensure(nodes.KubeProxy)
	node.opens(t, "list EndpointSlices")
	proxies := []string{"list EndpointSlices", "watch EndpointSlices", "list ServiceCIDRs", "watch ServiceCIDRs"}
	node.must(t, "with capwin-kube-proxy", proxies...)
	if proxy != nil {
		node.awaitKubeProxy(t, proxy)
	} else { // the pinned version: its informers are not those of an older kube-proxy, which knows fewer selectors
		node.syncAsKubeProxy(t)
	}
	ensure(nodes.Flannel)
	node.opens(t, "list Nodes")
	node.must(t, "with both", append(proxies, "get another Node", "list Nodes", "watch Nodes")...)
	loseRights(t, w)
	wait.Eventually(t, "the end of the rights", func(ctx context.Context) error {
		return errors.Join(node.lacks(ctx, "list EndpointSlices"), node.lacks(ctx, "list Nodes"))
	})
	node.must(t, "in the end")
}

// bindOther makes a binding of ours that binds another role, which no API server lets us change.
func bindOther(t *testing.T, w *Workload) {
	t.Helper()
	name := string(nodes.KubeProxy)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "capwin"},
	}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "of-before"}
	expect.Got(w.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))(t)
}

// asNodes is the login of a node at an API server of some version.
type asNodes struct {
	login kubernetes.Interface
	// always are the acts that need no role, and unserved those on kinds that the server does not have.
	always, unserved map[string]bool
}

// asNodeOf also makes the node, with an address, and another one. What is always allowed is that of the authorizer's NodeRules,
// which AuthorizeNodeWithSelectors narrows from 1.32 on (kubernetes v1.36.3, plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
func asNodeOf(t *testing.T, w *Workload, login kubernetes.Interface) asNodes {
	t.Helper()
	for _, name := range []string{joiningNode, "other"} {
		expect.Got(w.client.CoreV1().Nodes().Create(t.Context(), newNode(name), metav1.CreateOptions{}))(t)
		status := []byte(`{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.7"}]}}`)
		expect.Got(w.client.CoreV1().Nodes().PatchStatus(t.Context(), name, status))(t)
		t.Cleanup(func() { _ = w.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	node, running := asNodes{login: login}, expect.Got(w.client.Discovery().ServerVersion())(t)
	minor := expect.Got(version.ParseGeneric(running.GitVersion))(t).Minor()
	if minor < 32 {
		node.always = map[string]bool{"list Pods": true, "get another Node": true, "list Nodes": true, "watch Nodes": true}
	}
	if minor < 33 {
		node.unserved = map[string]bool{"list ServiceCIDRs": true, "watch ServiceCIDRs": true}
	}
	return node
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

// must tries all acts: those that are named and those that are always allowed are, and no others.
func (n asNodes) must(t *testing.T, when string, allowed ...string) {
	t.Helper()
	for act, try := range acts {
		err := try(t.Context(), n.login)
		good := apierrors.IsForbidden(err)
		if n.always[act] || slices.Contains(allowed, act) {
			good = err == nil || n.unserved[act] && apierrors.IsNotFound(err)
		}
		if !good {
			t.Errorf("%s: %s: got %v", when, act, err)
		}
	}
}

// lacks says if an act is not refused that needs a role.
func (n asNodes) lacks(ctx context.Context, act string) error {
	if err := acts[act](ctx, n.login); !n.always[act] && !apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: got %w", act, err)
	}
	return nil
}

// opens waits until the API server has read a new role.
func (n asNodes) opens(t *testing.T, act string) {
	t.Helper()
	wait.Eventually(t, "the right to "+act, func(ctx context.Context) error { return acts[act](ctx, n.login) })
}

// syncAsKubeProxy reads all that kube-proxy reads, with such informers: those of Run and newNodeManager in kubernetes v1.36.3,
// cmd/kube-proxy/app/server.go and pkg/proxy/node.go.
func (n asNodes) syncAsKubeProxy(t *testing.T) {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), patience)
	defer cancel()
	reading := func(label, field string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(n.login, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = label, field
		}))
	}
	services := reading("!service.kubernetes.io/service-proxy-name", "spec.clusterIP!=None")
	services.Core().V1().Services().Informer()
	endpoints := reading("!service.kubernetes.io/headless", "")
	endpoints.Discovery().V1().EndpointSlices().Informer()
	node := reading("", "metadata.name="+joiningNode)
	node.Core().V1().Nodes().Informer()
	all := reading("", "")
	all.Networking().V1().ServiceCIDRs().Informer()
	for _, factory := range []informers.SharedInformerFactory{services, endpoints, node, all} {
		factory.Start(ctx.Done())
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				t.Errorf("the informer of %s has not synced", kind)
			}
		}
	}
}

// startKubeProxy starts the kube-proxy that test/upstream/programs/kubeproxy.sh builds: its own files for Windows with a stand-in
// for HNS.
func startKubeProxy(t *testing.T, login *rest.Config, path string) *process {
	t.Helper()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: login.Host, CertificateAuthorityData: login.CAData}
	kubeconfig.AuthInfos["n"] = &clientcmdapi.AuthInfo{ClientCertificateData: login.CertData, ClientKeyData: login.KeyData}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "n"}
	kubeconfig.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	expect.OK(t, clientcmd.WriteToFile(*kubeconfig, file))
	ports := expect.Got(freePorts(2))(t)
	return launched(t, server{name: "kube-proxy", path: path, args: []string{
		"--kubeconfig=" + file, "--hostname-override=" + joiningNode, "--healthz-bind-address=" + address(ports[0]),
		"--metrics-bind-address=" + address(ports[1]),
	}})
}

// awaitKubeProxy waits until it has read all that it wants.
func (n asNodes) awaitKubeProxy(t *testing.T, proxy *process) {
	t.Helper()
	hasLogged(t, proxy, "Caches are synced.*node config") // its Node; the stand-in tells of the others
	for _, kind := range []string{"Services", "EndpointSlices", "ServiceCIDRs"} {
		if !n.unserved["list "+kind] {
			hasLogged(t, proxy, "(?m)^kube-proxy has its "+kind+"$")
		}
	}
}

// hasLogged waits until the program has written what fits the expression.
func hasLogged(t *testing.T, p *process, expression string) {
	t.Helper()
	wait.Eventually(t, "the log", func(context.Context) error {
		if log := expect.Got(os.ReadFile(p.log))(t); !regexp.MustCompile(expression).Match(log) {
			return fmt.Errorf("no %q in what ends with %s", expression, p.lastLog())
		}
		return nil
	})
}

// loseRights has the keeper see for ten minutes that nobody needs the roles: first with a Node that has the label, then without.
func loseRights(t *testing.T, w *Workload) {
	t.Helper()
	now := time.Now()
	keeper := newRightsKeeper(t, guestsManager(t, w), func() time.Time { return now })
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

func bindingsAfter(t *testing.T, w *Workload, keeper *rightsKeeper, now *time.Time, want int) {
	t.Helper()
	for range 25 {
		*now = now.Add(time.Minute)
		keeper.look(t)
	}
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=capwin"}
	bindings := expect.Got(w.client.RbacV1().ClusterRoleBindings().List(t.Context(), ours))(t)
	roles := expect.Got(w.client.RbacV1().ClusterRoles().List(t.Context(), ours))(t)
	expect.Same(t, "bindings and roles", []int{want, want}, []int{len(bindings.Items), len(roles.Items)})
}
