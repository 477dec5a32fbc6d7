package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// command is a subcommand of the program.
type command struct {
	name, does, usage, about string
	// writes is true for a command that writes files, and therefore has flags for a folder and for secrets.
	writes bool
	run    func(m *machine, o options, s streams) error
}

var commands = []command{
	{
		name: "render", does: "write the files that a guest would get", usage: "render -f FILE --machine NAME -o DIR",
		about: `Writes the files that the machine's guest would get to DIR, replacing those of an earlier call:
  userdata   what cloudbase-init runs; with --show-secrets, the exact bytes
  metadata   on vSphere, the exact bytes that give the computer its name
  node.json  the plan in userdata, indented for reading and comparing
Wherever a Secret has a value, userdata and node.json have a placeholder; --show-secrets writes the value. Certificates and
the address of the API server are always shown.
If FILE has the machine's bootstrap Secret, these are the files that the guest got, and a note says whether this release
would render the same.`,
		writes: true, run: render,
	},
	{
		name: "plan", does: "print what a guest would do, step by step", usage: "plan -f FILE --machine NAME",
		about: `Prints the plan of the machine's guest: its phases and steps, what each step changes, and the reason it fails with.
Secrets are masked.`,
		run: printPlan,
	},
}

const aboutFiles = `FILE must have the Cluster, Machine, WindowsMachine, WindowsBootstrapConfig, and the Secrets and ConfigMaps
that the config refers to. Instead of the Machine and its two objects, FILE may have a MachineDeployment and its two templates:
NAME is then the name of a machine that it would make. All objects of this provider and of Cluster API are checked; those that the
machine does not need are not used.
The cluster's CA comes from the Secret CLUSTER-ca, the bootstrap token from the machine's bootstrap Secret or from a Secret of
type bootstrap.kubernetes.io/token. If there is no CA or no token, or if an object has no UID yet, a placeholder is used and a
note says so: in a review, the files that you commit are enough.
`

// options are the values of the flags.
type options struct {
	files       []string
	namespace   string
	machine     string
	folder      string
	showSecrets bool
}

// usageError is an invalid command line.
type usageError struct{ problem, help string }

// Error returns the problem without the help.
func (e *usageError) Error() string { return e.problem }

func overview() string {
	var text strings.Builder
	text.WriteString("Shows offline what a Windows machine of Cluster API will get, and what it will do with it.\n\nUsage:\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "  clusterctl windows %-40s %s\n", c.usage, c.does)
	}
	fmt.Fprintf(&text, "  clusterctl windows %-40s %s\n", "version", "print the version of this program")
	text.WriteString("\nRun \"clusterctl windows COMMAND --help\" for the details of a command.\n")
	return text.String()
}

func (c command) help() string {
	flags, _ := c.flags()
	return fmt.Sprintf("%s\n\nUsage:\n  clusterctl windows %s\n\n%s\nFlags:\n%s", c.about, c.usage, aboutFiles, flags.FlagUsages())
}

func (c command) flags() (*pflag.FlagSet, *options) {
	o := &options{}
	flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.SortFlags = false
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"`FILE` with the objects in YAML or JSON, - for standard input; repeatable")
	flags.StringVar(&o.machine, "machine", "", "`NAME` of the machine, or NAMESPACE/NAME")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`NAMESPACE` of objects without a namespace")
	if c.writes {
		flags.StringVarP(&o.folder, "output", "o", "", "`DIR` to write to, created if missing")
		flags.BoolVar(&o.showSecrets, "show-secrets", false, "write secrets in clear to userdata and node.json")
	}
	return flags, o
}

func (c command) parse(args []string) (options, error) {
	flags, o := c.flags()
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case len(o.files) == 0:
		return options{}, errors.New("-f FILE is missing")
	case o.machine == "":
		return options{}, errors.New("--machine NAME is missing")
	case c.writes && o.folder == "":
		return options{}, errors.New("-o DIR is missing")
	}
	return *o, nil
}
