// Package containerd is spec.containerd: its own settings, registries (registries.go), and the images that must be there
// (images.go).
package containerd

import (
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	containerdField = "WindowsBootstrapConfig spec.containerd"

	containerdProgram = step.ContainerdFolder + `\containerd.exe`
	ctrProgram        = step.ContainerdFolder + `\ctr.exe`

	// oldestContainerd runs HostProcess containers, in which every CNI and kube-proxy run.
	oldestContainerd = "1.7"
	// mergingContainerd reads drop-ins of version 3, and merges them key by key.
	mergingContainerd = "2.0"
)

// Input is what containerd's settings are made of.
type Input struct {
	Spec            bootstrapv1.Containerd
	Sources         step.Contents
	DeadlineSeconds int
	// Proxied: it is started again for the variables of a proxy.
	Proxied bool
}

// Containerd is spec.containerd, read and found good.
type Containerd struct {
	registries []registry
	// settings is the text of our own drop-in, or empty.
	settings string
	dropIns  []dropIn
	// prepull are images, each with pullSeconds for one attempt.
	prepull     []string
	pullSeconds int
	hyperV      bool
	proxied     bool
}

// dropIn is a user's own file of settings.
type dropIn struct {
	name    string
	content step.Content
}

// Read refuses what containerd would not take.
func Read(in Input) (Containerd, error) {
	c := Containerd{proxied: in.Proxied}
	var err error
	if c.registries, err = readRegistries(in.Spec.Registries, in.Sources); err != nil {
		return c, err
	}
	if c.settings, err = readSettings(in.Spec); err != nil {
		return c, err
	}
	if c.dropIns, err = readDropIns(in.Spec.DropIns, in.Sources); err != nil {
		return c, err
	}
	c.hyperV = in.Spec.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled
	c.prepull = in.Spec.PrepullImages
	c.pullSeconds, err = readPrepull(in.Spec.PrepullImages, in.DeadlineSeconds)
	return c, err
}

// Warnings are of what the VM must bring.
func (c Containerd) Warnings() []string {
	if !c.hyperV {
		return nil
	}
	return []string{containerdField + ".hyperVIsolation: the VM needs nested virtualization: on vSphere a template that exposes it, " +
		"on Azure a size that has it"}
}

// Steps write the settings and start containerd again where they change. Our own drop-in comes first, so that a user's wins.
func (c Containerd) Steps() step.Part {
	var p step.Part
	p.Add(step.PhaseImages, c.pauseImage()...)
	addRegistries(&p, c.registries)
	if c.settings != "" {
		p.Add(step.PhaseContainer, step.File("containerd-settings", step.ReasonContainerdConfigFailed, step.DropInsDirectory+`\10-capwin.toml`, []byte(c.settings)))
	}
	for _, own := range c.dropIns {
		file := step.File("drop-in-"+own.name, step.ReasonContainerdConfigFailed, step.DropInsDirectory+`\50-`+own.name+".toml", own.content.Bytes)
		if own.content.Secret {
			file.Access = plan.AccessAdmin
		}
		p.Add(step.PhaseContainer, file)
		p.Redact = append(p.Redact, own.content.SecretText()...)
	}
	if len(p.Steps[step.PhaseContainer]) > 0 || c.proxied {
		p.Add(step.PhaseContainer, restart()...)
	}
	p.Add(step.PhaseContainer, answers()...)
	p.Add(step.PhaseImages, c.pulls()...)
	return p
}

// restart: Windows stops no service on which a running one depends, and the image's kubelet may run. One that is
// not there is no hindrance.
func restart() []plan.Step {
	common := plan.Common{Name: "kubelet-stopped", Reason: step.ReasonContainerRuntimeNotReady, TimeoutSeconds: 120, Attempts: 3}
	stop, restart := common, common
	stop.Optional = true
	restart.Name = "containerd-restarted"
	return []plan.Step{
		&plan.ServiceState{Common: stop, Service: "kubelet", State: plan.ServiceStopped},
		&plan.ServiceState{Common: restart, Service: "containerd", State: plan.ServiceRestarted},
	}
}

