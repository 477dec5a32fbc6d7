// Package kubelet is spec.kubelet, spec.node and spec.reservations: the service, its flags (args.go), what is merged into the
// cluster's configuration (patch.go, fields.go), and what is kept from pods (reservations.go, allocatable.go).
//
// args.go and fields.go refuse what would make a kubelet exit; table.go has what each version knows, and test/upstream/kubelet
// asks the real kubelets.
package kubelet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const kubeletField = "WindowsBootstrapConfig spec.kubelet"

// rotatingMinor is the first 1.x whose kube-log-runner rotates; an older one exits at the flags for that.
const rotatingMinor = 34

// Flag of the kubelet.
type Flag struct{ Name, Value string }

// Input is what a kubelet depends on.
type Input struct {
	Spec         bootstrapv1.Kubelet
	Node         bootstrapv1.NodeRegistration
	Reservations bootstrapv1.Reservations
	// NodeName is the name of the computer, ProviderID that of the VM.
	NodeName, ProviderID string
	// Version is the Machine's, Minor its second number: 36 of v1.36.3.
	Version string
	Minor   uint64
	Size    Size
	// OwnLabels say what runs on the node.
	OwnLabels map[string]string
	// Machine is the VM's object.
	Machine *infrav1.WindowsMachine
}

// Kubelet is what was read of spec.kubelet, spec.node and spec.reservations and found good, defaults filled in.
type Kubelet struct {
	nodeName, providerID string
	version              string
	minor                uint64
	size                 Size

	MaxPods int
	Taints  []corev1.Taint
	// Flags are those that have no field in the configuration, or that the kubelet needs to register its node.
	Flags []Flag
	// NodeIP is the flag node-ip, unless the user sets it. Nil: the kubelet finds its address itself.
	NodeIP plan.Value
	// logFlags are flags of kube-log-runner, which writes to LogDirectory.
	logFlags     []Flag
	LogDirectory string
	Start        plan.Start
	// gates and fields are for the configuration of the kubelet.
	gates        map[string]bool
	fields       map[string]any
	reservations reservations
	// groupRisks are about the resource group of the VM.
	groupRisks []string
	// Patch writes the file that kubeadm merges into the cluster's kubelet configuration.
	Patch plan.Step
}

// logQueryGate is locked on from 1.36; before, the kubelet exits at enableSystemLogQuery without it.
const logQueryGate = "NodeLogQuery"

// Read refuses what would make a kubelet exit, what it would ignore, and reservations that leave pods too little.
func Read(in Input) (Kubelet, error) {
	k := Kubelet{
		nodeName: in.NodeName, providerID: in.ProviderID, version: in.Version, minor: in.Minor, size: in.Size,
		MaxPods: MaxPods(in.Spec), groupRisks: groupRisks(in.Machine),
	}
	var err error
	var labels map[string]string
	if labels, k.Taints, err = Registered(in.Node, in.OwnLabels, in.Machine); err != nil {
		return k, err
	}
	if err := k.readService(in.Spec); err != nil {
		return k, err
	}
	if len(labels) > 0 {
		var pairs []string
		for _, name := range step.SortedKeys(labels) {
			pairs = append(pairs, name+"="+labels[name])
		}
		k.Flags = append(k.Flags, Flag{"node-labels", strings.Join(pairs, ",")})
	}
	if k.reservations, err = readReservations(in.Reservations); err != nil {
		return k, err
	}
	if err := k.leavesSomething(); err != nil {
		return k, err
	}
	k.Patch, err = k.patchStep()
	return k, err
}

// defaultMaxPods is the kubelet's own default.
const defaultMaxPods = 110

// MaxPods is how many pods the kubelet takes.
func MaxPods(spec bootstrapv1.Kubelet) int { return int(cmp.Or(spec.MaxPods, defaultMaxPods)) }

// readService reads how the kubelet is started and configured.
func (k *Kubelet) readService(spec bootstrapv1.Kubelet) error {
	var err error
	if k.Flags, err = readFlags(spec, k.minor); err != nil {
		return err
	}
	if k.logFlags, err = readLog(spec.Log, k.minor); err != nil {
		return err
	}
	if k.LogDirectory, err = readLogDirectory(spec.Log.Directory); err != nil {
		return err
	}
	if k.Start, err = step.Choose(kubeletField+".start", spec.Start, plan.StartAuto, starts); err != nil {
		return err
	}
	if k.gates, err = readGates(spec.FeatureGates, k.minor); err != nil {
		return err
	}
	if k.fields, err = readConfiguration(spec.Configuration.Raw, k.gates, k.minor); err != nil {
		return err
	}
	return k.readSwitches(spec)
}

