// Package world is where controllers are tested: a real API server with Cluster API's core manager and our API, started
// once for all tests of a binary. Each test has a namespace with a Cluster of its own in it and runs our controllers there,
// inside the test's process, so that it can stop them anywhere and see all that they do.
//
// The one API server is the workload cluster of all these Clusters as well: what our controllers keep apart are clients.
package world

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// World is what all tests of a binary share.
type World struct {
	// Client is an admin's. It has no cache: what it reads is so.
	Client client.Client
	// Management is the cluster, for those who need more of it.
	Management *servers.Management

	// accounts log in as those of our components, by the controller that the component runs.
	accounts map[string]*rest.Config
	workload *servers.Workload
	seen     cache.Cache // what Await follows
	scheme   *runtime.Scheme
	mapper   meta.RESTMapper
}

// Main runs the tests of a binary in a world, several at a time, because they wait more than they work. With -short there is no
// world, and tests that want a namespace are skipped.
func Main(m interface{ Run() int }, shared **World, atOnce int) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	code, err := run(m, shared)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m interface{ Run() int }, shared **World) (code int, err error) {
	if testing.Short() {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "world")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	begin := time.Now()
	w, err := start(context.Background(), dir)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "world started in %.1f s\n", time.Since(begin).Seconds())
	defer func() { err = errors.Join(err, w.Management.Stop()) }()
	*shared = w
	code = m.Run()
	return code, w.refused()
}

// refused says what our controllers may not do and tried: most of it they would try again, so that no test sees it.
func (w *World) refused() error {
	audit, err := w.Management.Audit()
	if err == nil && len(audit.Refused) > 0 {
		err = fmt.Errorf("FAIL: refused to our controllers:\n  %s", strings.Join(audit.Refused, "\n  "))
	}
	return err
}

func start(ctx context.Context, dir string) (*World, error) {
	binaries, err := servers.Ensure(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	management, err := servers.StartManagement(ctx,
		servers.ManagementOptions{Binaries: binaries, Dir: filepath.Join(dir, "management"), ControllersLater: true})
	if err != nil {
		return nil, err
	}
	w := &World{Management: management}
	var parts errgroup.Group
	parts.Go(func() error {
		return servers.InstallCAPI(ctx, management, servers.CAPIOptions{CoreOnly: true, NewestOnly: true})
	})
	parts.Go(func() error { return servers.InstallComponents(ctx, management) })
	if err := parts.Wait(); err != nil {
		return nil, errors.Join(err, management.Stop())
	}
	var controllers errgroup.Group
	controllers.Go(func() error { return management.StartControllers(ctx) })
	err = errors.Join(w.connect(), w.watch(ctx), w.logIn(ctx), w.showAsWorkload(), w.AddLinuxNode(ctx), w.addKubeadm(ctx),
		controllers.Wait())
	if err != nil {
		return nil, errors.Join(err, management.Stop())
	}
	return w, nil
}

func (w *World) connect() error {
	w.scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, ipamv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		if err := add(w.scheme); err != nil {
			return err
		}
	}
	http, err := rest.HTTPClientFor(w.Management.Config)
	if err != nil {
		return err
	}
	if w.mapper, err = apiutil.NewDynamicRESTMapper(w.Management.Config, http); err != nil {
		return err
	}
	w.Client, err = client.New(w.Management.Config, client.Options{Scheme: w.scheme, Mapper: w.mapper})
	return err
}

// watch follows what a State is made of.
func (w *World) watch(ctx context.Context) (err error) {
	w.seen, err = cache.New(w.Management.Config, cache.Options{
		Scheme: w.scheme, Mapper: w.mapper, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return err
	}
	go func() { _ = w.seen.Start(ctx) }() // it ends with the process
	patient, cancel := context.WithTimeout(ctx, wait.Patience)
	defer cancel()
	for _, object := range []client.Object{
		&clusterv1.Machine{}, &infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{}, &corev1.Secret{}, &corev1.Node{},
	} {
		// A server that is busy may take a while until it shows a kind that was just made.
		if err := wait.Poll(patient, func(ctx context.Context) error {
			_, err := w.seen.GetInformer(ctx, object)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) logIn(ctx context.Context) (err error) {
	w.accounts = map[string]*rest.Config{}
	for controller, component := range map[string]string{Machines: servers.Infrastructure, Configs: servers.Bootstrap} {
		if w.accounts[controller], err = servers.ManagerConfig(ctx, w.Management, component); err != nil {
			return err
		}
	}
	return nil
}

// showAsWorkload describes the API server as a workload cluster that Cluster API can be shown.
func (w *World) showAsWorkload() error {
	config := w.Management.Config
	host, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(host.Port())
	if err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(w.Management.KubeconfigFile)
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return err
	}
	w.workload = &servers.Workload{
		Config: config, KubeconfigFile: w.Management.KubeconfigFile, Kubeconfig: kubeconfig,
		CA: config.CAData, Host: host.Hostname(), Port: port, Version: version.GitVersion,
	}
	return nil
}

// Kubeadm are the ConfigMaps that kubeadm init leaves behind, and kubeadm join reads.
var Kubeadm = []client.ObjectKey{
	{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"},
	{Namespace: metav1.NamespaceSystem, Name: "kubelet-config"},
	{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
}

// addKubeadm makes them, empty: no test of this package joins a node. The API server makes their namespaces a moment after it
// starts.
func (w *World) addKubeadm(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, wait.Patience)
	defer cancel()
	return wait.Poll(patient, func(ctx context.Context) error {
		for _, key := range Kubeadm {
			found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			if err := client.IgnoreAlreadyExists(w.Client.Create(ctx, found)); err != nil {
				return fmt.Errorf("create ConfigMap %s: %w", key, err)
			}
		}
		return nil
	})
}

// AddLinuxNode makes the Linux control-plane node, Ready.
func (w *World) AddLinuxNode(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   servers.ControlPlaneNode,
		Labels: map[string]string{corev1.LabelOSStable: "linux", "node-role.kubernetes.io/control-plane": ""},
	}}
	if err := w.Client.Create(ctx, node); err != nil {
		return fmt.Errorf("create linux node: %w", err)
	}
	return w.setNodeReady(ctx, node, corev1.ConditionTrue)
}

// SetLinuxNodeReady says of the Linux node whether it is Ready.
func (w *World) SetLinuxNodeReady(ctx context.Context, ready corev1.ConditionStatus) error {
	node := &corev1.Node{}
	if err := w.Client.Get(ctx, client.ObjectKey{Name: servers.ControlPlaneNode}, node); err != nil {
		return err
	}
	return w.setNodeReady(ctx, node, ready)
}

// RemoveLinuxNode takes the Linux node away.
func (w *World) RemoveLinuxNode(ctx context.Context) error {
	return w.Client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: servers.ControlPlaneNode}})
}

func (w *World) setNodeReady(ctx context.Context, node *corev1.Node, ready corev1.ConditionStatus) error {
	before := node.DeepCopy()
	now := metav1.Now()
	node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.KubeletVersion = node.Labels[corev1.LabelOSStable], w.workload.Version
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "Test", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	if err := w.Client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write status of node %s: %w", node.Name, err)
	}
	return nil
}
