package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/progress"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/smoke"
)

// noHost is the value of --outwards that tries no connection out of the cluster.
const noHost = "none"

// smokeTest is the command smoke.
type smokeTest struct {
	cluster  clusterFlags
	output   outputFlags
	options  smoke.Options
	outwards string
	s        streams
}

func smokeCommand(s streams) *cobra.Command {
	c := &smokeTest{s: s}
	cmd := &cobra.Command{
		Use: "smoke --kubeconfig FILE", Short: "try what pods on Windows nodes need of a workload cluster",
		Long: `Starts pods on a Linux Node and on one Windows Node of each build of Windows, and tries by TCP: from a Linux pod to a
Windows pod, its Service and its NodePort; from the Windows node to the pod and its Service; from a Windows pod to a Linux pod,
its Service and its name, and to a server outside of the cluster. Then it asks the node's kubelet for exec, logs and metrics. Each
test is retried twice, for at most two minutes. The exit code is 1 if one fails, and the table names where to look.
Windows nodes pull the Kubernetes project's image agnhost for minutes the first time. Where nodes do not reach registry.k8s.io,
copy it with all of its platforms, and name the copy with --registry and --tag.
All is in a namespace capwin-smoke-XXXXX, which is removed in the end, and at Ctrl-C; press that twice, and the namespace stays.
Its Pod Security level is privileged, for a HostProcess pod. Linux pods run on the control plane if no other Linux Node takes
them. You need the rights of cluster-admin, or those to list Nodes and namespaces, to make and delete namespaces, to make
Services and pods in a new namespace, to read the pods, their logs and events, to exec in them, and to get nodes/proxy.`,
		Example: `  PROGRAM smoke --kubeconfig prod.kubeconfig
  PROGRAM smoke --context prod --node prod-windows-x7k2p --outwards none -o json
  PROGRAM smoke --context prod --registry registry.example.com/mirror/e2e-test-images --outwards proxy.example.com:3128`,
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.cluster.addClusterTo(cmd, "workload", "whose Windows Nodes are tried")
	flags.StringArrayVar(&c.options.Nodes, "node", nil,
		"`NAME` of a Windows Node; repeatable (default one of each build of Windows)")
	flags.StringVar(&c.options.Registry, "registry", smoke.DefaultRegistry, "`REGISTRY` and path of the image agnhost")
	flags.StringVar(&c.options.Tag, "tag", smoke.DefaultTag, "`TAG` of the image agnhost")
	flags.StringVar(&c.outwards, "outwards", "",
		"`HOST:PORT` of a server outside of the cluster, or none to try none (default the registry's)")
	flags.DurationVar(&c.options.Start, "timeout", 10*time.Minute, "`DURATION` that a pod may take until it runs")
	c.output.addTo(cmd)
	for _, flag := range []string{"node", "registry", "tag", "outwards", "timeout"} {
		completes(cmd, flag, cobra.NoFileCompletions)
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := c.complete(); err != nil {
			return &usageError{problem: err, cmd: cmd}
		}
		return c.run(cmd.Context())
	}
	return cmd
}

// complete checks the flags, and fills in what depends on others.
func (c *smokeTest) complete() error {
	switch {
	case !c.cluster.asked():
		return errors.New("name the workload cluster, in which privileged pods are started: --kubeconfig FILE, as clusterctl get " +
			"kubeconfig writes it, or --context NAME")
	case c.options.Registry == "" || c.options.Tag == "":
		return errors.New("--registry and --tag must not be empty")
	case c.options.Start <= 0:
		return fmt.Errorf("--timeout %s: a pod needs some time; write a duration such as 10m", c.options.Start)
	}
	switch c.outwards {
	case noHost:
		c.options.Outwards = ""
	case "":
		c.options.Outwards = serverOf(c.options.Registry)
	default:
		if _, _, err := readHostPort(c.outwards); err != nil {
			return fmt.Errorf("--outwards %s: write HOST:PORT, such as example.com:443, or %s", c.outwards, noHost)
		}
		c.options.Outwards = c.outwards
	}
	return nil
}

// serverOf is the HOST:PORT of a registry. One without a dot and a port is a name at Docker Hub, as containerd takes it.
func serverOf(registry string) string {
	host, _, _ := strings.Cut(registry, "/")
	switch {
	case strings.Contains(host, ":"):
		return host
	case !strings.Contains(host, "."):
		host = "docker.io"
	}
	return net.JoinHostPort(host, "443")
}

// errSmokeFailed ends the program with exitRefused; the findings that were printed have the reason.
var errSmokeFailed = errors.New("not all connections of Windows pods hold: see what failed above")

func (c *smokeTest) run(ctx context.Context) error {
	server, err := c.cluster.server()
	if err != nil {
		return err
	}
	asking := progress.Start(c.s.err, 1)
	defer asking.End()
	asking.Step("reading rights and Nodes of the cluster")
	plan, err := smoke.Prepare(ctx, server, c.options)
	asking.End()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	work := progress.Start(c.s.err, plan.Steps())
	found, failed := plan.Run(ctx, work.Step)
	work.End()
	if ctx.Err() != nil {
		return c.interrupted(failed)
	}
	if found == nil {
		return failed
	}
	return cmp.Or(failed, c.output.print(c.s, report.NewList(found), errSmokeFailed))
}

// interrupted reports a namespace that could not be removed, beside that the user has ended the program.
func (c *smokeTest) interrupted(failed error) error {
	if left := smoke.Left(failed); left != nil {
		screen.Note(c.s.err, "%v", left)
	}
	return errInterrupted
}
