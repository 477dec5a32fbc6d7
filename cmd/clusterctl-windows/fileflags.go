package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/topology"
)

// fileFlags are the files that a command reads, and which machine of them is meant.
type fileFlags struct {
	files   []string
	machine string
}

func (f *fileFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVarP(&f.files, "filename", "f", nil,
		"`FILE` or folder with the objects in YAML or JSON, - for standard input; repeatable, or with commas")
	flags.StringVar(&f.machine, "machine", "", "`NAME` of the machine, or NAMESPACE/NAME, if there are several")
	completes(cmd, "filename", completeFiles)
	completes(cmd, "machine", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return f.machines(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFiles offers files with objects, and folders.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// addNamespace is for commands that ask no cluster. Those that ask one have clusterFlags, whose -n is kubectl's.
func addNamespace(flags *pflag.FlagSet) *string {
	return flags.StringP("namespace", "n", "default", "`NAMESPACE` of objects without a namespace")
}

// completes sets what a shell offers for the value of a flag.
func completes(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	// It fails only for a flag that the command does not have, and a test completes each of ours.
	_ = cmd.RegisterFlagCompletionFunc(flag, f)
}

var errNoFile = errors.New("-f FILE is missing")

// read reads the files. A user may interrupt it, because a pipe may never end.
func (f *fileFlags) read(ctx context.Context, namespace string, s streams) (*objects.Set, error) {
	return await(ctx, func() (*objects.Set, error) { return readFiles(f.files, namespace, s.in) })
}

// readFiles reads files, folders and patterns.
func readFiles(named []string, namespace string, in io.Reader) (*objects.Set, error) {
	paths, err := pathsOf(named)
	if err != nil {
		return nil, err
	}
	found, err := objects.Read(paths, namespace, in)
	if err == nil && len(paths) > len(named) {
		found.Source = strings.Join(named, ", ") // shorter than all files of a folder
	}
	return found, err
}

// machines are those in the files, and for each MachineDeployment one that it would make. What cannot be read has none.
func (f *fileFlags) machines() (names []string) {
	if slices.Contains(f.files, "-") {
		return nil // the shell's own input
	}
	found, err := readFiles(f.files, "default", strings.NewReader(""))
	if err != nil {
		return nil
	}
	_ = topology.Admit(found) // what it refuses has no names, and the command itself prints why
	for _, object := range found.OfKind("Machine") {
		names = append(names, object.Key.Name)
	}
	deployments, err := preview.Deployments(found)
	if err != nil {
		return nil
	}
	for _, deployment := range deployments {
		names = append(names, deployment.Name+"-1")
	}
	slices.Sort(names) // a shell asks twice with the same flags, so that each file is read twice
	return slices.Compact(names)
}
