package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/management"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/progress"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/smoke"
)

// What addons prints.
const (
	formResourceSet = "ClusterResourceSet"
	formManifests   = "Manifests"
	formCalico      = "CalicoSettings"
)

// addonsFlags are those of addons.
type addonsFlags struct {
	files            fileFlags
	cluster          clusterFlags
	form             choice
	mode, cni, proxy choice
	claims           addons.Claims
	endpoint         string
	namespace        *string
	options          addons.Options
	images           bool
	s                streams
}

func addonsCommand(s streams) *cobra.Command {
	f := &addonsFlags{s: s, form: choice{value: formResourceSet, allowed: []string{formResourceSet, formManifests, formCalico}}}
	cmd := &cobra.Command{
		Use:   "addons (-f FILE | --kubernetes-version VERSION --mode MODE --cni CNI)",
		Short: "print what Windows nodes need of their cluster",
		Long: `Prints what pods on the pool's nodes need beside the pool:
  kube-proxy      with Calico the DaemonSet kube-proxy-windows, of the Machine's version; other CNIs, and
                  kubeProxy.run: Service, have a service of the nodes
  RuntimeClasses  windows-2019, windows-2022, windows-23h2 and windows-2025: a pod with such a runtimeClassName comes to a node
                  of that release and tolerates the pool's taints; with Hyper-V isolation also windows-2022-hyperv and so on
  csi-proxy       with --csi-proxy, the DaemonSet csi-proxy, for CSI drivers that do not run in HostProcess containers, such as
                  vsphere-csi-node-windows
It follows from FILE, and from the flags where FILE sets nothing; they must not contradict it. --form is one of
  ClusterResourceSet  for the management cluster, with its ConfigMap. Cluster API applies the objects to each Cluster with the
                      label cluster.x-k8s.io/cluster-name: CLUSTER, and again when they have changed
  Manifests           the objects themselves, for the cluster of the pool
  CalicoSettings      commands that give Calico's operator what it needs before it makes its DaemonSet for Windows. With
                      --kubeconfig or --context, those for what this cluster lacks, and a note if its pools have too few
                      addresses for the pods of a node
With --images it prints the full names of the images in the objects, in spec.containerd of FILE and of smoke, one a line and
sorted. With --registry each line has the image and its copy, for xargs -n 2 crane copy. A copy has the same path as its image,
because containerd asks mirrors for that path.

FILE must have what plan needs. If its pools need different things of which a cluster has one only, choose one with --machine.`,
		Example: `  PROGRAM addons -f cluster.yaml -f pool.yaml
  PROGRAM addons -f cluster.yaml -f pool.yaml --mode Overlay --cni Calico --form Manifests
  PROGRAM addons -f cluster.yaml -f pool.yaml --mode Overlay --cni Calico --form CalicoSettings
  PROGRAM addons --kubernetes-version v1.36.3 --mode Overlay --cni Calico --cluster prod --csi-proxy
  PROGRAM addons -f cluster.yaml -f pool.yaml --images --registry registry.example.com/mirror`,
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.addTo(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return f.run(cmd.Context())
	}
	return cmd
}

func (f *addonsFlags) addTo(cmd *cobra.Command) {
	f.files.addTo(cmd)
	flags := cmd.Flags()
	f.mode.allowed, f.cni.allowed = []string{"L2Bridge", "Overlay", "Transparent", "None"},
		[]string{"Flannel", "Calico", "AzureCNI", "Antrea"}
	f.proxy.allowed = []string{"Service", "DaemonSet", "None"}
	for _, flag := range []struct {
		name, text string
		value      *choice
	}{
		{"form", "`FORM` of what is printed: ClusterResourceSet, Manifests or CalicoSettings", &f.form},
		{"mode", "spec.network.`MODE` of the nodes: L2Bridge, Overlay, Transparent or None", &f.mode},
		{"cni", "`CNI` of the nodes, such as Calico", &f.cni},
		{"kube-proxy", "`WHO` runs kube-proxy on the nodes: Service, DaemonSet or None; the default is that of mode and CNI", &f.proxy},
	} {
		flags.Var(flag.value, flag.name, flag.text)
		completes(cmd, flag.name, cobra.FixedCompletions(flag.value.allowed, cobra.ShellCompDirectiveNoFileComp))
	}
	flags.StringVar(&f.claims.Version, "kubernetes-version", "", "`VERSION` of the nodes, such as v1.36.3")
	flags.StringSliceVar(&f.options.Releases, "windows", nil, "`RELEASE` that gets a RuntimeClass: 2019, 2022, 23h2 or 2025; "+
		"repeatable; all by default")
	flags.BoolVar(&f.options.HyperV, "hyper-v", false, "add the RuntimeClasses for Hyper-V isolation")
	flags.BoolVar(&f.options.CSIProxy, "csi-proxy", false, "add the DaemonSet csi-proxy")
	flags.StringVar(&f.options.Registry, "registry", "", "`REGISTRY` that has copies of upstream's images, by their paths there, "+
		"such as registry.example.com/mirror")
	flags.BoolVar(&f.images, "images", false, "print the images that the nodes pull, and no objects")
	flags.StringVar(&f.claims.Cluster.Name, "cluster", "", "`NAME` of the Cluster")
	flags.StringVar(&f.endpoint, "endpoint", "", "`HOST:PORT` of the cluster's API server")
	flags.StringSliceVar(&f.claims.Cluster.Pods, "pod-cidr", nil, "`CIDR` of the cluster's pods")
	flags.StringSliceVar(&f.claims.Cluster.Services, "service-cidr", nil, "`CIDR` of the cluster's Services")
	f.namespace = addNamespace(flags)
	f.cluster.addClusterTo(cmd, "workload", "whose Calico --form CalicoSettings reads")
	completes(cmd, "windows", cobra.FixedCompletions(addons.Releases, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses command lines that lack a flag, or have one that would have no effect.
func (f *addonsFlags) check(cmd *cobra.Command) error {
	usage := func(problem string) error { return &usageError{problem: errors.New(problem), cmd: cmd} }
	f.claims.Mode, f.claims.CNI, f.claims.KubeProxy = f.mode.value, f.cni.value, f.proxy.value
	switch {
	case len(f.files.files) == 0 && f.mode.value == "":
		return usage("-f FILE is missing, or --mode, --cni and --kubernetes-version instead of it")
	case f.images && cmd.Flags().Changed("form"):
		return usage("--images prints no objects, which --form is for; leave out one of the two")
	case len(f.files.files) == 0 && f.form.value == formResourceSet && !f.images && f.claims.Cluster.Name == "":
		return usage("--cluster NAME is missing, by which a ClusterResourceSet finds its Cluster; or use --form Manifests")
	case f.form.value != formCalico && f.cluster.asked():
		return usage("only --form CalicoSettings reads a cluster; leave out --kubeconfig and --context")
	}
	if f.endpoint == "" {
		return nil
	}
	host, port, err := readHostPort(f.endpoint)
	if err != nil {
		return usage(fmt.Sprintf("--endpoint %q is not HOST:PORT, such as 10.0.0.10:6443", f.endpoint))
	}
	f.claims.Cluster.Host, f.claims.Cluster.Port = host, int32(port)
	return nil
}

func (f *addonsFlags) run(ctx context.Context) error {
	pools, cluster, err := f.gather(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.images:
		return f.printImages(pools)
	case f.form.value == formCalico:
		return f.printSettings(ctx, pools, cluster)
	}
	found, err := addons.Build(pools, f.options)
	if err != nil {
		return err
	}
	var text []byte
	if f.form.value == formManifests {
		text, err = found.Manifests()
	} else {
		text, err = found.ResourceSet(cluster)
		f.noteLabel(cluster)
	}
	if err != nil {
		return err
	}
	_, err = f.s.out.Write(text)
	return err
}

// printImages prints a line for each image, and notes what is missing among them.
func (f *addonsFlags) printImages(pools []addons.Pool) error {
	images, err := addons.Images(pools, f.options, smoke.DefaultImage)
	if err != nil {
		return err
	}
	for _, note := range addons.NotListed(pools) {
		screen.Note(f.s.err, "%s", note)
	}
	for _, image := range images {
		if _, err := fmt.Fprintln(f.s.out, image); err != nil {
			return err
		}
	}
	return nil
}

// noteLabel describes how the ClusterResourceSet finds the Cluster, if the files do not show that it does.
func (f *addonsFlags) noteLabel(cluster addons.Cluster) {
	if cluster.Labelled {
		return
	}
	for name, value := range addons.Label(cluster) {
		screen.Note(f.s.err,
			"a ClusterResourceSet finds its Cluster by a label; give it this one: kubectl label cluster %s -n %s %s=%s",
			cluster.Name, cluster.Namespace, name, value)
	}
}

// gather takes pools and Cluster from the files and the flags.
func (f *addonsFlags) gather(ctx context.Context) (pools []addons.Pool, cluster addons.Cluster, err error) {
	if len(f.files.files) == 0 {
		pool, err := f.claims.Complete(addons.Pool{HyperV: f.options.HyperV})
		if err != nil {
			return nil, cluster, err
		}
		cluster, err = f.claims.CompleteCluster(addons.Cluster{Namespace: *f.namespace})
		return []addons.Pool{pool}, cluster, err
	}
	work := progress.Start(f.s.err, 1)
	defer work.End()
	work.Step("reading the files")
	found, err := f.files.read(ctx, *f.namespace, f.s)
	if err != nil {
		return nil, cluster, err
	}
	type gathered struct {
		pools   []addons.Pool
		cluster addons.Cluster
	}
	result, err := await(ctx, func() (g gathered, err error) {
		g.pools, g.cluster, err = addons.Gather(found, f.files.machine, f.claims)
		return g, err
	})
	work.End()
	f.noteConflicts(result.pools)
	return result.pools, result.cluster, err
}

// noteConflicts prints each once: pools of one Cluster have some in common.
func (f *addonsFlags) noteConflicts(pools []addons.Pool) {
	var noted []string
	for _, pool := range pools {
		for _, conflict := range pool.Conflicts {
			if !slices.Contains(noted, conflict) {
				screen.Note(f.s.err, "%s", conflict)
				noted = append(noted, conflict)
			}
		}
	}
}

// printSettings prints the commands for Calico; if the user names a cluster, those for what it lacks.
func (f *addonsFlags) printSettings(ctx context.Context, pools []addons.Pool, cluster addons.Cluster) error {
	calico, err := f.askCalico(ctx)
	if err != nil {
		return err
	}
	script, err := addons.Settings(pools, cluster, calico)
	if err != nil {
		return err
	}
	for _, note := range addons.Addresses(pools, calico) {
		screen.Note(f.s.err, "%s", note)
	}
	_, err = fmt.Fprint(f.s.out, script)
	return err
}

// askCalico asks the cluster that the user names, and none else.
func (f *addonsFlags) askCalico(ctx context.Context) (*addons.Calico, error) {
	if !f.cluster.asked() {
		return nil, nil
	}
	server, err := f.cluster.server()
	if err != nil {
		return nil, err
	}
	work := progress.Start(f.s.err, 1)
	defer work.End()
	work.Step("reading Calico's settings")
	calico, err := management.Calico(ctx, server)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	return calico, err
}
