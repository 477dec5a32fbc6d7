package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// command is one thing that the program does with a machine.
type command struct {
	name, does, usage, about string
	// writes says that it has a folder to write to, and so secrets to write or not.
	writes bool
	run    func(m *machine, o options, s streams) error
}

var commands = []command{
	{
		name: "render", does: "write what a guest would see into a folder", usage: "render -f FILE --machine NAME -o DIR",
		about: `Writes what the machine's guest would see into DIR, made anew at each call:
  userdata   the very bytes that cloudbase-init runs; the bootstrap token is in them
  metadata   on vSphere, the very bytes that name the computer
  node.json  the plan in userdata, indented to be read and compared, secrets masked
Where FILE has the machine's bootstrap Secret, these are what the guest got; a note says whether this release would render the same.`,
		writes: true, run: render,
	},
	{
		name: "plan", does: "tell what a guest would do, step by step", usage: "plan -f FILE --machine NAME",
		about: `Prints the plan of the machine's guest: phases and steps, what each changes, and the reason it fails with.
Secrets are masked.`,
		run: printPlan,
	},
}

const aboutFiles = `FILE holds Cluster, Machine, WindowsMachine, WindowsBootstrapConfig, the Secret CLUSTER-ca and the Secrets and ConfigMaps
that the config refers to; other objects are passed over. Without a Machine a MachineDeployment and its two templates do: then any NAME is that of a machine made of them.
The bootstrap token is that of the machine's bootstrap Secret or of a Secret of type bootstrap.kubernetes.io/token;
where there is neither, and for UIDs that only an API server gives, a placeholder is used and a note says so.
`

// options are what the command line says.
type options struct {
	files       []string
	namespace   string
	machine     string
	folder      string
	showSecrets bool
}

// usageError is a command line that is not understood.
type usageError struct{ problem, help string }

// Error is what is wrong with it.
func (e *usageError) Error() string { return e.problem }

func overview() string {
	var text strings.Builder
	text.WriteString("Shows offline what a Windows machine of Cluster API will be given, and what it will do with it.\n\nUsage:\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "  clusterctl windows %-40s %s\n", c.usage, c.does)
	}
	text.WriteString("\nclusterctl windows COMMAND --help tells more of a command.\n")
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
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`FILE` of YAML or JSON with the objects, - for standard input; may be given again")
	flags.StringVar(&o.machine, "machine", "", "`NAME` of the machine, or NAMESPACE/NAME")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`NAMESPACE` of objects that name none")
	if c.writes {
		flags.StringVarP(&o.folder, "output", "o", "", "`DIR` to write to; it is made if need be")
		flags.BoolVar(&o.showSecrets, "show-secrets", false, "write secrets into node.json in clear")
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
		return options{}, fmt.Errorf("%q is one argument too many", flags.Arg(0))
	case len(o.files) == 0:
		return options{}, errors.New("-f FILE is missing")
	case o.machine == "":
		return options{}, errors.New("--machine NAME is missing")
	case c.writes && o.folder == "":
		return options{}, errors.New("-o DIR is missing")
	}
	return *o, nil
}
