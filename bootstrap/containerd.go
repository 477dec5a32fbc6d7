package bootstrap

import (
	"fmt"
	"regexp"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	containerdField  = "WindowsBootstrapConfig spec.containerd"
	containerdFolder = `C:\Program Files\containerd`
	// dropInsDirectory is what containerd's configuration imports; containerd 2 merges it key by key.
	dropInsDirectory = containerdFolder + `\conf.d`
	certsDirectory   = `C:\ProgramData\containerd\certs.d`
)

// containerdPart is containerd's settings.
func containerdPart(n *node) (part, error) {
	var p part
	if err := p.registries(n); err != nil {
		return part{}, err
	}
	if err := p.dropIns(n); err != nil {
		return part{}, err
	}
	if len(p.steps[phaseContainer]) > 0 || hasProxy(n) {
		p.add(phaseContainer, restartContainerd()...)
	}
	return p, p.prepull(n)
}

// restartContainerd: Windows stops no service on which a running one depends, and the image's kubelet may run. One that is
// not there is no hindrance.
func restartContainerd() []plan.Step {
	common := plan.Common{Name: "kubelet-stopped", Reason: ReasonContainerRuntimeNotReady, TimeoutSeconds: 120, Attempts: 3}
	stop, restart := common, common
	stop.Optional = true
	restart.Name = "containerd-restarted"
	return []plan.Step{
		&plan.ServiceState{Common: stop, Service: "kubelet", State: plan.ServiceStopped},
		&plan.ServiceState{Common: restart, Service: "containerd", State: plan.ServiceRestarted},
	}
}

// dropIns: ours first, so that a user's wins.
func (p *part) dropIns(n *node) error {
	own, err := ownDropIn(n)
	if err != nil {
		return err
	}
	if own != "" {
		p.add(phaseContainer, fileStep("containerd-settings", ReasonContainerdConfigFailed, dropInsDirectory+`\10-capwin.toml`, []byte(own)))
	}
	seen := map[string]bool{}
	for i, dropIn := range n.spec.Containerd.DropIns {
		field := fmt.Sprintf("%s.dropIns[%d]", containerdField, i)
		if !scriptName.MatchString(dropIn.Name) || seen[dropIn.Name] {
			return invalid(field, "name %q is none, or is there twice; write small letters, digits and dashes, 40 at most", dropIn.Name)
		}
		seen[dropIn.Name] = true
		read, err := n.read(field, dropIn.Content, dropIn.ContentFrom)
		if err != nil {
			return err
		}
		file := fileStep("drop-in-"+dropIn.Name, ReasonContainerdConfigFailed, dropInsDirectory+`\50-`+dropIn.Name+".toml", read.bytes)
		if read.secret {
			file.Access = plan.AccessAdmin
		}
		p.add(phaseContainer, file)
		p.redact = append(p.redact, read.secretText()...)
	}
	return nil
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

// ownSettings says whether there is something for a drop-in of ours.
func ownSettings(n *node) bool {
	wanted := n.spec.Containerd
	return wanted.PauseImage != "" || len(wanted.Registries) > 0 || wanted.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled
}

// ownDropIn is empty where nothing was said.
func ownDropIn(n *node) (string, error) {
	wanted := n.spec.Containerd
	var text strings.Builder
	if image := wanted.PauseImage; image != "" {
		if err := checkImage(containerdField+".pauseImage", image); err != nil {
			return "", err
		}
		text.WriteString("\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = '" + image + "'\n")
	}
	if len(wanted.Registries) > 0 {
		text.WriteString("\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '" + certsDirectory + "'\n")
	}
	switch wanted.HyperVIsolation {
	case bootstrapv1.HyperVIsolationEnabled:
		text.WriteString(hyperVRuntime)
	case bootstrapv1.HyperVIsolationDisabled, "":
	default:
		return "", invalid(containerdField+".hyperVIsolation", "%q is none; write Enabled or Disabled", wanted.HyperVIsolation)
	}
	if text.Len() == 0 {
		return "", nil
	}
	return "version = 3\n" + text.String(), nil
}

// imageName is a reference with its registry: ctr and containerd do not guess it.
var imageName = regexp.MustCompile(`^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?|[a-z0-9-]+:[0-9]{1,5}|localhost)` +
	`/[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

func checkImage(field, image string) error {
	if !imageName.MatchString(image) {
		return invalid(field, "%q is no full name of an image; write one such as registry.k8s.io/pause:3.10.2", image)
	}
	return nil
}

// Pulling has half of the deadline at most, all attempts of all images together: the deadline is final for optional steps
// too. An image that has less than leastPullSeconds is not worth a try.
const (
	pullAttempts     = 2
	longestPull      = 600
	leastPullSeconds = 60
)

// prepull makes the first pods start sooner. It is optional: whoever needs an image pulls it.
func (p *part) prepull(n *node) error {
	images := n.spec.Containerd.PrepullImages
	if len(images) == 0 {
		return nil
	}
	share := n.deadlineSeconds / 2 / len(images)
	if share < leastPullSeconds {
		return invalid(containerdField+".prepullImages", "%d images have half of spec.deadlineSeconds %d to be pulled, %d s each, where %d are the least; "+
			"write fewer images, or a larger spec.deadlineSeconds", len(images), n.deadlineSeconds, share, leastPullSeconds)
	}
	for i, image := range images {
		if err := checkImage(fmt.Sprintf("%s.prepullImages[%d]", containerdField, i), image); err != nil {
			return err
		}
		p.add(phaseImages, &plan.Run{
			Common: plan.Common{
				Name: fmt.Sprintf("pull-%d", i+1), Reason: ReasonImagePullFailed, Optional: true,
				TimeoutSeconds: min(longestPull, share/pullAttempts), Attempts: pullAttempts,
			},
			Argv: append(pullCommand(n), plan.Text(image)),
		})
	}
	return nil
}
