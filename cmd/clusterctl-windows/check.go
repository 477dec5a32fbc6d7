package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/check"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/management"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/progress"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// checkCommand has a command below it for everything that can be checked: checkazure.go, checkvsphere.go, checklinux.go.
func checkCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "check a pool against its cloud, or a cluster's workloads against Windows",
		Long: `Checks a spec in the vCenter or in Azure before a machine is made, or a workload cluster before and after it gets Windows
Nodes. It changes nothing there, and shows no secret. The exit code is 1 if a machine of this spec cannot be made, or if pods may
come to Windows Nodes and cannot run there.`,
		// The flags of an unknown command are unknown, too, and not what is wrong.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	cmd.AddCommand(checkAzureCommand(s), checkLinuxCommand(s), checkVSphereCommand(s))
	cmd.Args = func(_ *cobra.Command, args []string) error {
		return &usageError{problem: unknownOf("what to check", namesOf(cmd), args), cmd: cmd}
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // its arguments are refused before
	return cmd
}

// cloudCheck is what the checks of clouds share: files in, findings out.
type cloudCheck struct {
	cloud, people string
	files         fileFlags
	cluster       clusterFlags
	output        outputFlags
	options       check.Options
	s             streams
}

// complete makes a command of its texts.
func (c *cloudCheck) complete(cmd *cobra.Command) *cobra.Command {
	cmd.Long += `

FILE must have a Machine and its WindowsMachine and WindowsBootstrapConfig, or a MachineDeployment and its two templates.
--machine is needed only if there are several. A Secret with the login that FILE does not have is read from the cluster of
--context or --kubeconfig. No other cluster is read.`
	cmd.DisableFlagsInUseLine, cmd.Args, cmd.ValidArgsFunction = true, noArguments, cobra.NoFileCompletions
	c.files.addTo(cmd)
	c.cluster.addTo(cmd, "which has the Secret with the login if the files do not")
	c.output.addTo(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if len(c.files.files) == 0 {
			return &usageError{problem: errNoFile, cmd: cmd}
		}
		return c.run(cmd.Context())
	}
	return cmd
}

// errCheckFailed ends the program with exitRefused; the findings that were printed have the reason.
var errCheckFailed = errors.New("a machine of this spec cannot be made: see what failed above")

func (c *cloudCheck) run(ctx context.Context) error {
	target, work, err := c.gather(ctx)
	defer work.End()
	if err != nil {
		return err
	}
	work.Step("asking " + c.people)
	found, failed := target.Run(ctx, work.Part)
	work.End()
	if ctx.Err() != nil {
		return errInterrupted
	}
	for _, note := range target.Notes {
		screen.Note(c.s.err, "%s", note)
	}
	if found == nil && failed != nil {
		found, failed = []cloud.Finding{{Check: "credentials", Result: cloud.CheckFailed, Text: failed.Error()}}, nil
	}
	err = c.output.print(c.s, report.NewList(found), errCheckFailed)
	if failed != nil {
		screen.Note(c.s.err, "the session at the vCenter may be open until it ends by itself: %v", failed)
	}
	return err
}

// gather reads the files, and from the management cluster what they lack.
func (c *cloudCheck) gather(ctx context.Context) (*check.Target, *progress.Work, error) {
	work := progress.Start(c.s.err, 3)
	namespace, err := c.cluster.namespace()
	if err != nil {
		return nil, work, err
	}
	work.Step("reading the files")
	found, err := c.files.read(ctx, namespace, c.s)
	if err != nil {
		return nil, work, err
	}
	work.Step("reading the login")
	if err := c.addSecret(ctx, found); err != nil {
		return nil, work, err
	}
	target, err := await(ctx, func() (*check.Target, error) { return check.Gather(found, c.cloud, c.files.machine, c.options) })
	return target, work, err
}

// addSecret adds the Secret with the login, if the files lack it and the user has named a cluster.
func (c *cloudCheck) addSecret(ctx context.Context, found *objects.Set) error {
	key, missing := check.MissingSecret(found, c.files.machine)
	if !missing || !c.cluster.asked() {
		return nil
	}
	server, err := c.cluster.server()
	if err != nil {
		return err
	}
	secret, err := management.Secret(ctx, server, key)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return fmt.Errorf("%w; or add the Secret with another -f", err)
	}
	secrets, err := objects.Read([]string{"-"}, key.Namespace, bytes.NewReader(secret))
	if err != nil {
		return fmt.Errorf("read Secret %s of the cluster: %w", key, err)
	}
	for i := range secrets.Items {
		secrets.Items[i].Place = "the cluster"
	}
	found.Items = append(found.Items, secrets.Items...)
	return nil
}
