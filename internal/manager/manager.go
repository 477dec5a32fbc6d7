// Package manager is the program that runs the controllers of Cluster API Provider Windows: the infrastructure provider, the
// bootstrap provider, or both. It reads the flags, and gives each controller what it needs.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // for --logging-format=json

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
	"github.com/capwin/cluster-api-provider-windows/internal/version"
)

// Main runs the manager until a signal ends it.
func Main() {
	flags := newFlags(pflag.CommandLine)
	pflag.Parse()
	if flags.version {
		fmt.Println(version.Line("manager"))
		return
	}
	if err := errors.Join(checkVerbosity(flags.logs), logsv1.ValidateAndApply(flags.logs, nil), limitMemory()); err != nil {
		fmt.Fprintf(os.Stderr, "start manager: %v\n", err)
		os.Exit(2)
	}
	ctrl.SetLogger(klog.Background())
	klog.Background().Info("Manager starts", "version", version.Get(), "controllers", flags.controllers)
	if err := run(ctrl.SetupSignalHandler(), flags); err != nil {
		klog.Background().Error(err, "Manager failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

// run starts the controllers that the flags name and runs them until ctx ends.
func run(ctx context.Context, flags *managerFlags) error {
	wanted, err := flags.wanted()
	if err != nil {
		return err
	}
	restConfig, err := flags.restConfig()
	if err != nil {
		return err
	}
	options, err := flags.managerOptions(newScheme())
	if err != nil {
		return err
	}
	if flags.contention {
		goruntime.SetBlockProfileRate(1)
	}
	metrics.Build(version.Get(), flags.controllers)
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	if err := addControllers(ctrl.LoggerInto(ctx, mgr.GetLogger()), mgr, flags, wanted); err != nil {
		return err
	}
	return mgr.Start(ctrl.LoggerInto(ctx, mgr.GetLogger()))
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, ipamv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		// Adding fails only for a type that cannot be registered, and then every test would fail.
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}
