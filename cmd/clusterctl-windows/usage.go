package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is an invalid command line. What follows it is short: all of the help would hide it.
type usageError struct {
	problem error
	cmd     *cobra.Command
}

// Error returns the problem without the help.
func (e *usageError) Error() string { return e.problem.Error() }

// Unwrap returns the problem.
func (e *usageError) Unwrap() error { return e.problem }

func (e *usageError) help() string {
	if !e.cmd.HasParent() {
		return e.cmd.UsageString()
	}
	return fmt.Sprintf("Usage:\n%s\nRun \"%s --help\" for the details.\n", usageLines(e.cmd), e.cmd.CommandPath())
}

// usageLines are the command's, or those of the commands below it.
func usageLines(cmd *cobra.Command) string {
	if !cmd.HasAvailableSubCommands() {
		return "  " + cmd.UseLine() + "\n"
	}
	var lines strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			lines.WriteString(usageLines(sub))
		}
	}
	return lines.String()
}

// printUsage is what --help prints below the text of a command.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	if !cmd.HasParent() {
		fmt.Fprintf(w, "Usage:\n  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(w, "Usage:\n%s", usageLines(cmd))
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(cmd)
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", cmd.LocalFlags().FlagUsages())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun \"%s COMMAND --help\" for the details of a command.\n", cmd.CommandPath())
	}
	return nil
}

// printCommands lists the commands below one, by their groups if they have some.
func printCommands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(cmd.OutOrStdout(), "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
}

// flagError describes what is wrong with a flag, and suggests which one was meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		err = fmt.Errorf("%w%s", err, hintAt(unknown, cmd))
	}
	return &usageError{problem: err, cmd: cmd}
}

// hintAt suggests a flag instead of an unknown one. Letters behind a single dash are a flag each: several of them may be the name
// of one.
func hintAt(unknown *pflag.NotExistError, cmd *cobra.Command) string {
	letters := unknown.GetSpecifiedShortnames()
	switch {
	case unknown.GetSpecifiedName() == "as": // in kubectl it names who is impersonated
		return "; no command impersonates a user, and addons has --form FORM"
	case unknown.GetSpecifiedName() == "o" && cmd.Name() == "plan":
		return "; plan prints text only: render -o DIR writes the plan as JSON, to DIR/node.json"
	case len(letters) == 1:
		return ""
	case len(letters) > 1:
		return didYouMean(letters, flagsOf(cmd))
	}
	return didYouMean(unknown.GetSpecifiedName(), flagsOf(cmd))
}

func flagsOf(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// helpCommand is "help COMMAND", which some write instead of "COMMAND --help".
func helpCommand(root *cobra.Command, group string) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "print the help of a command", Example: "  PROGRAM help plan", GroupID: group,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if cmd, _, err := root.Find(args); err == nil {
				return namesOf(cmd), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if err := unknownCommand(cmd, rest); err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
