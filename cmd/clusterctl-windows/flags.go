package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
)

// command is a subcommand of the program.
type command struct {
	name, does, usage, about string
	// whats are the values of the argument that the command needs; none if it needs none.
	whats []string
	// needs says which objects the files must have.
	needs string
	// writes is true for a command that writes files, and therefore has flags for a folder and for secrets.
	writes bool
	run    func(found *objects.Set, o options, s streams) error
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
		needs: aboutFiles, writes: true, run: render,
	},
	{
		name: "plan", does: "print what a guest would do, step by step", usage: "plan -f FILE --machine NAME",
		about: `Prints the plan of the machine's guest: its phases and steps, what each step changes, and the reason it fails with.
Secrets are masked.`,
		needs: aboutFiles, run: printPlan,
	},
	{
		name: "check", whats: []string{"azure", "vsphere"}, does: "compare a spec with its cloud", usage: "check azure|vsphere -f FILE",
		about: `Asks the vCenter or Azure, before a machine is made: whether it lets the account in, has what the spec names, and gives
the account the rights that are needed, and whether the template or the size fits. It changes nothing in the cloud, and shows no
secret. The exit code is 1 if a machine of this spec cannot be made.`,
		needs: aboutCheck, run: compare,
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

const aboutCheck = `FILE must have a Machine and its WindowsMachine and WindowsBootstrapConfig, or a MachineDeployment and its
two templates. --machine is needed only if there are several.
The login comes from the Secret that identityRef names, if FILE has it:
  kubectl get secret vcenter -o yaml | clusterctl windows check vsphere -f pool.yaml -f -
Otherwise it comes from VSPHERE_SERVER, VSPHERE_USERNAME, VSPHERE_PASSWORD and VSPHERE_TLS_THUMBPRINT_SHA256. For Azure it
comes from the AzureClusterIdentity of the machine or of the AzureCluster, if FILE has its Secret. For every other identity Azure
is asked as this computer, with the variables AZURE_*, its managed identity, or who is logged in with az login, and the table
says so. No id and no address of FILE goes along: the cloud is that of --azure-cloud, or of AZURE_AUTHORITY_HOST, or the public
one. What a spec for Azure leaves to the AzureCluster is read from that, if FILE has it.
`

// options are the values of the flags.
type options struct {
	files       []string
	namespace   string
	machine     string
	folder      string
	showSecrets bool
	what        string // one of the command's
	azureCloud  string
	azureClouds string
}

// usageError is an invalid command line.
type usageError struct{ problem, help string }

// Error returns the problem without the help.
func (e *usageError) Error() string { return e.problem }

func overview() string {
	var text strings.Builder
	text.WriteString("Shows what a Windows machine of Cluster API will get, and what it will do with it.\n" +
		"Only check asks a cloud.\n\nUsage:\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "  clusterctl windows %-40s %s\n", c.usage, c.does)
	}
	fmt.Fprintf(&text, "  clusterctl windows %-40s %s\n", "version", "print the version of this program")
	text.WriteString("\nRun \"clusterctl windows COMMAND --help\" for the details of a command.\n")
	return text.String()
}

func (c command) help() string {
	flags, _ := c.flags()
	return fmt.Sprintf("%s\n\nUsage:\n  clusterctl windows %s\n\n%s\nFlags:\n%s", c.about, c.usage, c.needs, flags.FlagUsages())
}

// short is what follows an error; all of the help would hide it.
func (c command) short() string {
	return fmt.Sprintf("Usage:\n  clusterctl windows %s\n\nRun \"clusterctl windows %s --help\" for the details.\n", c.usage, c.name)
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
	if len(c.whats) > 0 {
		flags.StringVar(&o.azureCloud, "azure-cloud", "",
			"`NAME` of the cloud for this computer's own identity, such as AzureUSGovernmentCloud")
		flags.StringVar(&o.azureClouds, "azure-clouds", "", "`FILE` with clouds to name, as that of the manager")
	}
	if c.writes {
		flags.StringVarP(&o.folder, "output", "o", "", "`DIR` to write to, created if missing")
		flags.BoolVar(&o.showSecrets, "show-secrets", false, "write secrets in clear to userdata and node.json")
	}
	return flags, o
}

func (c command) parse(args []string) (options, error) {
	flags, o := c.flags()
	if err := flags.Parse(args); err != nil {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") {
			return options{}, fmt.Errorf("%w; a flag of several letters begins with --", err)
		}
		return options{}, err
	}
	rest := flags.Args()
	if len(c.whats) > 0 {
		if len(rest) == 0 || !slices.Contains(c.whats, rest[0]) {
			return options{}, fmt.Errorf("the clouds to %s are %s: write one of them after %s", c.name, strings.Join(c.whats, " and "),
				c.name)
		}
		o.what, rest = rest[0], rest[1:]
	}
	switch {
	case len(rest) > 0:
		return options{}, fmt.Errorf("unexpected argument %q", rest[0])
	case len(o.files) == 0:
		return options{}, errors.New("-f FILE is missing")
	case o.machine == "" && len(c.whats) == 0:
		return options{}, errors.New("--machine NAME is missing")
	case c.writes && o.folder == "":
		return options{}, errors.New("-o DIR is missing")
	}
	return *o, nil
}
