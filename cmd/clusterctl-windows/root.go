package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// calling is how the program was called, which its name decides: the same program is a plugin of clusterctl and of kubectl.
type calling struct {
	// program is the name of the file, and shown what a user writes to run it.
	program, shown string
	// args are arguments that the name stands for.
	args []string
}

func calledAs(path string) calling {
	switch strings.TrimSuffix(filepath.Base(path), ".exe") {
	case "kubectl-capwin":
		return calling{program: "kubectl-capwin", shown: "kubectl capwin", args: []string{}}
	case "kubectl_complete-capwin":
		// kubectl runs the program of this name to complete a plugin's arguments: https://github.com/kubernetes/kubernetes/pull/105867.
		return calling{program: "kubectl-capwin", shown: "kubectl capwin", args: []string{cobra.ShellCompRequestCmd}}
	}
	return calling{program: "clusterctl-windows", shown: "clusterctl windows", args: []string{}}
}

// The groups of commands in the overview.
const (
	fromFiles = "files"
	asking    = "asking"
	aboutUs   = "program"
)

func newRoot(called calling, s streams) *cobra.Command {
	root := &cobra.Command{
		Use: called.program, Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: called.shown},
		Long: "Shows what a Windows machine of Cluster API will get, and what it will do with it.\n" +
			"Only check and smoke talk to a cloud or a cluster, and addons if you name one.",
		SilenceErrors: true, SilenceUsage: true,
	}
	showVersion := root.Flags().Bool("version", false, "print the version of this program")
	root.Args = func(_ *cobra.Command, args []string) error { return unknownCommand(root, args) }
	root.RunE = func(*cobra.Command, []string) error {
		if *showVersion {
			return printVersion("", s)
		}
		return root.Help() // as kubectl and clusterctl do
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: fromFiles, Title: "Look at a machine before it is made, from files:"},
		&cobra.Group{ID: asking, Title: "Check before and after:"},
		&cobra.Group{ID: aboutUs, Title: "This program:"},
	)
	for group, commands := range map[string][]*cobra.Command{
		fromFiles: {planCommand(s), renderCommand(s)},
		asking:    {addonsCommand(s), checkCommand(s), smokeCommand(s)},
		aboutUs:   {versionCommand(s), completionCommand(s)},
	} {
		for _, sub := range commands {
			sub.GroupID = group
			root.AddCommand(sub)
		}
	}
	root.SetHelpCommand(helpCommand(root, aboutUs))
	root.InitDefaultHelpCmd()
	shownAs(root, called.shown)
	return root
}

// shownAs puts the name that the program was called by into examples and texts.
func shownAs(cmd *cobra.Command, shown string) {
	cmd.Example = strings.ReplaceAll(cmd.Example, "PROGRAM", shown)
	cmd.Long = strings.ReplaceAll(cmd.Long, "PROGRAM", shown)
	for _, sub := range cmd.Commands() {
		shownAs(sub, shown)
	}
}

// unknownCommand is an error if there is an argument where a command should be.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{
		problem: fmt.Errorf("unknown command %q%s", args[0], didYouMean(args[0], namesOf(cmd))), cmd: cmd,
	}
}

// noArguments is an error if a flag's name was forgotten.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("filename") != nil {
		hint = manyFiles(args[0])
	}
	return &usageError{problem: fmt.Errorf("unexpected argument %q%s", args[0], hint), cmd: cmd}
}

// namesOf the commands below one.
func namesOf(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}