// VersionCheck asks the image for a containerd that reads the settings. Where it is not in its usual place nothing is known of
// it, which is a warning.
func (c Containerd) VersionCheck() []plan.Step {
	oldest, why := oldestContainerd, "HostProcess containers need "
	if len(c.dropIns) > 0 || c.settings != "" {
		oldest, why = mergingContainerd, "the settings in spec.containerd need "
	}
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{Name: "containerd-version", Reason: step.ReasonContainerdTooOld, TimeoutSeconds: 60, Attempts: 2, Optional: true},
			Argv:   plan.Texts(containerdProgram, "--version"), Match: `\sv?(\d+\.\d+)\.`, Set: "containerdVersion",
			Say: plan.Text(containerdProgram + " does not tell its version"),
		},
		&plan.Check{
			Common: plan.Common{
				Name: "containerd-of-image", Reason: step.ReasonContainerdTooOld,
				When: &plan.Test{Fact: "containerdVersion", IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: "containerdVersion", AtLeast: plan.Text(oldest)},
			Say:  plan.Say("the image has containerd ", "containerdVersion", ", "+why+oldest+" or later"),
		},
	}
}

// answers also says what the service does after a failure. With which arguments containerd runs is the image's to say.
func answers() []plan.Step {
	return []plan.Step{
		&plan.ServiceState{
			Common:  plan.Common{Name: "containerd-running", Reason: step.ReasonContainerRuntimeNotReady, TimeoutSeconds: 120, Attempts: 3},
			Service: "containerd", State: plan.ServiceRunning,
		},
		&plan.WaitFor{
			Common: plan.Common{Name: "containerd-answers", Reason: step.ReasonContainerRuntimeNotReady, TimeoutSeconds: 120},
			For:    plan.ForPipe, Target: plan.Text("containerd-containerd"),
			Say: plan.Text("containerd does not answer on its pipe"),
		},
		serviceTool("containerd-restarts", "failure", "containerd", "reset=", "900", "actions=", "restart/10000/restart/30000/restart/60000"),
		serviceTool("containerd-restarts-always", "failureflag", "containerd", "1"),
	}
}

func serviceTool(name string, args ...string) plan.Step {
	return &plan.Run{
		Common: plan.Common{Name: name, Reason: step.ReasonContainerdConfigFailed, TimeoutSeconds: 60, Attempts: 3},
		Argv:   plan.Texts(append([]string{"sc.exe"}, args...)...),
	}
}

func readDropIns(wanted []bootstrapv1.ContainerdDropIn, sources step.Contents) ([]dropIn, error) {
	var all []dropIn
	seen := map[string]bool{}
	for i, one := range wanted {
		field := fmt.Sprintf("%s.dropIns[%d]", containerdField, i)
		if !step.Name.MatchString(one.Name) || seen[one.Name] {
			return nil, step.Invalid(field, "name %q is none, or is there twice; write small letters, digits and dashes, 40 at most", one.Name)
		}
		seen[one.Name] = true
		read, err := sources.Content(field, one.Content, one.ContentFrom)
		if err != nil {
			return nil, err
		}
		all = append(all, dropIn{one.Name, read})
	}
	return all, nil
}

// hyperVRuntime is the handler for pods that have a virtual machine each, as containerd's own documentation has it.
const hyperVRuntime = `
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runhcs-wcow-hypervisor]
runtime_type = 'io.containerd.runhcs.v1'
pod_annotations = ['io.microsoft.virtualmachine.*', 'io.microsoft.container.*']
container_annotations = ['io.microsoft.container.*']
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runhcs-wcow-hypervisor.options]
SandboxIsolation = 1
SandboxPlatform = 'windows/amd64'
ScaleCPULimitsToSandbox = true
`

// readSettings gives the text of our drop-in, which is empty where nothing was said.
func readSettings(wanted bootstrapv1.Containerd) (string, error) {
	var text strings.Builder
	if image := wanted.PauseImage; image != "" {
		if err := checkImage(containerdField+".pauseImage", image); err != nil {
			return "", err
		}
		text.WriteString("\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = '" + image + "'\n")
	}
	if len(wanted.Registries) > 0 {
		text.WriteString("\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '" + step.CertsDirectory + "'\n")
	}
	isolation, err := step.Choose(containerdField+".hyperVIsolation", wanted.HyperVIsolation, "", isolations)
	if err != nil {
		return "", err
	}
	text.WriteString(isolation)
	if text.Len() == 0 {
		return "", nil
	}
	return "version = 3\n" + text.String(), nil
}

// isolations are what stands in the drop-in for them.
var isolations = map[bootstrapv1.HyperVIsolation]string{
	bootstrapv1.HyperVIsolationEnabled: hyperVRuntime, bootstrapv1.HyperVIsolationDisabled: "",
}
