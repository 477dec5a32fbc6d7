package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/progress"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/screen"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/words"
)

// aboutFiles is for commands that show one machine.
const aboutFiles = `

FILE must have the Cluster, Machine, WindowsMachine, WindowsBootstrapConfig, and the Secrets and ConfigMaps
that the config refers to. Instead of the Machine and its two objects, FILE may have a MachineDeployment and its two templates:
NAME is then the name of a machine that it would make. A Cluster with a topology is expanded as Cluster API does, if FILE has its
ClusterClass and the templates of that, as clusterctl generate cluster --flavor windows prints them.
All objects of this provider and of Cluster API are checked; those that the machine does not need are not used.
The cluster's CA comes from the Secret CLUSTER-ca, the bootstrap token from the machine's bootstrap Secret or from a Secret of
type bootstrap.kubernetes.io/token. If there is no CA or no token, or if an object has no UID yet, a placeholder is used and a
note says so: in a review, the files that you commit are enough.`

func planCommand(s streams) *cobra.Command {
	var files fileFlags
	cmd := &cobra.Command{
		Use: "plan -f FILE --machine NAME", Short: "print what a guest would do, step by step",
		Long: `Prints the plan of the machine's guest: its phases and steps, what each step changes, and the reason it fails with.
Secrets are masked.` + aboutFiles,
		Example:               "  PROGRAM plan -f cluster.yaml -f pool.yaml --machine prod-windows-1",
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	files.addTo(cmd)
	namespace := addNamespace(cmd.Flags())
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := files.needMachine(cmd); err != nil {
			return err
		}
		m, err := files.gather(cmd.Context(), *namespace, s)
		if err != nil {
			return err
		}
		return printPlan(m, s.out)
	}
	return cmd
}

// needMachine is an error if the command line does not say which machine to show.
func (f *fileFlags) needMachine(cmd *cobra.Command) error {
	switch {
	case len(f.files) == 0:
		return &usageError{problem: errNoFile, of: cmd}
	case f.machine == "":
		return &usageError{problem: errNoMachine, of: cmd}
	}
	return nil
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
	work.Step("rendering " + f.machine)
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
	fmt.Fprintf(out, "Machine %s/%s of Cluster %s becomes Node %s with Kubernetes %s.\n",
		p.Machine.Namespace, p.Machine.Name, p.Machine.Cluster, p.Machine.Node, m.Owner.Spec.Version)
	_, err := io.WriteString(out, words.Tell(p))
	return err
}
