// Package lab runs the whole way of the product on one machine: a management cluster with Cluster API and our managers, a
// workload cluster, a vCenter, Azure, and guests that do what their user data says. Only the two clouds and the guests are
// simulated. The demo shows it, and tests assert on it.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// Options of a lab.
type Options struct {
	// Dir is the folder it runs in; empty makes one that goes with the lab.
	Dir string
	// BootTime is how long a VM takes until Windows runs.
	BootTime time.Duration
	// Guest changes the guest of a machine of this pool before it is switched on: its image, its world, its faults.
	Guest func(pool string, g *guest.Simulated)
	// CloudControllerLater leaves vSphere's cloud controller manager out until StartCloudController.
	CloudControllerLater bool
	// LinuxLater leaves the Cluster as it is before its control plane comes up: Initialize, RegisterControlPlaneNode of the Workload
	// and StartLinux go on. Until then nothing runs the pods of Linux nodes.
	LinuxLater bool
	// Audited and WithoutMutatingPolicies are the workload cluster's.
	Audited, WithoutMutatingPolicies bool
	// AzureController is the real cloud controller manager of Azure; a stand-in plays it when empty.
	AzureController string
	// FlannelBackend is that of the flanneld of all Linux nodes, as clusters have it; empty gives each node another one.
	FlannelBackend string
	// AzureSpeed is how many times as fast as the time the clock of Azure runs, and that of our managers for it; 0 is the time.
	AzureSpeed int
	// Progress is told what is going on.
	Progress io.Writer
}

// Lab is a running lab.
type Lab struct {
	Management *servers.Management
	Workload   *servers.Workload
	VCenter    *vcenter.VCenter
	Azure      *armsim.Cloud
	// Network is that of the workload cluster's nodes: tests break parts of it.
	Network *traffic.Cluster
	// Managers are ours.
	Managers []servers.Manager
	// Client and WorkloadClient are admins of the two clusters, without a cache.
	Client, WorkloadClient client.Client

	options    Options
	binaries   servers.Binaries
	temporary  bool
	started    []Step
	mu         sync.Mutex
	stopGuests func()
	stopLinux  func()
	stopAzure  func()
	// door of the vCenter for the cloud controller manager, whose calls are not counted.
	door *vcenter.Door
}

// Step is what was started, and how long that took.
type Step struct {
	What string
	Took time.Duration
}

// Start runs a lab. The context bounds the start alone; it runs until Stop.
func Start(ctx context.Context, options Options) (*Lab, error) {
	l := &Lab{options: options, stopGuests: func() {}, stopLinux: func() {}, stopAzure: func() {}}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start lab: %w", err), l.Stop())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	if l.options.Progress == nil {
		l.options.Progress = io.Discard
	}
	if l.options.Dir == "" {
		dir, err := os.MkdirTemp("", "capwin-lab-")
		if err != nil {
			return fmt.Errorf("create folder: %w", err)
		}
		l.options.Dir, l.temporary = dir, true
	}
	var err error
	if l.binaries, err = servers.Ensure(ctx, l.options.Progress); err != nil {
		return err
	}
	begin := time.Now()
	if err := l.startAzure(); err != nil { // before the managers, which read about it when they start
		return err
	}
	both, bound := errgroup.WithContext(ctx)
	both.Go(func() error { return l.startManagement(bound) })
	both.Go(func() error { return l.startCloudAndWorkload(bound) })
	if err := both.Wait(); err != nil {
		return err
	}
	if err := l.connect(ctx); err != nil {
		return err
	}
	l.step("all control planes, Cluster API and the managers", begin)
	return nil
}

func (l *Lab) startManagement(ctx context.Context) error {
	begin := time.Now()
	program := filepath.Join(l.Dir(), "manager")
	built := l.buildManager(ctx, program)
	m, err := servers.StartManagement(ctx, servers.ManagementOptions{
		Binaries: l.binaries, Dir: filepath.Join(l.Dir(), "management"), OwnersGuarded: true, Manager: program,
	})
	if err != nil {
		return err
	}
	l.Management = m
	l.step("management cluster", begin)
	begin = time.Now()
	parts := errgroup.Group{}
	parts.Go(func() error { return servers.InstallCAPI(ctx, m, servers.CAPIOptions{CoreOnly: true}) })
	parts.Go(func() error { return servers.InstallComponents(ctx, m) })
	parts.Go(func() error { return servers.InstallCAPZ(ctx, m) })
	if err := parts.Wait(); err != nil {
		return err
	}
	l.step("Cluster API and our components", begin)
	begin = time.Now()
	if err := <-built; err != nil {
		return err
	}
	if l.Managers, err = servers.StartManagers(ctx, m, "--azure-clouds="+l.cloudsFile(), "--azure-cloud="+azureCloud); err != nil {
		return err
	}
	l.step("our two managers", begin)
	return nil
}

// startCloudAndWorkload starts the vCenter, the workload cluster and the controller that tells one of the other.
func (l *Lab) startCloudAndWorkload(ctx context.Context) error {
	if err := l.startVCenter(); err != nil {
		return err
	}
	if err := l.startWorkload(ctx); err != nil || l.options.CloudControllerLater {
		return err
	}
	return l.StartCloudController(ctx)
}

