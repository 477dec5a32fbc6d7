package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/linux"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/management"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/progress"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
)

// linuxCheck is the command check linux.
type linuxCheck struct {
	cluster clusterFlags
	output  outputFlags
	// name is the Cluster whose workload cluster is asked; empty asks the cluster of the kubeconfig itself.
	name string
	s    streams
}

func checkLinuxCommand(s streams) *cobra.Command {
	c := &linuxCheck{s: s, cluster: clusterFlags{follows: true}}
	cmd := &cobra.Command{
		Use: "linux [--context NAME]", Short: "list the workloads of a cluster whose pods may come to Windows Nodes",
		Long: `Reads the Nodes, Deployments, DaemonSets and StatefulSets of a workload cluster, and prints for each workload whether its
pods stay away from Windows Nodes, are for Windows, or land there and cannot run. For one that lands it prints two commands: one
keeps its pods on Linux, the other marks it as running on both. Use the second only if that is true: it also hides the finding,
except from the gate that makes no Windows VM before cluster DNS stays on Linux. Other findings: a Windows Node has no kube-proxy,
two, or one of a wrong version; the policies that keep pods on Linux are missing or do not act, which dry runs show if you may
create configmaps in kube-system; Calico's pools have too few addresses for the pods of a Windows Node.
It changes nothing. The exit code is 1 if something lands, or if a kube-proxy is wrong.
Before there is a Windows Node, the verdicts are for a first one with the default taint. From Kubernetes 1.36 on, "next changes"
lists the workloads that the policies will give the nodeSelector kubernetes.io/os: linux when somebody changes their pod template:
those that select nothing, and either tolerate every taint or are in kube-system. The annotation capwin.io/runs-on: both leaves a
workload as it is, and capwin.io/linux-policy: warn on the Cluster all of them.
The cluster is that of --kubeconfig, --context or your current context: the workload cluster; or, with --cluster, the management
cluster that has the Cluster, by which labels, taints and kube-proxy of Nodes to come count, too. You need the right to list
Nodes, daemonsets, deployments and statefulsets.`,
		Example: `  PROGRAM check linux --kubeconfig prod.kubeconfig
  PROGRAM check linux -o json
  PROGRAM check linux --context prod
  PROGRAM check linux --context management --cluster prod -n team-a`,
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.cluster.addClusterTo(cmd, "workload", "which is read; with --cluster that of its management cluster")
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.name, "cluster", "", "`NAME` of a Cluster of the management cluster, whose workload cluster is read")
	flags.StringVarP(&c.cluster.ofObjects, "namespace", "n", "",
		"`NAMESPACE` of that Cluster; if it is not set, that of the management cluster's context, or default")
	c.output.addTo(cmd)
	completes(cmd, "cluster", cobra.NoFileCompletions)
	completes(cmd, "namespace", cobra.NoFileCompletions)
	cmd.RunE = func(*cobra.Command, []string) error {
		if c.name == "" && c.cluster.ofObjects != "" {
			return &usageError{problem: errNamespaceOfNothing, cmd: cmd}
		}
		return c.run(cmd.Context())
	}
	return cmd
}

var errNamespaceOfNothing = errors.New("--namespace is that of a Cluster: name it with --cluster NAME, or leave out --namespace")

// errLinuxFailed ends the program with exitRefused; the findings that were printed have the reason.
var errLinuxFailed = errors.New("not all pods stay where they can run, or a kube-proxy is wrong: see what failed above")

func (c *linuxCheck) run(ctx context.Context) error {
	found, addresses, err := c.read(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	return c.output.print(c.s, linux.Report(*found, addresses.Findings()...), errLinuxFailed)
}

func (c *linuxCheck) read(ctx context.Context) (*linux.Cluster, *addons.NodeAddresses, error) {
	server, err := c.cluster.server()
	if err != nil {
		return nil, nil, err
	}
	if !c.cluster.asked() {
		screen.Note(c.s.err, "reading %s; name another cluster with --context or --kubeconfig", c.cluster.followed())
	}
	work := progress.Start(c.s.err, 2)
	defer work.End()
	var machines management.Machines
	if c.name != "" {
		work.Step("reading the Cluster and its Windows machines")
		namespace, err := c.cluster.namespace()
		if err != nil {
			return nil, nil, err
		}
		if server, machines, err = management.Cluster(ctx, server, namespace, c.name); err != nil {
			return nil, nil, err
		}
	}
	work.Step("reading Nodes and workloads")
	found, addresses, err := management.Placement(ctx, server)
	if err != nil {
		return nil, nil, err
	}
	found.Add(machines)
	addresses.Add(machines)
	return found, addresses, nil
}
