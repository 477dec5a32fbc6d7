package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/diff"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/progress"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/summary"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/words"
)

// aboutFiles is for commands that show one machine.
const aboutFiles = `

FILE must have the Cluster, and either the Machine with its WindowsMachine and WindowsBootstrapConfig, or a MachineDeployment
with its two templates, for which NAME is any name that begins with its own. A Cluster with a topology is expanded as Cluster API
does, if FILE has its ClusterClass and the templates of that, as clusterctl generate cluster --flavor windows prints them. All
objects of this provider and of Cluster API in FILE are checked.
The files in git are enough: placeholders stand for UIDs, the endpoint of the API server, the cluster's CA and the bootstrap
token, and notes list them, and each Secret or ConfigMap that is missing. To see the real values, add the objects that have them:
the CA is in Secret CLUSTER-ca (leave out its tls.key, the private key), the token in the machine's bootstrap Secret or in a
Secret of type bootstrap.kubernetes.io/token.`

func planCommand(s streams) *cobra.Command {
	var files fileFlags
	var old []string
	cmd := &cobra.Command{
		Use: "plan -f FILE [--machine NAME] [--diff OLD]", Short: "print what a guest would do, step by step",
		Long: `Prints a summary of the node and of what it waits for, and then the plan of the machine's guest: its phases and steps,
what each step changes, and the reason it fails with. Secrets are masked.
With --diff, it compares FILE with OLD, an earlier version of it: for each pool, or for that of NAME, it prints whether Cluster
API replaces its machines, and what of a node changes: fields, steps, and lines of files. OLD, such as from
git show main:pool.yaml > old.yaml, must have all that FILE must have. The exit code is 0 whether something differs or not.` +
			aboutFiles,
		Example: "  PROGRAM plan -f cluster.yaml -f pool.yaml --machine prod-windows-1\n" +
			"  PROGRAM plan -f cluster.yaml -f pool.yaml --diff cluster.yaml --diff old.yaml",
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	files.addTo(cmd)
	cmd.Flags().StringSliceVar(&old, "diff", nil, "compare with the earlier version in `OLD`, which is read as -f reads FILE")
	completes(cmd, "diff", completeFiles)
	namespace := addNamespace(cmd.Flags())
	cmd.RunE = func(*cobra.Command, []string) error {
		switch {
		case len(files.files) == 0:
			return &usageError{problem: errNoFile, cmd: cmd}
		case slices.Contains(files.files, "-") && slices.Contains(old, "-"):
			return &usageError{problem: errOneInput, cmd: cmd}
		case len(old) > 0:
			return files.compare(cmd.Context(), fileFlags{files: old}, *namespace, s)
		}
		m, err := files.gather(cmd.Context(), *namespace, s)
		if err != nil {
			return err
		}
		return printPlan(m, s.out)
	}
	return cmd
}

var errOneInput = errors.New("standard input is either FILE or OLD; name a file for the other")

// compare prints what differs from an earlier version of the files.
func (f *fileFlags) compare(ctx context.Context, old fileFlags, namespace string, s streams) error {
	work := progress.Start(s.err, 2)
	defer work.End()
	work.Step("reading the files")
	current, err := f.read(ctx, namespace, s)
	if err != nil {
		return err
	}
	previous, err := old.read(ctx, namespace, s)
	if err != nil {
		return err
	}
	work.Step("comparing the plans")
	text, err := await(ctx, func() (string, error) {
		left, right := diff.Side{Named: previous.Source, Files: previous}, diff.Side{Named: current.Source, Files: current}
		return diff.Text(left, right, f.machine)
	})
	if err != nil {
		return err
	}
	work.End()
	_, err = io.WriteString(s.out, text)
	return err
}

// gather reads the files, collects the machine that is shown, and prints its notes.
func (f *fileFlags) gather(ctx context.Context, namespace string, s streams) (*preview.Machine, error) {
	work := progress.Start(s.err, 2)
	defer work.End()
	work.Step("reading the files")
	found, err := f.read(ctx, namespace, s)
	if err != nil {
		return nil, err
	}
	work.Step("rendering the machine")
	m, err := await(ctx, func() (*preview.Machine, error) { return preview.Gather(found, f.machine) })
	if err != nil {
		return nil, err
	}
	work.End()
	for _, note := range m.Notes {
		screen.Note(s.err, "%s", note)
	}
	return m, nil
}

func printPlan(m *preview.Machine, out io.Writer) error {
	p := m.Shown.Plan
	if p == nil && m.Guest.Plan != nil {
		return fmt.Errorf("the plan in Secret %s is not shown; use render with --show-secrets", m.StoredIn)
	}
	if p == nil {
		return fmt.Errorf("this release cannot read the plan in Secret %s; use the release that rendered it", m.StoredIn)
	}
	_, err := io.WriteString(out, summary.Text(m)+"\n"+words.Tell(p))
	return err
}