func (l *Lab) startWorkload(ctx context.Context) error {
	begin := time.Now()
	network, err := traffic.Start()
	if err != nil {
		return err
	}
	l.Network = network
	w, err := servers.StartWorkload(ctx, servers.WorkloadOptions{
		Binaries: l.binaries, Dir: filepath.Join(l.Dir(), "workload"), WithoutNode: l.options.LinuxLater, Egress: network.Socket(),
		Audited: l.options.Audited, WithoutMutatingPolicies: l.options.WithoutMutatingPolicies,
	})
	if err != nil {
		return err
	}
	l.Workload = w
	l.step("workload cluster, Kubernetes "+w.Version, begin)
	return nil
}

func (l *Lab) startVCenter() error {
	begin := time.Now()
	v, err := vcenter.Start()
	if err != nil {
		return err
	}
	l.VCenter = v
	l.step("vCenter", begin)
	return nil
}

// connect shows the workload cluster to Cluster API and lets the guests run.
func (l *Lab) connect(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, ipamv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if l.Client, err = client.New(l.Management.Config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to management cluster: %w", err)
	}
	if l.WorkloadClient, err = client.New(l.Workload.Config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to workload cluster: %w", err)
	}
	if err := l.runPods(ctx); err != nil {
		return err
	}
	stopProvider, err := l.runAzureCloudProvider(ctx)
	if err != nil {
		return err
	}
	stopGuests := l.runGuests()
	l.stopGuests = func() { stopProvider(); stopGuests() }
	cluster, identity, secret, err := l.azureCluster()
	if err != nil {
		return err
	}
	if err := l.apply(ctx, []*unstructured.Unstructured{identity, secret}); err != nil {
		return err
	}
	join := servers.JoinOptions{Namespace: Namespace, Name: ClusterName, Initialized: !l.options.LinuxLater, Infrastructure: cluster}
	return servers.JoinAsCluster(ctx, l.Management, l.Workload, join)
}

// runPods gives the workload cluster the DaemonSets of its users, and runs the pods of its Linux nodes.
func (l *Lab) runPods(ctx context.Context) error {
	w := l.Workload
	if err := (pods.Cluster{Config: w.Config, Host: w.Host, Port: w.Port, Version: w.Version}).Apply(ctx); err != nil {
		return err
	}
	api, err := l.busyClient()
	if err != nil {
		return err
	}
	l.Network.Connect(api)
	if l.options.LinuxLater {
		return nil
	}
	return l.StartLinux(ctx)
}

// busyClient is that of all Linux nodes and of what stands for their kube-proxies.
func (l *Lab) busyClient() (kubernetes.Interface, error) {
	config := rest.CopyConfig(l.Workload.Config)
	config.QPS, config.Burst = 200, 400
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to workload cluster: %w", err)
	}
	return api, nil
}

// StartLinux registers the Linux nodes beside that of the control plane, and runs the pods of all of them.
func (l *Lab) StartLinux(ctx context.Context) error {
	api, err := l.busyClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		nodes := pods.Linux{
			Client: api, Version: l.Workload.Version, Others: []string{servers.ControlPlaneNode}, Backend: l.options.FlannelBackend,
			Network: l.Network, CA: l.Workload.CA,
		}
		if err := nodes.Run(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(l.options.Progress, "the Linux nodes end: %v\n", err)
		}
	}()
	l.stopLinux = func() { cancel(); <-over }
	return nil
}

// Initialize has the control plane of the Cluster say that it is initialized.
func (l *Lab) Initialize(ctx context.Context) error {
	return servers.MarkInitialized(ctx, l.Management, client.ObjectKey{Namespace: Namespace, Name: ClusterName})
}

func (l *Lab) step(what string, begin time.Time) {
	took := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, Step{what, took})
	fmt.Fprintf(l.options.Progress, "  started %-52s %6.1f s\n", what, took.Seconds())
}

// Started says how long what took.
func (l *Lab) Started() []Step { return l.started }

// Dir is where the lab runs.
func (l *Lab) Dir() string { return l.options.Dir }

// GuestsDir has a folder for each guest.
func (l *Lab) GuestsDir() string { return filepath.Join(l.Dir(), "guests") }

// Programs is the folder of kubectl, clusterctl and the servers.
func (l *Lab) Programs() string { return l.binaries.Dir }

// Stop ends everything, and removes the folder if the lab made it.
func (l *Lab) Stop() error {
	var errs []error
	l.stopGuests()
	l.stopLinux()
	var stops errgroup.Group
	if l.Management != nil {
		stops.Go(l.Management.Stop)
	}
	if l.Workload != nil {
		stops.Go(l.Workload.Stop)
	}
	errs = append(errs, stops.Wait())
	if l.Network != nil {
		errs = append(errs, l.Network.Close())
	}
	if l.door != nil {
		l.door.Close()
	}
	if l.VCenter != nil {
		l.VCenter.Stop()
	}
	l.stopAzure()
	if l.temporary {
		errs = append(errs, os.RemoveAll(l.Dir()))
	}
	return errors.Join(errs...)
}
