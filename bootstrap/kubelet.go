package bootstrap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const kubeletField = "WindowsBootstrapConfig spec.kubelet"

// rotatingMinor is the first whose kube-log-runner rotates; an older one exits at flags it does not know.
const rotatingMinor = 34

// flag of the kubelet.
type flag struct{ name, value string }

// kubelet is spec.kubelet, read and found good, defaults filled in.
type kubelet struct {
	maxPods int
	// flags are those that the kubelet needs when it registers its node, besides its labels.
	flags []flag
	// logFlags are kube-log-runner's, logDirectory is where it writes.
	logFlags     []flag
	logDirectory string
	start        plan.Start
	// gates and fields go into the kubelet's configuration.
	gates  map[string]bool
	fields map[string]any
}

// logQueryGate is locked on from 1.36 on; before, the kubelet exits at enableSystemLogQuery without it.
const logQueryGate = "NodeLogQuery"

func readKubelet(spec bootstrapv1.Kubelet, minor uint64) (kubelet, error) {
	k := kubelet{maxPods: orDefault(spec.MaxPods, defaultMaxPods)}
	var err error
	if k.flags, err = readFlags(spec, minor); err != nil {
		return k, err
	}
	if k.logFlags, err = readLog(spec.Log, minor); err != nil {
		return k, err
	}
	if k.logDirectory, err = readLogDirectory(spec.Log.Directory); err != nil {
		return k, err
	}
	if k.start, err = choose("start", spec.Start, plan.StartAuto, starts); err != nil {
		return k, err
	}
	if k.gates, err = readGates(spec.FeatureGates, minor); err != nil {
		return k, err
	}
	if k.fields, err = readConfiguration(spec.Configuration.Raw, k.gates, minor); err != nil {
		return k, err
	}
	return k, k.readSwitches(spec, minor)
}

// readFlags gives those that only flags can say: first ours, then the user's.
func readFlags(spec bootstrapv1.Kubelet, minor uint64) ([]flag, error) {
	var flags []flag
	provider, err := choose("cloudProvider", spec.CloudProvider, "external", cloudProviders)
	if err != nil {
		return nil, err
	}
	if provider != "" {
		flags = append(flags, flag{"cloud-provider", provider})
	}
	class, err := choose("priorityClass", spec.PriorityClass, "ABOVE_NORMAL_PRIORITY_CLASS", priorityClasses)
	if err != nil {
		return nil, err
	}
	flags = append(flags, flag{"windows-priorityclass", class})
	if level := spec.Log.Verbosity; level != nil {
		if *level < 0 || *level > 10 {
			return nil, invalid(kubeletField+".log.verbosity", "%d is none; write 0 to 10", *level)
		}
		flags = append(flags, flag{"v", strconv.Itoa(int(*level))})
	}
	more, err := readArgs(spec.ExtraArgs, minor)
	return append(flags, more...), err
}

// What the values of the API are to Windows and to the kubelet.
var (
	cloudProviders = map[bootstrapv1.CloudProvider]string{
		bootstrapv1.CloudProviderExternal: "external", bootstrapv1.CloudProviderNone: "",
	}
	priorityClasses = map[bootstrapv1.PriorityClass]string{
		bootstrapv1.PriorityNormal:      "NORMAL_PRIORITY_CLASS",
		bootstrapv1.PriorityAboveNormal: "ABOVE_NORMAL_PRIORITY_CLASS",
		bootstrapv1.PriorityHigh:        "HIGH_PRIORITY_CLASS",
	}
	starts = map[bootstrapv1.ServiceStart]plan.Start{
		bootstrapv1.ServiceStartAutomatic: plan.StartAuto, bootstrapv1.ServiceStartAutomaticDelayed: plan.StartDelayedAuto,
	}
	states  = map[bootstrapv1.State]bool{bootstrapv1.StateEnabled: true, bootstrapv1.StateDisabled: false}
	signers = map[bootstrapv1.ServerCertificates]bool{
		bootstrapv1.ServerCertificatesClusterSigned: true, bootstrapv1.ServerCertificatesSelfSigned: false,
	}
)

// choose is what a value of the API means; a field that is left out means the fallback.
func choose[K ~string, V any](field string, value K, fallback V, meanings map[K]V) (V, error) {
	if value == "" {
		return fallback, nil
	}
	meaning, ok := meanings[value]
	if !ok {
		return meaning, invalid(kubeletField+"."+field, "%q is none; write %s", value, strings.Join(sortedKeys(meanings), " or "))
	}
	return meaning, nil
}

