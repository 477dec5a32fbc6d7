package guest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

func newFlags(program string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(program, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// What this kubelet heeds, and what changes nothing here. A real one knows many more; most have a field in the configuration.
const (
	playedTexts = `config kubeconfig bootstrap-kubeconfig cert-dir hostname-override node-ip node-labels cloud-provider
		windows-priorityclass resolv-conf enforce-node-allocatable container-runtime-endpoint root-dir logging-format
		image-credential-provider-bin-dir image-credential-provider-config`
	playedSwitches = `windows-service cgroups-per-qos enable-debugging-handlers register-node`
)

// kubeletFlags are the flags of a kubelet that matter here.
type kubeletFlags struct {
	config, kubeconfig, bootstrap, certDir string
	hostname, nodeIP, cloudProvider        string
	providers, providersDir                string // of credentials for images
	labels                                 map[string]string
	service                                bool
}

var priorities = []string{
	"IDLE_PRIORITY_CLASS", "BELOW_NORMAL_PRIORITY_CLASS", "NORMAL_PRIORITY_CLASS", "ABOVE_NORMAL_PRIORITY_CLASS",
	"HIGH_PRIORITY_CLASS", "REALTIME_PRIORITY_CLASS",
}

// readKubeletFlags ends with the kubelet's words for what it does not take.
func readKubeletFlags(args []string, kubernetes string) (*kubeletFlags, error) {
	flags := newFlags("kubelet")
	for name := range strings.FieldsSeq(playedTexts) {
		flags.String(name, "", "")
	}
	for name := range strings.FieldsSeq(playedSwitches) {
		flags.Bool(name, false, "")
	}
	flags.IntP("v", "v", 0, "")
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if strings.HasPrefix(arg, "--") && flags.Lookup(name) == nil && inKubelet("flag "+name, kubernetes) != unknownThere {
			return nil, fmt.Errorf("the lab's kubelet does not play --%s: set the field of the configuration", name)
		}
	}
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("failed to parse kubelet flag: %w", err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %q", flags.Args())
	}
	get := func(name string) string { return flags.Lookup(name).Value.String() }
	read := &kubeletFlags{
		config: get("config"), kubeconfig: get("kubeconfig"), bootstrap: get("bootstrap-kubeconfig"), certDir: get("cert-dir"),
		hostname: get("hostname-override"), nodeIP: get("node-ip"), cloudProvider: get("cloud-provider"),
		service:   get("windows-service") == "true",
		providers: get("image-credential-provider-config"), providersDir: get("image-credential-provider-bin-dir"),
	}
	var err error
	if read.labels, err = nodeLabels(get("node-labels")); err != nil {
		return nil, err
	}
	return read, checkFlags(flags, read)
}

func checkFlags(flags *pflag.FlagSet, read *kubeletFlags) error {
	class := flags.Lookup("windows-priorityclass").Value.String()
	switch {
	case class != "" && !slices.Contains(priorities, class):
		return fmt.Errorf("unknown priority class %s, valid ones are available at "+
			"https://docs.microsoft.com/windows/win32/procthread/scheduling-priorities", class)
	case read.cloudProvider != "" && read.cloudProvider != "external":
		return fmt.Errorf("unknown cloud provider %q was specified; only \"external\" is valid", read.cloudProvider)
	case read.config == "" || read.kubeconfig == "":
		return fmt.Errorf("the lab's kubelet wants --config and --kubeconfig")
	}
	return nil
}

func nodeLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for one := range strings.SplitSeq(text, ",") {
		if one == "" {
			continue
		}
		name, value, found := strings.Cut(one, "=")
		problems := append(validation.IsQualifiedName(name), validation.IsValidLabelValue(value)...)
		if !found || len(problems) > 0 {
			return nil, fmt.Errorf("invalid argument %q for \"--node-labels\" flag: malformed pair: %v", one, problems)
		}
		if domain, _, _ := strings.Cut(name, "/"); ofKubernetes(domain) && !kubeletapis.IsKubeletLabel(name) {
			return nil, fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", name)
		}
		labels[name] = value
	}
	return labels, nil
}

func ofKubernetes(domain string) bool {
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(own string) bool {
		return domain == own || strings.HasSuffix(domain, "."+own)
	})
}

// logRunnerFlags splits kube-log-runner's own flags from the command it wraps. It exits at a flag that it does not know, and
// one before 1.34 does not know how to rotate.
func logRunnerFlags(args []string, kubernetes string) (logFile string, command []string, err error) {
	rotates := version.MustParseGeneric(kubernetes).AtLeast(version.MajorMinor(1, 34))
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return logFile, args[i:], nil
		}
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case name == "log-file":
			logFile = strings.ReplaceAll(value, "/", `\`)
		case name == "also-stdout" || name == "redirect-stderr" || name == "flush-interval":
		case rotates && (name == "log-file-size" || name == "log-file-age"):
		default:
			return "", nil, fmt.Errorf("flag provided but not defined: -%s", name)
		}
	}
	return "", nil, fmt.Errorf("no command was given to run")
}

// appender writes to a file of the machine.
type appender struct {
	machine *windows.Machine
	path    string
}

// Write is io.Writer.
func (a appender) Write(text []byte) (int, error) { return len(text), a.machine.Append(a.path, text) }
