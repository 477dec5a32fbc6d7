package kubelet

import (
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	argsField  = "WindowsBootstrapConfig spec.kubelet.extraArgs"
	gatesField = "WindowsBootstrapConfig spec.kubelet.featureGates"
)

// ownedFlags are rendered by us, each with where the user says what it is to be.
var ownedFlags = map[string]string{
	"bootstrap-kubeconfig":       "the join writes it to a place of its own; leave it out",
	"cert-dir":                   "the folder of the kubelet's keys is closed to others; leave it out",
	"cgroups-per-qos":            "there are no cgroups on Windows; leave it out",
	"cloud-provider":             "write spec.kubelet.cloudProvider",
	"config":                     "kubeadm writes it to a place of its own; write spec.kubelet.configuration",
	"config-dir":                 "write spec.kubelet.configuration",
	"container-runtime-endpoint": "containerd listens on one pipe on every image; leave it out",
	"enforce-node-allocatable":   "nothing is enforced on Windows; leave it out",
	"eviction-hard":              "write spec.reservations.eviction",
	"feature-gates":              "write spec.kubelet.featureGates",
	"hostname-override":          "a node is named as its computer; leave it out",
	"kube-reserved":              "write spec.reservations.kube",
	"kubeconfig":                 "the join writes it to a place of its own; leave it out",
	"max-pods":                   "write spec.kubelet.maxPods",
	"node-labels":                "write spec.node.labels",
	"provider-id":                "it names the VM; leave it out",
	"register-with-taints":       "write spec.node.taints",
	"root-dir":                   "the kubelet's folder is closed to others; leave it out",
	"rotate-server-certificates": "write spec.kubelet.serverCertificates",
	"system-reserved":            "write spec.reservations.system",
	"v":                          "write spec.kubelet.log.verbosity",
	"windows-priorityclass":      "write spec.kubelet.priorityClass",
	"windows-service":            "it is always given; leave it out",
}

// removedFlags stand in old guides. A version that does not know one exits at it; one that still does has no use for it.
var removedFlags = map[string]string{
	"allow-privileged":                  "Windows has no privileged containers; use HostProcess containers",
	"cloud-config":                      "cloud providers are outside of the kubelet; leave it out",
	"cni-bin-dir":                       "it is a setting of containerd",
	"cni-conf-dir":                      "it is a setting of containerd",
	"container-runtime":                 "containerd is the only one; leave it out",
	"docker-endpoint":                   "containerd is the only runtime; leave it out",
	"image-pull-progress-deadline":      "it was dockershim's; leave it out",
	"iptables-drop-bit":                 "there is no iptables on Windows; leave it out",
	"iptables-masquerade-bit":           "there is no iptables on Windows; leave it out",
	"keep-terminated-pod-volumes":       "leave it out",
	"log-dir":                           "write spec.kubelet.log.directory",
	"log-file":                          "write spec.kubelet.log.directory",
	"logtostderr":                       "leave it out",
	"network-plugin":                    "it is a setting of containerd",
	"non-masquerade-cidr":               "write exceptions into the CNI's configuration",
	"pod-infra-container-image":         "the pause image is a setting of containerd",
	"register-schedulable":              "write spec.node.taints",
	"experimental-bootstrap-kubeconfig": "the join writes it; leave it out",
}

// takenFlags have no field and may be of use on a Windows node, each with the values that it takes and how to say so.
var takenFlags = map[string]struct {
	values *regexp.Regexp
	write  string
}{
	"image-credential-provider-bin-dir": {windowsPath, `a folder such as C:\var\lib\kubelet\credential-provider`},
	"image-credential-provider-config":  {windowsPath, `a file such as C:\var\lib\kubelet\credential-provider.yaml`},
	"log-flush-frequency":               {regexp.MustCompile(`^[1-9]\d{0,3}(ms|s|m)$`), "a time such as 5s"},
	"logging-format":                    {regexp.MustCompile(`^(text|json)$`), "text or json"},
	"node-ip": {
		regexp.MustCompile(`^(0\.0\.0\.0|::)$`),
		"0.0.0.0 or :: for the family of the node's first address: an address of its own would be given to every node of the config",
	},
	"vmodule": {regexp.MustCompile(`^[A-Za-z0-9_*]+=\d{1,2}(,[A-Za-z0-9_*]+=\d{1,2})*$`), "pairs such as kubelet_node_status=4"},
}

