package bootstrap

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const kubeletField = "WindowsBootstrapConfig spec.kubelet"

// rotatingMinor is the first whose kube-log-runner rotates; an older one exits at flags it does not know.
const rotatingMinor = 34

// flag of the kubelet.
type flag struct{ name, value string }

// kubeletInput is what a kubelet is made of.
type kubeletInput struct {
	spec bootstrapv1.WindowsBootstrapConfigSpec
	// nodeName is the computer's, providerID the VM's.
	nodeName, providerID string
	// version is the Machine's, minor its second number: 36 of v1.36.3.
	version string
	minor   uint64
	size    Size
	// nodeIP is what the kubelet says its addresses are, unless the user says it; empty: the kubelet finds them.
	nodeIP string
}

// kubelet is spec.kubelet, spec.node and spec.reservations, read and found good, defaults filled in.
type kubelet struct {
	nodeName, providerID string
	version              string
	minor                uint64
	size                 Size

	maxPods int
	taints  []corev1.Taint
	// flags are those that the kubelet takes by flag only and needs when it registers its node.
	flags []flag
	// logFlags are kube-log-runner's, logDirectory is where it writes.
	logFlags     []flag
	logDirectory string
	start        plan.Start
	// gates and fields go into the kubelet's configuration.
	gates        map[string]bool
	fields       map[string]any
	reservations reservations
	patch        plan.Step
}

// logQueryGate is locked on from 1.36 on; before, the kubelet exits at enableSystemLogQuery without it.
const logQueryGate = "NodeLogQuery"

func readKubelet(in kubeletInput) (kubelet, error) {
	k := kubelet{
		nodeName: in.nodeName, providerID: in.providerID, version: in.version, minor: in.minor, size: in.size,
		maxPods: maxPods(in.spec.Kubelet),
	}
	labels, err := readLabels(in.spec.Node.Labels)
	if err != nil {
		return k, err
	}
	if k.taints, err = readTaints(in.spec.Node.Taints); err != nil {
		return k, err
	}
	if err := k.readService(in.spec.Kubelet); err != nil {
		return k, err
	}
	k.addressAndLabels(in.nodeIP, labels)
	if k.reservations, err = readReservations(in.spec.Reservations); err != nil {
		return k, err
	}
	if err := k.leavesSomething(); err != nil {
		return k, err
	}
	k.patch, err = k.patchStep()
	return k, err
}

// defaultMaxPods is the kubelet's own.
const defaultMaxPods = 110

func maxPods(spec bootstrapv1.Kubelet) int { return int(cmp.Or(spec.MaxPods, defaultMaxPods)) }

