package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shells write the script that a shell needs to complete this program's arguments.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
}

func completionCommand(s streams) *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use: "completion bash|fish|powershell|zsh", Short: "print the script that completes commands and flags in a shell",
		Long: `Prints a script that has a shell complete the arguments of clusterctl-windows, or of kubectl-capwin if it was called by
that name. The script for bash needs the package bash-completion.
  bash        source <(clusterctl-windows completion bash), in ~/.bashrc
  zsh         source <(clusterctl-windows completion zsh), in ~/.zshrc after compinit
  fish        clusterctl-windows completion fish | source, in ~/.config/fish/config.fish
  PowerShell  clusterctl-windows completion powershell | Out-String | Invoke-Expression, in $PROFILE
kubectl completes "kubectl capwin" by itself if this program is in your PATH as kubectl_complete-capwin, too. clusterctl hands no
completion to its plugins: write clusterctl-windows, with a hyphen.`,
		Example:               "  PROGRAM completion bash",
		DisableFlagsInUseLine: true, ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && shells[args[0]] != nil {
				return nil
			}
			return &usageError{problem: unknownOf("a shell", names, args), cmd: cmd}
		},
		RunE: func(cmd *cobra.Command, args []string) error { return shells[args[0]](cmd.Root(), s.out) },
	}
}

// completing reports whether a shell asks what may follow.
func completing(arguments []string) bool {
	return len(arguments) > 0 && (arguments[0] == cobra.ShellCompRequestCmd || arguments[0] == cobra.ShellCompNoDescRequestCmd)
}

// unquoteUsages takes the backquotes out of the texts of all flags, by which pflag finds the name of a value: cobra hands the
// texts to a shell as they are.
func unquoteUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { _, flag.Usage = pflag.UnquoteUsage(flag) })
	for _, sub := range cmd.Commands() {
		unquoteUsages(sub)
	}
}

// unknownOf names which words there are where one of them is needed.
func unknownOf(subject string, choices, args []string) error {
	text := fmt.Sprintf("name %s: %s", subject, strings.Join(choices, ", "))
	if len(args) > 0 {
		text += didYouMean(args[0], choices)
	}
	return errors.New(text)
}
