package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/progress"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/screen"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/summary"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/words"
)

// aboutFiles is for commands that show one machine.
const aboutFiles = `

FILE must have the Cluster, and either the Machine with its WindowsMachine and WindowsBootstrapConfig, or a MachineDeployment with
its two templates. NAME is then any name that begins with that of the MachineDeployment. A Cluster with a topology is expanded
as Cluster API does, if FILE has its ClusterClass and the templates of that, as clusterctl generate cluster --flavor windows prints
them. All objects of this provider and of Cluster API in FILE are checked, also those that the machine does not need.
The files in git are enough: placeholders stand for UIDs, the endpoint of the API server, the cluster's CA and the bootstrap token
if FILE does not have them, and one note lists them. A missing Secret or ConfigMap that the config refers to has a note of its own.
To see the real values, add the objects that have them: the CA is in Secret CLUSTER-ca (leave out its tls.key, the private key),
the token in the machine's bootstrap Secret or in a Secret of type bootstrap.kubernetes.io/token.`

func planCommand(s streams) *cobra.Command {
	var files fileFlags
	cmd := &cobra.Command{
		Use: "plan -f FILE [--machine NAME]", Short: "print what a guest would do, step by step",
		Long: `Prints a summary of the node and of what it waits for, and then the plan of the machine's guest: its phases and steps, what
each step changes, and the reason it fails with. Secrets are masked.` + aboutFiles,
		Example:               "  PROGRAM plan -f cluster.yaml -f pool.yaml --machine prod-windows-1",
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	files.addTo(cmd)
	namespace := addNamespace(cmd.Flags())
	cmd.RunE = func(*cobra.Command, []string) error {
		if len(files.files) == 0 {
			return &usageError{problem: errNoFile, of: cmd}
		}
		m, err := files.gather(cmd.Context(), *namespace, s)
		if err != nil {
			return err
		}
		return printPlan(m, s.out)
	}
	return cmd
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