// readService reads how the kubelet is started, and what is configured for it.
func (k *kubelet) readService(spec bootstrapv1.Kubelet) error {
	var err error
	if k.flags, err = readFlags(spec, k.minor); err != nil {
		return err
	}
	if k.logFlags, err = readLog(spec.Log, k.minor); err != nil {
		return err
	}
	if k.logDirectory, err = readLogDirectory(spec.Log.Directory); err != nil {
		return err
	}
	if k.start, err = choose(kubeletField+".start", spec.Start, plan.StartAuto, starts); err != nil {
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

// addressAndLabels: an address that the user writes counts more than one that is known here.
func (k *kubelet) addressAndLabels(nodeIP string, labels []string) {
	if nodeIP != "" && !given(k.flags, "node-ip") {
		k.flags = append(k.flags, flag{"node-ip", nodeIP})
	}
	if len(labels) > 0 {
		k.flags = append(k.flags, flag{"node-labels", strings.Join(labels, ",")})
	}
}

// readFlags gives those that only flags can say: first ours, then the user's.
func readFlags(spec bootstrapv1.Kubelet, minor uint64) ([]flag, error) {
	var flags []flag
	provider, err := choose(kubeletField+".cloudProvider", spec.CloudProvider, "external", cloudProviders)
	if err != nil {
		return nil, err
	}
	if provider != "" {
		flags = append(flags, flag{"cloud-provider", provider})
	}
	class, err := choose(kubeletField+".priorityClass", spec.PriorityClass, "ABOVE_NORMAL_PRIORITY_CLASS", priorityClasses)
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

// readLog gives kube-log-runner's flags.
func readLog(log bootstrapv1.KubeletLog, minor uint64) ([]flag, error) {
	const size, age = 50, 168
	switch {
	case log.MaxSizeMiB < 0 || log.MaxAgeHours < 0:
		return nil, invalid(kubeletField+".log", "maxSizeMiB %d and maxAgeHours %d must not be negative; write 1 or more, or leave them out",
			log.MaxSizeMiB, log.MaxAgeHours)
	case minor >= rotatingMinor:
		return []flag{
			{"log-file-size", fmt.Sprintf("%dMi", cmp.Or(log.MaxSizeMiB, size))},
			{"log-file-age", fmt.Sprintf("%dh", cmp.Or(log.MaxAgeHours, age))},
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
func (k *kubelet) readSwitches(spec bootstrapv1.Kubelet) error {
	set := func(name string, value bool) {
		if k.fields == nil {
			k.fields = map[string]any{}
		}
		k.fields[name] = value
	}
	if spec.ServerCertificates != "" {
		signed, err := choose(kubeletField+".serverCertificates", spec.ServerCertificates, false, signers)
		if err != nil {
			return err
		}
		set("serverTLSBootstrap", signed)
	}
	if spec.SystemLogQuery == "" {
		return nil
	}
	query, err := choose(kubeletField+".systemLogQuery", spec.SystemLogQuery, false, states)
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
	if !gateOn(logQueryGate, k.gates, k.minor) {
		k.gates[logQueryGate] = true
	}
	return nil
}

// command is the command line of the kubelet's service. It is ours: the services that images bring ignore what
// kubeadm writes for them, and neither restart nor rotate. Without --windows-service the service manager can not tell
// the kubelet that the machine shuts down.
func (k *kubelet) command() []string {
	command := []string{programsDirectory + `\kube-log-runner.exe`, `--log-file=` + k.logDirectory + `\kubelet.log`}
	for _, flag := range k.logFlags {
		command = append(command, "--"+flag.name+"="+flag.value)
	}
	command = append(command, kubeletProgram,
		"--windows-service",
		`--config=`+kubeletDirectory+`\config.yaml`,
		`--bootstrap-kubeconfig=`+bootstrapKubeconfig,
		`--kubeconfig=`+kubeconfig,
		`--cert-dir=`+kubeletKeys,
		"--hostname-override="+k.nodeName,
	)
	for _, flag := range k.flags {
		command = append(command, "--"+flag.name+"="+flag.value)
	}
	return command
}

// steps make the service and look at it at last. kubelet.conf and the keys of another join go before.
func (k *kubelet) steps() part {
	var p part
	p.add(phaseKubelet, k.service()...)
	p.add(phaseVerify, k.commandCheck()...)
	return p
}

// service makes the service ours, whatever the image brought, and stops what may run by the old definition:
// kubeadm starts it when its configuration is there. An image made of a machine that had joined must not pass for a
// node that has: its identity goes.
func (k *kubelet) service() []plan.Step {
	return []plan.Step{
		&plan.Service{
			Common:  plan.Common{Name: "kubelet-service", Reason: ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", Command: plan.Texts(k.command()...), Start: k.start,
			DependsOn: plan.Texts("containerd"), RestartSeconds: []int{10, 30, 60},
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-stopped", Reason: ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", State: plan.ServiceStopped,
		},
		&plan.Remove{
			Common: plan.Common{Name: "leftovers", Reason: ReasonNodeFilesFailed, Attempts: 3},
			Paths:  plan.Texts(kubeconfig, bootstrapKubeconfig, kubernetesDirectory+`\pki\ca.crt`, kubeletKeys),
		},
		directory("kubelet-keys", kubeletKeys, plan.AccessAdmin),
	}
}

// commandCheck sees to it that the kubelet runs by the command line that was asked for: what images bring to repair their
// kubelet's service makes it anew without our flags, and so may a script of the user's.
func (k *kubelet) commandCheck() []plan.Step {
	const imagePath = "kubeletImagePath"
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{Name: "kubelet-command", Reason: ReasonKubeletArgsNotApplied, Attempts: 3},
			Argv:   plan.Texts("reg.exe", "query", `HKLM\SYSTEM\CurrentControlSet\Services\kubelet`, "/v", "ImagePath"),
			Match:  `ImagePath\s+REG_[A-Z_]+\s+(\S.*\S)`, Set: imagePath,
		},
		&plan.Check{
			Common: plan.Common{Name: "kubelet-arguments", Reason: ReasonKubeletArgsNotApplied},
			Test:   plan.Test{Fact: imagePath, Is: plan.Text(commandLine(k.command()))},
		},
	}
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