// readLog gives kube-log-runner's flags.
func readLog(log bootstrapv1.KubeletLog, minor uint64) ([]flag, error) {
	const size, age = 50, 168
	switch {
	case log.MaxSizeMiB < 0 || log.MaxAgeHours < 0:
		return nil, invalid(kubeletField+".log", "maxSizeMiB %d and maxAgeHours %d must not be negative; write 1 or more, or leave them out",
			log.MaxSizeMiB, log.MaxAgeHours)
	case minor >= rotatingMinor:
		return []flag{
			{"log-file-size", fmt.Sprintf("%dMi", orDefault(log.MaxSizeMiB, size))},
			{"log-file-age", fmt.Sprintf("%dh", orDefault(log.MaxAgeHours, age))},
		}, nil
	case log.MaxSizeMiB > 0 || log.MaxAgeHours > 0:
		return nil, invalid(kubeletField+".log", "the kubelet of v1.%d does not rotate its log; leave maxSizeMiB and maxAgeHours out, or use v1.%d",
			minor, rotatingMinor)
	}
	return nil, nil
}

func readLogDirectory(said string) (string, error) {
	if said == "" {
		return kubeletLogs, nil
	}
	return said, checkPath(kubeletField+".log.directory", said)
}

// readSwitches turns what is Enabled or Disabled into fields and the gates they need.
func (k *kubelet) readSwitches(spec bootstrapv1.Kubelet, minor uint64) error {
	set := func(name string, value bool) {
		if k.fields == nil {
			k.fields = map[string]any{}
		}
		k.fields[name] = value
	}
	if spec.ServerCertificates != "" {
		signed, err := choose("serverCertificates", spec.ServerCertificates, false, signers)
		if err != nil {
			return err
		}
		set("serverTLSBootstrap", signed)
	}
	if spec.SystemLogQuery == "" {
		return nil
	}
	query, err := choose("systemLogQuery", spec.SystemLogQuery, false, states)
	if err != nil {
		return err
	}
	set("enableSystemLogQuery", query)
	if !query {
		return nil
	}
	set("enableSystemLogHandler", true)
	if on, said := k.gates[logQueryGate]; said && !on {
		return invalid(gatesField, "%s is Disabled, which spec.kubelet.systemLogQuery Enabled needs; leave one of them out", logQueryGate)
	}
	if !gateOn(logQueryGate, k.gates, minor) {
		k.gates[logQueryGate] = true
	}
	return nil
}

// registrationFlags are what the kubelet takes by flag only and needs when it registers its node.
func registrationFlags(n *node) []flag {
	flags := append([]flag{}, n.kubelet.flags...)
	if len(n.labels) > 0 {
		flags = append(flags, flag{"node-labels", strings.Join(n.labels, ",")})
	}
	return flags
}

// kubeletCommand is the command line of the kubelet's service. It is ours: the services that images bring ignore what
// kubeadm writes for them, and neither restart nor rotate. Without --windows-service the service manager can not tell
// the kubelet that the machine shuts down.
func kubeletCommand(n *node) []string {
	command := []string{programsDirectory + `\kube-log-runner.exe`, `--log-file=` + n.kubelet.logDirectory + `\kubelet.log`}
	for _, flag := range n.kubelet.logFlags {
		command = append(command, "--"+flag.name+"="+flag.value)
	}
	command = append(command, kubeletProgram,
		"--windows-service",
		`--config=`+kubeletDirectory+`\config.yaml`,
		`--bootstrap-kubeconfig=`+bootstrapKubeconfig,
		`--kubeconfig=`+kubeconfig,
		`--cert-dir=`+kubeletKeys,
		"--hostname-override="+n.machine.Node,
	)
	for _, flag := range registrationFlags(n) {
		command = append(command, "--"+flag.name+"="+flag.value)
	}
	return command
}

// kubeletPart sees to it that the kubelet runs by the command line that was asked for: what images bring to repair their
// kubelet's service makes it anew without our flags, and so may a script of the user's.
func kubeletPart(n *node) (part, error) {
	const imagePath = "kubeletImagePath"
	return part{steps: map[string][]plan.Step{phaseVerify: {
		&plan.Fact{
			Common: plan.Common{Name: "kubelet-command", Reason: ReasonKubeletArgsNotApplied, Attempts: 3},
			Argv:   plan.Texts("reg.exe", "query", `HKLM\SYSTEM\CurrentControlSet\Services\kubelet`, "/v", "ImagePath"),
			Match:  `ImagePath\s+REG_[A-Z_]+\s+(\S.*\S)`, Set: imagePath,
		},
		&plan.Check{
			Common: plan.Common{Name: "kubelet-arguments", Reason: ReasonKubeletArgsNotApplied},
			Test:   plan.Test{Fact: imagePath, Is: plan.Text(commandLine(kubeletCommand(n)))},
		},
	}}}, nil
}

// commandLine joins arguments as a service step does: by the rules of CommandLineToArgvW. No argument of ours has a quote.
func commandLine(argv []string) string {
	quoted := make([]string, 0, len(argv))
	for _, one := range argv {
		if one == "" || strings.ContainsAny(one, " \t") {
			text := strings.TrimRight(one, `\`)
			one = `"` + text + strings.Repeat(`\`, 2*(len(one)-len(text))) + `"`
		}
		quoted = append(quoted, one)
	}
	return strings.Join(quoted, " ")
}

func sortedKeys[K ~string, V any](meanings map[K]V) []string {
	keys := make([]string, 0, len(meanings))
	for key := range meanings {
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	return keys
}
