package kubelet

import (
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	argsField  = "WindowsBootstrapConfig spec.kubelet.extraArgs"
	gatesField = "WindowsBootstrapConfig spec.kubelet.featureGates"
)

// ownedFlags are flags that we set, each with what the user can do instead.
var ownedFlags = map[string]string{
	"bootstrap-kubeconfig":       "the join uses its own path; remove it",
	"cert-dir":                   "the bootstrap protects the folder of the kubelet's keys; remove it",
	"cgroups-per-qos":            "there are no cgroups on Windows; remove it",
	"cloud-provider":             "use spec.kubelet.cloudProvider",
	"config":                     "kubeadm uses its own path; use spec.kubelet.configuration",
	"config-dir":                 "use spec.kubelet.configuration",
	"container-runtime-endpoint": "containerd listens on the same pipe in every image; remove it",
	"enforce-node-allocatable":   "a kubelet on Windows enforces no reservations; remove it",
	"eviction-hard":              "use spec.reservations.eviction",
	"feature-gates":              "use spec.kubelet.featureGates",
	"hostname-override":          "a node has the name of its computer; remove it",
	"kube-reserved":              "use spec.reservations.kube",
	"kubeconfig":                 "the join uses its own path; remove it",
	"max-pods":                   "use spec.kubelet.maxPods",
	"node-labels":                "use spec.node.labels",
	"provider-id":                "it names the VM; remove it",
	"register-with-taints":       "use spec.node.taints",
	"root-dir":                   "the bootstrap needs the kubelet's own folder; remove it",
	"rotate-server-certificates": "use spec.kubelet.serverCertificates",
	"system-reserved":            "use spec.reservations.system",
	"v":                          "use spec.kubelet.log.verbosity",
	"windows-priorityclass":      "use spec.kubelet.priorityClass",
	"windows-service":            "it is always set; remove it",
}

// removedFlags are flags of old guides. A kubelet that no longer knows one exits; one that still does ignores it.
var removedFlags = map[string]string{
	"allow-privileged":                  "Windows has no privileged containers; use HostProcess containers",
	"cloud-config":                      "cloud providers run outside of the kubelet; remove it",
	"cni-bin-dir":                       "it is a setting of containerd; remove it",
	"cni-conf-dir":                      "it is a setting of containerd; remove it",
	"container-runtime":                 "containerd is the only one; remove it",
	"docker-endpoint":                   "containerd is the only runtime; remove it",
	"image-pull-progress-deadline":      "it was a setting of dockershim; remove it",
	"iptables-drop-bit":                 "there is no iptables on Windows; remove it",
	"iptables-masquerade-bit":           "there is no iptables on Windows; remove it",
	"keep-terminated-pod-volumes":       "remove it",
	"log-dir":                           "use spec.kubelet.log.directory",
	"log-file":                          "use spec.kubelet.log.directory",
	"logtostderr":                       "remove it",
	"network-plugin":                    "containerd always uses CNI; remove it",
	"non-masquerade-cidr":               "set exceptions in the CNI's configuration",
	"pod-infra-container-image":         "use spec.containerd.pauseImage",
	"register-schedulable":              "use spec.node.taints",
	"experimental-bootstrap-kubeconfig": "the join writes it; remove it",
}

// takenFlags have no field in the configuration and may be useful on a Windows node, each with the values that it may
// have.
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
		"0.0.0.0 or :: for the family of the node's first address: any other address would be given to every node of the config",
	},
	"vmodule": {regexp.MustCompile(`^[A-Za-z0-9_*]+=\d{1,2}(,[A-Za-z0-9_*]+=\d{1,2})*$`), "pairs such as kubelet_node_status=4"},
}

// plainArgument is what an argument of the kubelet's service may hold. Windows keeps the command line as a text in which it
// replaces %NAME% (CreateService makes ImagePath a REG_EXPAND_SZ), programs have their own rules for quotes, and what is not
// ASCII would depend on code pages.
//
//nolint:gocritic // because the range from & to ~ is meant
var plainArgument = regexp.MustCompile(`^([!#$&-~]([ !#$&-~]*[!#$&-~])?)?$`)

// windowsPath is absolute, without characters that Windows does not allow in names.
var windowsPath = regexp.MustCompile(`^[A-Za-z]:[\\/][^*:<>?|]*$`)

// readArgs reads the flags of the user, sorted by name.
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
			return nil, step.Invalid(argsField, "%s is listed twice; remove one", arg.Name)
		}
		flags = append(flags, Flag{arg.Name, value})
	}
	if hasFlag(flags, "image-credential-provider-bin-dir") != hasFlag(flags, "image-credential-provider-config") {
		return nil, step.Invalid(argsField,
			"the kubelet exits if only one of image-credential-provider-bin-dir and image-credential-provider-config "+
				"is set; use both or neither")
	}
	slices.SortFunc(flags, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) })
	return flags, nil
}

func hasFlag(flags []Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f Flag) bool { return f.Name == name })
}

