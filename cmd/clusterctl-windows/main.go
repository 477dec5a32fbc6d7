// Command clusterctl-windows shows, offline, what a Windows machine will get and what it will do with it. It also compares a spec
// with its cloud, and tries what pods of a cluster reach. It is a plugin of clusterctl, "clusterctl windows", and under the name
// kubectl-capwin one of kubectl.
//
// The work is in the folders beside it: it reads objects from files and checks them as an API server would (objects), collects
// what the controllers would and renders it (preview), describes the plan in sentences (words) below a summary (summary),
// compares two versions of it (diff), prints what a cluster needs beside its pools (addons), asks a cloud (check) or a cluster
// (management), tests a workload cluster (smoke), shows its progress (progress), and prints what it found (report). It reaches
// clusters in one way (remote), and prints in one place (screen).
//
// Each command has a file of its own (root.go lists them), and is put together from three sets of flags: the files it reads
// (fileflags.go), the cluster it asks (clusterflags.go) and the format of its findings (outputflags.go). A further check of
// a cloud is one more command below check. No command has -o or -n with two meanings: one that writes files has no format.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
)

func main() {
	os.Exit(run(interruptible(context.Background()), os.Args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are the program's input and outputs: results go to out; notes, errors and progress to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes of the program. docs/clusterctl-windows.md has them, too.
const (
	exitDone        = 0
	exitRefused     = 1   // the objects are invalid or incomplete, or a check has failed
	exitUsage       = 2   // the command line is invalid
	exitInterrupted = 130 // Ctrl-C, as shells count it
)

// run carries out the command line; its first argument is the program.
func run(ctx context.Context, args []string, s streams) int {
	klog.SetLogger(logr.Discard()) // logs of libraries are for servers: a user reads errors and findings
	// All output is cleaned, because it quotes files, servers and clouds.
	s.out, s.err = screen.New(s.out), screen.New(s.err)
	called := calledAs(args[0])
	root := newRoot(called, s)
	arguments := append([]string{}, slices.Concat(called.args, args[1:])...) // never nil: cobra reads os.Args instead then
	if completing(arguments) {
		unquoteUsages(root)
	}
	root.SetArgs(arguments)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		screen.Error(s.err, err)
		return exitInterrupted
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		screen.Error(s.err, err)
		fmt.Fprintf(s.err, "\n%s", usage.help())
		return exitUsage
	}
	screen.Error(s.err, err)
	return exitRefused
}
