// Command clusterctl-windows shows, offline, what a Windows machine will get and what it will do with it. It also compares a spec
// with its cloud. It is a plugin of clusterctl: "clusterctl windows".
//
// The work is in internal/plugin: it reads objects from files and checks them as an API server would (objects), collects what the
// controllers would and renders it (preview), tells the plan in words (words), and asks a cloud (check).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
	"github.com/capwin/cluster-api-provider-windows/internal/version"
)

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are the program's input and outputs: results go to out, notes and errors to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes of the program.
const (
	exitDone    = 0
	exitRefused = 1 // the objects are invalid or incomplete
	exitUsage   = 2 // the command line is invalid
)

func run(args []string, s streams) int {
	err := dispatch(args, s)
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(s.err, "%v\n\n%s", err, usage.help)
		return exitUsage
	}
	fmt.Fprintln(s.err, err)
	return exitRefused
}

func dispatch(args []string, s streams) error {
	if len(args) == 0 {
		return &usageError{problem: "a command is missing", help: overview()}
	}
	switch args[0] {
	case "-h", "--help", "help":
		return help(args[1:], s)
	case "--version", "version":
		fmt.Fprintln(s.out, version.Line("clusterctl-windows"))
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.start(args[1:], s)
		}
	}
	return &usageError{problem: fmt.Sprintf("unknown command %q", args[0]), help: overview()}
}

// help prints the help of a command, or an overview.
func help(args []string, s streams) error {
	for _, c := range commands {
		if len(args) > 0 && c.name == args[0] {
			fmt.Fprint(s.out, c.help())
			return nil
		}
	}
	fmt.Fprint(s.out, overview())
	return nil
}

func (c command) start(args []string, s streams) error {
	o, err := c.parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(s.out, c.help())
		return nil
	}
	if err != nil {
		return &usageError{problem: err.Error(), help: c.short()}
	}
	found, err := objects.Read(o.files, o.namespace, s.in)
	if err != nil {
		return err
	}
	return c.run(found, o, s)
}

// gather collects the machine that is shown, and prints its notes.
func gather(found *objects.Set, o options, s streams) (*preview.Machine, error) {
	m, err := preview.Gather(found, o.machine)
	if err != nil {
		return nil, err
	}
	for _, note := range m.Notes {
		fmt.Fprintf(s.err, "note: %s\n", note)
	}
	return m, nil
}
