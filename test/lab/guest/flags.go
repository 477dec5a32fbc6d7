package guest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

func newFlags(program string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(program, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// What a kubelet 1.36 on Windows takes; anything else makes it exit. Most have a field in the configuration.
const (
	kubeletTexts = `address allowed-unsafe-sysctls authentication-token-webhook-cache-ttl authorization-mode
		authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bootstrap-kubeconfig cert-dir cgroup-driver
		cgroup-root client-ca-file cloud-provider cluster-dns cluster-domain config config-dir container-log-max-files container-log-max-size
		container-runtime-endpoint cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period
		enforce-node-allocatable event-burst event-qps eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim
		eviction-pressure-transition-period eviction-soft eviction-soft-grace-period feature-gates file-check-frequency hairpin-mode
		healthz-bind-address healthz-port hostname-override http-check-frequency image-credential-provider-bin-dir
		image-credential-provider-config image-gc-high-threshold image-gc-low-threshold image-service-endpoint kube-api-burst
		kube-api-content-type kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file log-flush-frequency
		logging-format manifest-url manifest-url-header max-open-files max-pods maximum-dead-containers
		maximum-dead-containers-per-container memory-manager-policy minimum-container-ttl-duration minimum-image-ttl-duration node-ip
		node-labels node-status-max-images node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path pod-max-pids pods-per-core
		port provider-id qos-reserved read-only-port register-with-taints registry-burst registry-qps reserved-cpus reserved-memory
		resolv-conf root-dir runtime-cgroups runtime-request-timeout streaming-connection-idle-timeout sync-frequency system-cgroups
		system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file
		topology-manager-policy topology-manager-policy-options topology-manager-scope vmodule volume-plugin-dir volume-stats-agg-period
		windows-priorityclass`
	kubeletSwitches = `anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
		enable-controller-attach-detach enable-debugging-handlers enable-server exit-on-lock-contention fail-cgroupv1 fail-swap-on
		kernel-memcg-notification local-storage-capacity-isolation make-iptables-util-chains protect-kernel-defaults register-node
		rotate-certificates rotate-server-certificates runonce seccomp-default serialize-image-pulls windows-service`
	// played are those that this kubelet heeds; of the others only those may be given that change nothing here.
	played = `config kubeconfig bootstrap-kubeconfig cert-dir hostname-override node-ip node-labels cloud-provider windows-service
		windows-priorityclass v resolv-conf cgroups-per-qos enforce-node-allocatable enable-debugging-handlers container-runtime-endpoint
		root-dir logging-format image-credential-provider-bin-dir image-credential-provider-config register-node`
)

// kubeletFlags are the flags of a kubelet that matter here.
type kubeletFlags struct {
	config, kubeconfig, bootstrap, certDir string
	hostname, nodeIP, cloudProvider        string
	providers, providersDir                string // of credentials for images
	labels                                 map[string]string
	service                                bool
}

var priorities = "IDLE_PRIORITY_CLASS BELOW_NORMAL_PRIORITY_CLASS NORMAL_PRIORITY_CLASS ABOVE_NORMAL_PRIORITY_CLASS HIGH_PRIORITY_CLASS REALTIME_PRIORITY_CLASS"

// readKubeletFlags ends with the kubelet's words for what it does not take.
func readKubeletFlags(args []string) (*kubeletFlags, error) {
	flags := newFlags("kubelet")
	for name := range strings.FieldsSeq(kubeletTexts) {
		flags.String(name, "", "")
	}
	for name := range strings.FieldsSeq(kubeletSwitches) {
		flags.Bool(name, false, "")
	}
	flags.IntP("v", "v", 0, "")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("failed to parse kubelet flag: %w", err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %q", flags.Args())
	}
	get := func(name string) string { return flags.Lookup(name).Value.String() }
	read := &kubeletFlags{
		config: get("config"), kubeconfig: get("kubeconfig"), bootstrap: get("bootstrap-kubeconfig"), certDir: get("cert-dir"),
		hostname: get("hostname-override"), nodeIP: get("node-ip"), cloudProvider: get("cloud-provider"), service: get("windows-service") == "true",
		providers: get("image-credential-provider-config"), providersDir: get("image-credential-provider-bin-dir"),
	}
	var err error
	if read.labels, err = nodeLabels(get("node-labels")); err != nil {
		return nil, err
	}
	return read, checkFlags(flags, read)
}

func checkFlags(flags *pflag.FlagSet, read *kubeletFlags) error {
	var problem error
	flags.Visit(func(flag *pflag.Flag) {
		if !contains(played, flag.Name) {
			problem = fmt.Errorf("the lab's kubelet does not play --%s: set the field of the configuration", flag.Name)
		}
	})
	if problem != nil {
		return problem
	}
	class := flags.Lookup("windows-priorityclass").Value.String()
	switch {
	case class != "" && !contains(priorities, class):
		return fmt.Errorf("unknown priority class %s, valid ones are available at https://docs.microsoft.com/windows/win32/procthread/scheduling-priorities", class)
	case read.cloudProvider != "" && read.cloudProvider != "external":
		return fmt.Errorf("unknown cloud provider %q was specified; only \"external\" is valid", read.cloudProvider)
	case read.config == "" || read.kubeconfig == "":
		return fmt.Errorf("the lab's kubelet wants --config and --kubeconfig")
	}
	return nil
}

func contains(words, word string) bool {
	return slices.Contains(strings.Fields(words), word)
}

// allowedLabels are those of kubernetes.io and k8s.io that a kubelet may give its node.
const allowedLabels = `kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os beta.kubernetes.io/arch beta.kubernetes.io/os
	beta.kubernetes.io/instance-type node.kubernetes.io/instance-type failure-domain.beta.kubernetes.io/region
	failure-domain.beta.kubernetes.io/zone topology.kubernetes.io/region topology.kubernetes.io/zone node.kubernetes.io/windows-build`

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
		if domain, _, _ := strings.Cut(name, "/"); reserved(domain) && !contains(allowedLabels, name) {
			return nil, fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", name)
		}
		labels[name] = value
	}
	return labels, nil
}

// reserved domains are Kubernetes' own, but for those two that kubelets may use freely.
func reserved(domain string) bool {
	for _, free := range []string{"kubelet.kubernetes.io", "node.kubernetes.io"} {
		if domain == free || strings.HasSuffix(domain, "."+free) {
			return false
		}
	}
	for _, own := range []string{"kubernetes.io", "k8s.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return true
		}
	}
	return false
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
