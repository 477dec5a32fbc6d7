package kubelet

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Steps make the kubelet's service, without what an earlier join left, and check its command line at the end.
func (k *Kubelet) Steps() step.Part {
	var p step.Part
	p.Add(step.PhaseKubelet, k.service()...)
	p.Add(step.PhaseVerify, k.commandCheck()...)
	return p
}

// service replaces whatever service the image has and stops the kubelet; kubeadm starts it when its configuration
// exists. The credentials of an earlier join are removed, so that an image made of a node does not pass for one.
func (k *Kubelet) service() []plan.Step {
	return slices.Concat([]plan.Step{
		&plan.Service{
			Common:  plan.Common{Name: "kubelet-service", Reason: step.ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", Command: k.command(), Start: k.Start,
			DependsOn: plan.Texts("containerd"),
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-stopped", Reason: step.ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", State: plan.ServiceStopped,
		},
		&plan.Remove{
			Common: plan.Common{Name: "leftovers", Reason: step.ReasonNodeFilesFailed},
			Paths:  plan.Texts(step.Kubeconfig, step.BootstrapKubeconfig, step.KubernetesDirectory+`\pki\ca.crt`, step.KubeletKeys),
		},
		step.Directory("kubelet-keys", step.KubeletKeys, plan.AccessAdmin),
	}, step.Restarts("kubelet", step.ReasonKubeletServiceFailed))
}

// Readdressed is the service with the address that DHCP has given at this boot. The bootstrap starts it, not Windows.
func (k *Kubelet) Readdressed() []plan.Step {
	if !k.measured() {
		return nil
	}
	service := k.service()[0].(*plan.Service)
	service.Start, service.Optional = plan.StartDemand, true
	return []plan.Step{service}
}

// Restarted is for a kubelet that Windows has started with the address of an earlier boot. With one that the node no longer
// has, a kubelet goes on and reports the old one (pkg/kubelet/nodestatus/setters.go of v1.36.3: failed to validate nodeIP). A
// service that has the right one is left as it is, and of another only the address changes: the command line may be long.
func (k *Kubelet) Restarted() []plan.Step {
	if !k.measured() {
		return nil
	}
	const rest = "kubeletCommand"
	wanted := plan.Parts(plan.FromFact(rest), k.nodeIPFlag(" "))
	differs := &plan.Test{Fact: factImagePath, IsNot: wanted}
	withoutIP := readCommand()
	withoutIP.Name, withoutIP.Match, withoutIP.Set = "kubelet-command-without-address", commandWithoutAddress, rest
	restarted := step.ServiceState("kubelet-restarted", step.ReasonKubeletServiceFailed, "kubelet", plan.ServiceRestarted)
	restarted.When = differs
	return []plan.Step{
		readCommand(), withoutIP,
		&plan.Run{
			Common: plan.Common{Name: "kubelet-address", Reason: step.ReasonKubeletServiceFailed, Attempts: 3, When: differs},
			Argv:   append(plan.Texts("sc.exe", "config", "kubelet", "binPath="), wanted),
		},
		restarted,
	}
}

// commandWithoutAddress finds what comes before the last flag, which is ours, or all if somebody has removed that.
const commandWithoutAddress = `^(.+?)( --node-ip=[0-9.]+)?\z`

func (k *Kubelet) nodeIPFlag(prefix string) plan.Value {
	return joined(plan.Parts(plan.Text(prefix+"--node-ip="), k.NodeIP))
}

// measured reports whether only the node knows its address.
func (k *Kubelet) measured() bool { return len(k.NodeIP) > 0 && k.NodeIP[0].Fact != "" }

// command is the command line of the service. It is ours because the services of images ignore what kubeadm writes for them, do
// not restart and do not rotate logs. Without --windows-service Windows could not notify the kubelet that the machine shuts down.
func (k *Kubelet) command() []plan.Value {
	command := []string{step.LogProgram, `--log-file=` + k.LogDirectory + `\kubelet.log`}
	for _, flag := range k.logFlags {
		command = append(command, "--"+flag.Name+"="+flag.Value)
	}
	command = append(command, step.KubeletProgram,
		"--windows-service",
		`--config=`+step.KubeletDirectory+`\config.yaml`,
		`--bootstrap-kubeconfig=`+step.BootstrapKubeconfig,
		`--kubeconfig=`+step.Kubeconfig,
		`--cert-dir=`+step.KubeletKeys,
		"--hostname-override="+k.nodeName,
	)
	for _, flag := range k.Flags {
		command = append(command, "--"+flag.Name+"="+flag.Value)
	}
	values := plan.Texts(command...)
	if k.NodeIP != nil {
		values = append(values, k.nodeIPFlag(""))
	}
	return values
}

// commandCheck makes sure that the kubelet has our command line: scripts of images that repair the service recreate
// it without our flags, and a script of the user may do the same.
func (k *Kubelet) commandCheck() []plan.Step {
	return []plan.Step{
		readCommand(),
		&plan.Check{
			Common: plan.Common{Name: "kubelet-arguments", Reason: step.ReasonKubeletArgsNotApplied},
			Test:   plan.Test{Fact: factImagePath, Is: commandLine(k.command())},
			Say: plan.Parts(
				plan.Text("the service kubelet was changed during the join: it now runs "), plan.FromFact(factImagePath)),
		},
	}
}

const factImagePath = "kubeletImagePath"

func readCommand() *plan.Fact {
	return &plan.Fact{
		Common: plan.Common{Name: "kubelet-command", Reason: step.ReasonKubeletArgsNotApplied},
		Registry: &plan.RegistryText{
			Key: `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\kubelet`, ValueName: "ImagePath",
		},
		Match: ".+", Set: factImagePath,
		Say: plan.Text("Windows does not show the command line of the service kubelet"),
	}
}

// commandLine joins arguments as a service step does, by the rules of CommandLineToArgvW. Those with a fact have no blanks.
func commandLine(argv []plan.Value) plan.Value {
	var line plan.Value
	for i, argument := range argv {
		if i > 0 {
			line = append(line, plan.Part{Text: " "})
		}
		if len(argument) == 1 {
			argument = plan.Text(quoted(argument[0].Text))
		}
		line = append(line, argument...)
	}
	return joined(line)
}

// mustQuote is what the scripts' Join-Argument quotes, too: other blanks than these are none to Windows.
const mustQuote = " \t\r\n\f\v\""

var slashesBeforeQuote = regexp.MustCompile(`(\\*)"`)

func quoted(argument string) string {
	if argument != "" && !strings.ContainsAny(argument, mustQuote) {
		return argument
	}
	text := slashesBeforeQuote.ReplaceAllString(argument, `$1$1\"`)
	return `"` + text + text[len(strings.TrimRight(text, `\`)):] + `"`
}

// joined has one part for texts that follow each other.
func joined(value plan.Value) plan.Value {
	var parts plan.Value
	for _, part := range value {
		if end := len(parts) - 1; end >= 0 && part.Fact == "" && parts[end].Fact == "" {
			parts[end].Text += part.Text
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// Folders of the spec, from which the kubelet runs or obeys something.
func (k *Kubelet) Folders() []step.Folder {
	var folders []step.Folder
	for _, flag := range k.Flags {
		path := strings.ReplaceAll(flag.Value, "/", `\`)
		if !step.IsPlain(path) {
			continue
		}
		switch flag.Name {
		case "image-credential-provider-bin-dir":
			folders = append(folders, step.Folder{Name: "credential-providers", Path: path, Access: plan.AccessGuarded, Whole: true})
		case "image-credential-provider-config":
			folder := path[:strings.LastIndexByte(path, '\\')]
			folders = append(folders, step.Folder{Name: "credential-provider-config", Path: folder, Access: plan.AccessGuarded})
		}
	}
	return folders
}
