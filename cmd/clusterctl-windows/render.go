package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
)

func renderCommand(s streams) *cobra.Command {
	var files fileFlags
	var folder string
	var showSecrets bool
	cmd := &cobra.Command{
		Use: "render -f FILE [--machine NAME] -o DIR", Short: "write the files that a guest would get",
		Long: `Writes the files that the machine's guest would get to DIR, replacing those of an earlier call, all or none:
  userdata   what cloudbase-init runs; with --show-secrets, the exact bytes
  metadata   on vSphere, the exact bytes that give the computer its name
  node.json  the plan in userdata, indented for reading and comparing
Values of Secrets are placeholders without --show-secrets. Certificates and the address of the API server are always shown.
If FILE has the machine's bootstrap Secret, these are the files that the guest got, and a note compares them with what
this release would render.` + aboutFiles,
		Example:               "  PROGRAM render -f cluster.yaml -f pool.yaml --machine prod-windows-1 -o rendered",
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	files.addTo(cmd)
	namespace := addNamespace(cmd.Flags())
	cmd.Flags().StringVarP(&folder, "output", "o", "", "`DIR` to write to, created if missing")
	cmd.Flags().BoolVar(&showSecrets, "show-secrets", false, "write secrets in clear to userdata and node.json")
	completes(cmd, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	cmd.RunE = func(*cobra.Command, []string) error {
		switch {
		case len(files.files) == 0:
			return &usageError{problem: errNoFile, cmd: cmd}
		case folder == "":
			return &usageError{problem: errNoFolder, cmd: cmd}
		}
		m, err := files.gather(cmd.Context(), *namespace, s)
		if err != nil {
			return err
		}
		return render(cmd.Context(), m, folder, showSecrets, s)
	}
	return cmd
}

var errNoFolder = errors.New("-o DIR is missing")

func render(ctx context.Context, m *preview.Machine, folder string, showSecrets bool, s streams) error {
	files, err := m.Files(showSecrets)
	if err != nil {
		return err
	}
	if files[0].Content == nil {
		screen.Note(s.err, "userdata and node.json are not written, because their secrets cannot be masked; use --show-secrets")
	}
	if err := replace(ctx, folder, files); err != nil {
		return err
	}
	for _, file := range files {
		if file.Content != nil {
			fmt.Fprintf(s.out, "%s: %d bytes, %s\n", filepath.Join(folder, file.Name), len(file.Content), file.Description)
		}
	}
	return nil
}

// replace writes all files. What is begun is ended, whatever signals come.
func replace(ctx context.Context, folder string, files []preview.File) error {
	replacing.Lock()
	defer replacing.Unlock()
	if ctx.Err() != nil {
		return errInterrupted
	}
	return preview.Write(folder, files)
}