// HasNodeIP reports whether the user has set the flag.
func (k *Kubelet) HasNodeIP() bool { return hasFlag(k.Flags, "node-ip") }

// HasCloudProvider reports whether a cloud provider sets the addresses of the Node.
func (k *Kubelet) HasCloudProvider() bool { return hasFlag(k.Flags, "cloud-provider") }

// readFlags reads flags that have no field in the configuration: first ours, then the user's.
func readFlags(spec bootstrapv1.Kubelet, minor uint64) ([]Flag, error) {
	var flags []Flag
	provider, err := step.Choose(kubeletField+".cloudProvider", spec.CloudProvider, "external", cloudProviders)
	if err != nil {
		return nil, err
	}
	if provider != "" {
		flags = append(flags, Flag{"cloud-provider", provider})
	}
	class, err := step.Choose(kubeletField+".priorityClass", spec.PriorityClass, "ABOVE_NORMAL_PRIORITY_CLASS", priorityClasses)
	if err != nil {
		return nil, err
	}
	flags = append(flags, Flag{"windows-priorityclass", class})
	if level := spec.Log.Verbosity; level != nil {
		if *level < 0 || *level > 10 {
			return nil, step.Invalid(kubeletField+".log.verbosity", "%d is not valid; use 0 to 10", *level)
		}
		flags = append(flags, Flag{"v", strconv.Itoa(int(*level))})
	}
	extra, err := readArgs(spec.ExtraArgs, minor)
	return append(flags, extra...), err
}

// What values of the API mean to Windows and to the kubelet.
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

// RotatesLogs reports whether kube-log-runner of a version does so.
func RotatesLogs(minor uint64) bool { return minor >= rotatingMinor }

// readLog makes the flags of kube-log-runner.
func readLog(log bootstrapv1.KubeletLog, minor uint64) ([]Flag, error) {
	const size, age = 50, 168
	switch {
	case log.MaxSizeMiB < 0 || log.MaxAgeHours < 0:
		return nil, step.Invalid(kubeletField+".log",
			"maxSizeMiB %d and maxAgeHours %d must not be negative; use 1 or more, or remove them",
			log.MaxSizeMiB, log.MaxAgeHours)
	case RotatesLogs(minor):
		return []Flag{
			{"log-file-size", fmt.Sprintf("%dMi", cmp.Or(log.MaxSizeMiB, size))},
			{"log-file-age", fmt.Sprintf("%dh", cmp.Or(log.MaxAgeHours, age))},
		}, nil
	case log.MaxSizeMiB > 0 || log.MaxAgeHours > 0:
		return nil, step.Invalid(kubeletField+".log",
			"the kubelet of v1.%d does not rotate its log; remove maxSizeMiB and maxAgeHours, or use v1.%d",
			minor, rotatingMinor)
	}
	return nil, nil
}

func readLogDirectory(directory string) (string, error) {
	if directory == "" {
		return step.KubeletLogs, nil
	}
	if !plainArgument.MatchString(directory) {
		return "", step.Invalid(kubeletField+".log.directory", "%q is not printable ASCII without percent signs, "+
			"and the path is an argument of the kubelet's service; use a name such as C:\\logs\\kubelet", directory)
	}
	return directory, step.CheckPath(kubeletField+".log.directory", directory)
}

// readSwitches turns Enabled and Disabled into fields and the gates that they need.
func (k *Kubelet) readSwitches(spec bootstrapv1.Kubelet) error {
	set := func(name string, value bool) {
		if k.fields == nil {
			k.fields = map[string]any{}
		}
		k.fields[name] = value
	}
	if spec.ServerCertificates != "" {
		signed, err := step.Choose(kubeletField+".serverCertificates", spec.ServerCertificates, false, signers)
		if err != nil {
			return err
		}
		set("serverTLSBootstrap", signed)
	}
	if spec.SystemLogQuery == "" {
		return nil
	}
	query, err := step.Choose(kubeletField+".systemLogQuery", spec.SystemLogQuery, false, states)
	if err != nil {
		return err
	}
	set("enableSystemLogQuery", query)
	if !query {
		return nil
	}
	set("enableSystemLogHandler", true)
	if enabled, ok := k.gates[logQueryGate]; ok && !enabled {
		return step.Invalid(gatesField,
			"%s is Disabled, but spec.kubelet.systemLogQuery: Enabled needs it; remove one of the two", logQueryGate)
	}
	if !GateOn(logQueryGate, k.gates, k.minor) {
		k.gates[logQueryGate] = true
	}
	return nil
}
