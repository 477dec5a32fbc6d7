package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
)

// formats are those of kubectl, by kubectl's own printers.
var formats = map[string]printers.ResourcePrinter{
	"json": &printers.JSONPrinter{}, "yaml": &printers.YAMLPrinter{}, "name": &printers.NamePrinter{ShortOutput: true},
}

// outputFlags say in which format a command prints its findings.
type outputFlags struct {
	format choice
}

func (f *outputFlags) addTo(cmd *cobra.Command) {
	f.format.allowed = []string{"json", "yaml", "name"}
	cmd.Flags().VarP(&f.format, "output", "o", "print the findings as `json|yaml|name` instead of a table")
	completes(cmd, "output", cobra.FixedCompletions(f.format.allowed, cobra.ShellCompDirectiveNoFileComp))
}

// print prints findings, and returns the error for a check that has failed.
func (f *outputFlags) print(s streams, found *report.FindingList, failed error) error {
	if err := f.write(s, found); err != nil || !found.Failed() {
		return err
	}
	return failed
}

// write writes findings as kubectl prints objects, or as a table.
func (f *outputFlags) write(s streams, found *report.FindingList) error {
	if f.format.value == "" {
		return report.WriteTable(s.out, found)
	}
	printer := formats[f.format.value]
	if f.format.value != "name" {
		return printer.PrintObj(found, s.out)
	}
	// The printer of names takes one object at a time.
	for i := range found.Items {
		if err := printer.PrintObj(&found.Items[i], s.out); err != nil {
			return err
		}
	}
	return nil
}

// choice is the value of a flag that has a few values.
type choice struct {
	value   string
	allowed []string
}

// String returns the value.
func (c *choice) String() string { return c.value }

// Type is the help's text for the value.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// Set refuses other values.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("use one of %s%s", strings.Join(c.allowed, ", "), didYouMean(value, c.allowed))
	}
	c.value = value
	return nil
}
