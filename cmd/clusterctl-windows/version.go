package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/internal/version"
)

func versionCommand(s streams) *cobra.Command {
	format := choice{allowed: []string{"json", "yaml"}}
	cmd := &cobra.Command{
		Use: "version [-o json|yaml]", Short: "print the version of this program",
		Example:               "  PROGRAM version\n  PROGRAM version -o json",
		DisableFlagsInUseLine: true, Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error { return printVersion(format.value, s) },
	}
	cmd.Flags().VarP(&format, "output", "o", "print it as `json|yaml` instead of a line")
	completes(cmd, "output", cobra.FixedCompletions(format.allowed, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// build has the names that clusterctl version -o json gives to the same.
type build struct {
	GitVersion string `json:"gitVersion"`
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
}

// printVersion prints a line without a format.
func printVersion(format string, s streams) error {
	const program = "clusterctl-windows"
	if format == "" {
		_, err := fmt.Fprintln(s.out, version.Line(program))
		return err
	}
	data, err := json.MarshalIndent(map[string]build{
		program: {version.Get(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write version: %w", err)
	}
	data = append(data, '\n')
	if format == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("write version: %w", err)
		}
	}
	_, err = s.out.Write(data)
	return err
}