func checkArg(name, value string, minor uint64) error {
	if advice := ownedFlags[name]; advice != "" {
		return step.Invalid(argsField, "%s is set by this provider: %s", name, advice)
	}
	line := kubeletFlags[name]
	if advice := removedFlags[name]; advice != "" && inMinor(line, minor) != unknownThere {
		return step.Invalid(argsField,
			"%s does nothing on a Windows node, and later versions have no such flag: %s", name, advice)
	} else if advice != "" {
		return step.Invalid(argsField, "the kubelet no longer has the flag %s and would exit: %s", name, advice)
	}
	if inMinor(line, minor) == unknownThere {
		return step.Invalid(argsField, "the kubelet of v1.%d has no flag %q and would exit%s", minor, name, unknownName(line))
	}
	taken, ok := takenFlags[name]
	if field := fieldOf(name); !ok && inMinor(kubeletFields[field], minor) != unknownThere {
		return step.Invalid(argsField,
			"%s is a field of the kubelet's configuration; use %s in spec.kubelet.configuration", name, field)
	}
	if !ok {
		return step.Invalid(argsField, "%s has no effect on a Windows node; remove it", name)
	}
	if !plainArgument.MatchString(value) {
		return step.Invalid(argsField,
			"value %q of %s is not printable ASCII without double quotes, percent signs and blanks at its ends; use %s",
			value, name, taken.write)
	}
	device := taken.values == windowsPath && plan.DeviceName.MatchString(strings.ReplaceAll(value, "/", `\`))
	if device || !taken.values.MatchString(value) {
		return step.Invalid(argsField, "value %q of %s is not valid; use %s", value, name, taken.write)
	}
	return nil
}

// fieldOf is the configuration field with the name of a flag: maxOpenFiles of max-open-files.
func fieldOf(name string) string {
	words := strings.Split(name, "-")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

// readGates reads the feature gates of the user. The kubelet panics at an unknown gate, or at the wrong value of a
// locked one.
func readGates(gates []bootstrapv1.FeatureGate, minor uint64) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, gate := range gates {
		line, enabled := kubeletGates[gate.Name], gate.State == bootstrapv1.StateEnabled
		_, twice := wanted[gate.Name]
		letter := inMinor(line, minor)
		switch {
		case twice:
			return nil, step.Invalid(gatesField, "%s is listed twice; remove one", gate.Name)
		case !enabled && gate.State != bootstrapv1.StateDisabled:
			return nil, step.Invalid(gatesField, "state %q of %s is not valid; use Enabled or Disabled", gate.State, gate.Name)
		case slices.Contains(RemovedGates(minor), gate.Name):
			return nil, step.Invalid(gatesField,
				"the kubelet of v1.%d no longer has the feature gate %s and would not start; remove it: %s",
				minor, gate.Name, removedGates[gate.Name].successor)
		case letter == unknownThere:
			return nil, step.Invalid(gatesField,
				"the kubelet of v1.%d has no feature gate %q and would not start%s", minor, gate.Name, unknownName(line))
		case letter == lockedOn && !enabled:
			return nil, step.Invalid(gatesField,
				"%s cannot be Disabled in v1.%d: it is locked, and the kubelet would not start; remove it",
				gate.Name, minor)
		case letter == lockedOff && enabled:
			return nil, step.Invalid(gatesField,
				"%s cannot be Enabled in v1.%d: it is locked, and the kubelet would not start; remove it",
				gate.Name, minor)
		}
		wanted[gate.Name] = enabled
	}
	return wanted, checkNeeds(wanted, minor)
}

// checkNeeds refuses a gate that is on while one that it needs is off: since 1.35 the kubelet panics. One of the two is the
// user's, because by default all gates have what they need.
func checkNeeds(wanted map[string]bool, minor uint64) error {
	for _, pair := range step.SortedKeys(kubeletNeeds) {
		gate, needed, _ := strings.Cut(pair, " ")
		if inMinor(kubeletNeeds[pair], minor) == unknownThere || !GateOn(gate, wanted, minor) || GateOn(needed, wanted, minor) {
			continue
		}
		if wanted[gate] {
			return step.Invalid(gatesField,
				"%s is Enabled, but in v1.%d it depends on %s, which is off, and the kubelet would not start; "+
					"set %s to Enabled as well, or remove %s", gate, minor, needed, needed, gate)
		}
		return step.Invalid(gatesField,
			"%s is Disabled, but in v1.%d %s is on by default and depends on it, and the kubelet would not start; "+
				"set %s to Disabled as well, or remove %s", needed, minor, gate, gate, needed)
	}
	return nil
}

// GateOn reports whether a gate is on: as the user has set it, or else by default.
func GateOn(name string, gates map[string]bool, minor uint64) bool {
	if enabled, ok := gates[name]; ok {
		return enabled
	}
	letter := inMinor(kubeletGates[name], minor)
	return letter == onThere || letter == lockedOn
}