// windowsPath is absolute, of printable ASCII, without what Windows refuses in names.
var windowsPath = regexp.MustCompile(`^[A-Za-z]:[\\/][^\x00-\x1f"*:<>?|\x7f-\x{10ffff}]*$`)

// readArgs gives the user's flags, sorted by name.
func readArgs(args []bootstrapv1.KubeletArg, minor uint64) ([]Flag, error) {
	var flags []Flag
	for _, arg := range args {
		value := ""
		if arg.Value != nil {
			value = *arg.Value
		}
		if err := checkArg(arg.Name, value, minor); err != nil {
			return nil, err
		}
		if hasFlag(flags, arg.Name) {
			return nil, step.Invalid(argsField, "%s is there twice; leave one out", arg.Name)
		}
		flags = append(flags, Flag{arg.Name, value})
	}
	if hasFlag(flags, "image-credential-provider-bin-dir") != hasFlag(flags, "image-credential-provider-config") {
		return nil, step.Invalid(argsField, "a kubelet that is given one of image-credential-provider-bin-dir and image-credential-provider-config "+
			"without the other exits; write both, or none")
	}
	slices.SortFunc(flags, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) })
	return flags, nil
}

func hasFlag(flags []Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f Flag) bool { return f.Name == name })
}

func checkArg(name, value string, minor uint64) error {
	if instead := ownedFlags[name]; instead != "" {
		return step.Invalid(argsField, "%s is rendered by us: %s", name, instead)
	}
	line := kubeletFlags[name]
	if instead := removedFlags[name]; instead != "" && inMinor(line, minor) != unknownThere {
		return step.Invalid(argsField, "%s does nothing on a Windows node, and later versions have no such flag: %s", name, instead)
	} else if instead != "" {
		return step.Invalid(argsField, "a kubelet that is given %s exits, for that flag was removed: %s", name, instead)
	}
	if inMinor(line, minor) == unknownThere {
		return step.Invalid(argsField, "the kubelet of v1.%d has no flag %q and would exit (it is known in: %s); leave it out",
			minor, name, knownMinors(line))
	}
	taken, ok := takenFlags[name]
	if field := fieldOf(name); !ok && inMinor(kubeletFields[field], minor) != unknownThere {
		return step.Invalid(argsField, "%s can be said by the kubelet's configuration; write %s into spec.kubelet.configuration", name, field)
	}
	if !ok {
		return step.Invalid(argsField, "%s has no use on a Windows node; leave it out", name)
	}
	if !taken.values.MatchString(value) {
		return step.Invalid(argsField, "value %q of %s; write %s", value, name, taken.write)
	}
	return nil
}

// fieldOf is the field of the configuration that is named as a flag: maxOpenFiles of max-open-files.
func fieldOf(name string) string {
	words := strings.Split(name, "-")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

// readGates gives the user's feature gates. An unknown gate, or one against its lock, makes the kubelet panic.
func readGates(gates []bootstrapv1.FeatureGate, minor uint64) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, gate := range gates {
		line, enabled := kubeletGates[gate.Name], gate.State == bootstrapv1.StateEnabled
		_, twice := wanted[gate.Name]
		letter := inMinor(line, minor)
		switch {
		case twice:
			return nil, step.Invalid(gatesField, "%s is there twice; leave one out", gate.Name)
		case !enabled && gate.State != bootstrapv1.StateDisabled:
			return nil, step.Invalid(gatesField, "state %q of %s is none; write Enabled or Disabled", gate.State, gate.Name)
		case letter == unknownThere:
			return nil, step.Invalid(gatesField, "the kubelet of v1.%d has no feature gate %q and would not start (it is known in: %s); leave it out",
				minor, gate.Name, knownMinors(line))
		case letter == lockedOn && !enabled:
			return nil, step.Invalid(gatesField, "%s can not be Disabled in v1.%d: it is locked, and the kubelet would not start; leave it out",
				gate.Name, minor)
		case letter == lockedOff && enabled:
			return nil, step.Invalid(gatesField, "%s can not be Enabled in v1.%d: it is locked, and the kubelet would not start; leave it out",
				gate.Name, minor)
		}
		wanted[gate.Name] = enabled
	}
	return wanted, nil
}

// GateOn says whether a gate is on, by what the user says or else by itself.
func GateOn(name string, said map[string]bool, minor uint64) bool {
	if on, ok := said[name]; ok {
		return on
	}
	letter := inMinor(kubeletGates[name], minor)
	return letter == onThere || letter == lockedOn
}
