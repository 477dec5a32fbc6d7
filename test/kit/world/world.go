// Package world is where controllers are tested: a real API server with Cluster API's core manager and our API, started once for
// all tests of a binary, or of all packages that run below a host (test/kit/host). Each test has a namespace with a Cluster in it
// and runs our controllers there, inside the test's process, so that it can stop them anywhere and see all that they do.
//
// The one API server is the workload cluster of all these Clusters as well: what our controllers keep apart are clients.
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// World is what all tests of a binary share.
type World struct {
	// Client is an admin's. It has no cache: what it reads is so.
	Client client.Client
	// Management is the cluster, for those who need more of it.
	Management *servers.Management

	// accounts log in as those of our components, by the controller that the component runs.
	accounts map[string]*rest.Config
	// own is the management cluster as a workload cluster.
	own    *Workload
	seen   cache.Cache // what Await follows
	scheme *runtime.Scheme
	mapper meta.RESTMapper
	// metadata reads and removes objects of any kind.
	metadata metadata.Interface
	removed  removals
	// name is what all names of this process have in a world that others use as well; empty in one of its own.
	name string
	// ends is whether it ends with its test.
	ends bool
	// apart is the other workload cluster, which the first test that wants it has made of other.
	apart func() (*Workload, error)
	other *servers.Management
}

// Main runs the tests of a binary, several at a time, because they wait more than they work. The world is that of the host which
// has started this process, or one of its own. With -short there is no world, and tests that want a namespace are skipped.
func Main(m interface{ Run() int }, shared **World, atOnce int) { exit(m, shared, atOnce, open) }

// Alone is Main for tests that need a world of their own, whatever else runs.
func Alone(m interface{ Run() int }, shared **World, atOnce int) {
	exit(m, shared, atOnce, start(newest))
}

// InAllVersions is Alone for tests that write kinds of Cluster API in their older versions, as most files in git have them. Other
// worlds do not serve these: there, the API server has each change of each object converted for who may read it in one of them.
func InAllVersions(m interface{ Run() int }, shared **World, atOnce int) {
	exit(m, shared, atOnce, start(servers.CAPIOptions{CoreOnly: true}))
}

// opener makes a world, with a folder for what is started for it.
type opener func(ctx context.Context, dir string) (*World, error)

func exit(m interface{ Run() int }, shared **World, atOnce int, open opener) {
	wait.AtOnce(atOnce)
	ctrl.SetLogger(logr.Discard())
	code, err := run(m, shared, open)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m interface{ Run() int }, shared **World, open opener) (code int, err error) {
	if testing.Short() {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "world")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	begin := time.Now()
	w, err := open(context.Background(), dir)
	if err != nil {
		return 0, err
	}
	how := "started"
	if w.name != "" {
		how = "shared with others, found"
	}
	fmt.Fprintf(os.Stderr, "world %s in %.1f s\n", how, time.Since(begin).Seconds())
	defer func() { err = errors.Join(err, w.stop()) }()
	*shared = w
	code = m.Run()
	w.removed.print()
	return code, w.refused()
}

func (w *World) stop() error {
	var err error
	if w.other != nil {
		err = w.other.Stop()
	}
	return errors.Join(err, w.Management.Stop())
}

// refused says what our controllers may not do and tried: most of it they would try again, so that no test sees it.
func (w *World) refused() error {
	audit, err := w.Management.Audit()
	return errors.Join(err, refused(audit))
}

func refused(audit servers.Audit) error {
	if len(audit.Refused) == 0 {
		return nil
	}
	return fmt.Errorf("FAIL: refused to our controllers:\n  %s", strings.Join(audit.Refused, "\n  "))
}

func newWorld(management *servers.Management, dir, name string) *World {
	w := &World{Management: management, name: name}
	w.apart = sync.OnceValues(func() (*Workload, error) { return w.openApart(context.Background(), dir) })
	return w
}

// newest is Cluster API as most worlds have it.
var newest = servers.CAPIOptions{CoreOnly: true, NewestOnly: true}

// start makes a world of its own.
func start(capi servers.CAPIOptions) opener {
	return func(ctx context.Context, dir string) (*World, error) { return startIn(ctx, dir, capi) }
}

func startIn(ctx context.Context, dir string, capi servers.CAPIOptions) (*World, error) {
	management, err := startManagement(ctx, servers.ManagementOptions{Dir: filepath.Join(dir, "management")}, capi)
	if err != nil {
		return nil, err
	}
	w := newWorld(management, dir, "")
	var controllers errgroup.Group
	controllers.Go(func() error { return management.StartControllers(ctx) })
	err = errors.Join(w.enter(ctx), w.own.furnish(ctx), controllers.Wait())
	if err != nil {
		return nil, errors.Join(err, management.Stop())
	}
	return w, nil
}

// startManagement starts a management cluster with Cluster API and our components, and without the controllers of Kubernetes,
// which are to know all kinds.
func startManagement(ctx context.Context, o servers.ManagementOptions, capi servers.CAPIOptions) (*servers.Management, error) {
	var err error
	if o.Binaries, err = servers.Ensure(ctx, os.Stderr); err != nil {
		return nil, err
	}
	o.ControllersLater = true
	management, err := servers.StartManagement(ctx, o)
	if err != nil {
		return nil, err
	}
	var parts errgroup.Group
	parts.Go(func() error { return servers.InstallCAPI(ctx, management, capi) })
	parts.Go(func() error { return servers.InstallComponents(ctx, management) })
	if err := parts.Wait(); err != nil {
		return nil, errors.Join(err, management.Stop())
	}
	return management, nil
}

// enter makes what this process needs of a world whose servers run.
func (w *World) enter(ctx context.Context) error {
	err := errors.Join(w.connect(), w.watch(ctx), w.logIn(ctx))
	if err == nil {
		w.own, err = asWorkload(w.Management)
	}
	return err
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
	if w.metadata, err = metadata.NewForConfigAndClient(w.Management.Config, http); err != nil {
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
	patient, cancel := wait.Within(ctx, wait.Patience)
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
