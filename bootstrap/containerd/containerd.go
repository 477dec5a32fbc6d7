// Package containerd is spec.containerd: its own settings, registries (registries.go), and the images that must be there
// (images.go).
package containerd

import (
	"fmt"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	containerdField = "WindowsBootstrapConfig spec.containerd"

	containerdProgram = step.ContainerdFolder + `\containerd.exe`
	ctrProgram        = step.ContainerdFolder + `\ctr.exe`

	// factVersion is the minor version of the image's containerd; empty if it is not in its usual place.
	factVersion = "containerdVersion"
	// mergingContainerd reads drop-ins of version 3, and merges them key by key.
	mergingContainerd = "2.0"
	// tokenContainerd also sends the credentials of a registry to its token service.
	tokenContainerd = "2.1"
)

// Input is what the settings of containerd depend on.
type Input struct {
	Spec            bootstrapv1.Containerd
	Sources         step.Contents
	DeadlineSeconds int
	// VM is that of vSphere; nil elsewhere.
	VM *infrav1.VSphereVM
	// Proxied: containerd must be restarted to see the variables of a proxy.
	Proxied bool
	// Root is the folder of images and containers; empty for that of the image.
	Root string
	// Minor is the Machine's: 36 of v1.36.3.
	Minor uint64
	// OwnCNI: we write the CNI's configuration, or look for its programs. Other CNIs may be configured with folders of the image's
	// own.
	OwnCNI bool
}

// Containerd is what was read of spec.containerd and found good.
type Containerd struct {
	registries []registry
	// settings is the text of our own drop-in; empty if there is no drop-in at all.
	settings string
	// root is the folder of images and containers that our drop-in names.
	root string
	// pauseImage is the one that our drop-in names.
	pauseImage string
	dropIns    []dropIn
	// prepull are images; an attempt to pull one may take pullSeconds.
	prepull     []string
	pullSeconds int
	hyperV      bool
	// nested: the VM surely has nested virtualization.
	nested  bool
	proxied bool
	minor   uint64
	// ownCNI: the folders of the CNI must be ours.
	ownCNI bool
}

// dropIn is a user's own configuration file.
type dropIn struct {
	name    string
	content step.Content
}

// Read refuses what containerd would not accept.
func Read(in Input) (Containerd, error) {
	c := Containerd{proxied: in.Proxied, root: in.Root, ownCNI: in.OwnCNI, minor: in.Minor}
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
	c.settings = withMark(c.root, c.settings, len(c.dropIns) > 0)
	c.pauseImage = in.Spec.PauseImage
	c.hyperV = in.Spec.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled
	if c.nested, err = readNested(c.hyperV, in.VM); err != nil {
		return c, err
	}
	c.prepull = in.Spec.PrepullImages
	c.pullSeconds, err = readPrepull(in.Spec.PrepullImages, in.DeadlineSeconds)
	return c, err
}

// readNested: on vSphere the spec may have it. Azure does not show which of its sizes have it.
func readNested(wanted bool, vm *infrav1.VSphereVM) (bool, error) {
	if wanted && vm != nil && vm.NestedVirtualization == infrav1.NestedVirtualizationDisabled {
		return false, step.Invalid(containerdField+".hyperVIsolation", "is Enabled, but spec.vsphere.nestedVirtualization of the "+
			"WindowsMachine is Disabled, so no hypervisor could run; enable both, or none")
	}
	return Nested(vm), nil
}

// Nested reports whether a VM surely has nested virtualization.
func Nested(vm *infrav1.VSphereVM) bool {
	return vm != nil && vm.NestedVirtualization == infrav1.NestedVirtualizationEnabled
}

// Warnings are about what the VM must support.
func (c Containerd) Warnings() []string {
	if !c.hyperV || c.nested {
		return nil
	}
	return []string{
		containerdField + ".hyperVIsolation: the VM needs nested virtualization; set spec.vsphere.nestedVirtualization of the " +
			"WindowsMachine, or use a size that has it on Azure",
	}
}

// Steps write the configuration, and restart containerd if it changes. Our own drop-in comes first, so that the user
// can override it.
func (c Containerd) Steps() step.Part {
	var p step.Part
	p.Add(step.PhaseImages, c.pauseImageSteps()...)
	addRegistries(&p, c.registries)
	if c.settings != "" {
		p.Add(step.PhaseContainer, dropInFile("containerd-settings", "10-capwin", []byte(c.settings)))
	}
	for _, dropIn := range c.dropIns {
		file := dropInFile("drop-in-"+dropIn.name, "50-"+dropIn.name, dropIn.content.Bytes)
		if dropIn.content.Secret {
			file.Access, file.Secret = plan.FileAdmin, true
		}
		p.Add(step.PhaseContainer, file)
		p.Redact = append(p.Redact, dropIn.content.SecretText()...)
	}
	p.Add(step.PhaseContainer, c.inEffect()...)
	if len(p.Steps[step.PhaseContainer]) > 0 || c.proxied {
		p.Add(step.PhaseContainer, restart()...)
	}
	p.Add(step.PhaseContainer, answers()...)
	p.Add(step.PhaseContainer, c.foldersOfCNI()...)
	p.Add(step.PhaseImages, c.pulls()...)
	return p
}

func dropInFile(name, file string, data []byte) *plan.File {
	return step.File(name, step.ReasonContainerdConfigFailed, step.DropInsDirectory+`\`+file+".toml", data)
}

// restart stops the kubelet of the image first: Windows does not stop a service on which a running one depends. If
// there is no kubelet, that is fine.
func restart() []plan.Step {
	const reason = step.ReasonContainerRuntimeNotReady
	stop := step.ServiceState("kubelet-stopped", reason, "kubelet", plan.ServiceStopped)
	stop.Optional = true
	return []plan.Step{stop, step.ServiceState("containerd-restarted", reason, "containerd", plan.ServiceRestarted)}
}

// minorNeed is what kubelets from a minor version on need of containerd, and what later ones will.
type minorNeed struct {
	minor                    uint64
	oldest, reason, upcoming string
}

// minorNeeds, the newest first. HostProcess containers, which every CNI and kube-proxy use, came with 1.7. The kubelet of 1.38
// refuses a runtime that does not show its configuration, which containerd does since 2.0, and kubeadm of 1.36 warns of that
// (kubernetes v1.37.2, cmd/kubelet/app/server.go; kubeadm issue 3229).
var minorNeeds = []minorNeed{
	{minor: 38, oldest: "2.0", reason: "the kubelet needs "},
	{minor: 36, oldest: "1.7", reason: "HostProcess containers need ", upcoming: "2.0"},
	{oldest: "1.7", reason: "HostProcess containers need "},
}

func needOf(minor uint64) minorNeed {
	return minorNeeds[slices.IndexFunc(minorNeeds, func(n minorNeed) bool { return minor >= n.minor })]
}

// VersionCheck makes sure that the image has a containerd that can read the settings. If containerd is not in its
// usual place the node only warns.
func (c Containerd) VersionCheck() []plan.Step {
	need := needOf(c.minor)
	if c.settings != "" {
		need = minorNeed{oldest: mergingContainerd, reason: "the settings in spec.containerd need "}
	}
	steps := []plan.Step{
		&plan.Fact{
			Common: plan.Common{
				Name: "containerd-version", Reason: step.ReasonContainerdTooOld, TimeoutSeconds: 60, Attempts: 2, Optional: true,
			},
			Argv: plan.Texts(containerdProgram, "--version"), Match: `\sv?(\d+\.\d+)\.`, Set: factVersion,
			Say: plan.Text(containerdProgram + " does not print its version"),
		},
		&plan.Check{
			Common: plan.Common{
				Name: "containerd-of-image", Reason: step.ReasonContainerdTooOld,
				When: &plan.Test{Fact: factVersion, IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: factVersion, AtLeast: plan.Text(need.oldest)},
			Say:  plan.Say("the image has containerd ", factVersion, ", "+need.reason+need.oldest+" or later"),
		},
	}
	if need.upcoming != "" {
		steps = append(steps, &plan.Check{
			Common: plan.Common{
				Name: "containerd-of-next-image", Reason: step.ReasonContainerdTooOld, Optional: true,
				When: &plan.Test{Fact: factVersion, IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: factVersion, AtLeast: plan.Text(need.upcoming)},
			Say:  plan.Say("the image has containerd ", factVersion, ", from Kubernetes 1.38 on kubelets need "+need.upcoming+" or later"),
		})
	}
	if !slices.ContainsFunc(c.registries, func(r registry) bool { return r.authorization != "" }) {
		return steps
	}
	return append(steps, &plan.Check{
		Common: plan.Common{
			Name: "containerd-tokens", Reason: step.ReasonContainerdTooOld, Optional: true,
			When: &plan.Test{Fact: factVersion, AtLeast: plan.Text(mergingContainerd)},
		},
		Test: plan.Test{Fact: factVersion, AtLeast: plan.Text(tokenContainerd)},
		Say: plan.Say("the image has containerd ", factVersion, ", credentials of registries that require tokens, such as "+
			"docker.io and Harbor, need "+tokenContainerd+" or later"),
	})
}

// answers waits for containerd and sets what Windows does when it fails. Its arguments stay those of the image.
func answers() []plan.Step {
	return []plan.Step{
		step.ServiceState("containerd-running", step.ReasonContainerRuntimeNotReady, "containerd", plan.ServiceRunning),
		&plan.WaitFor{
			Common: plan.Common{Name: "containerd-answers", Reason: step.ReasonContainerRuntimeNotReady, TimeoutSeconds: 120},
			For:    plan.ForPipe, Target: plan.Text("containerd-containerd"),
			Say: plan.Text("containerd does not answer on its pipe"),
		},
		step.Tool("containerd-restarts", step.ReasonContainerdConfigFailed, "sc.exe", "failure", "containerd", "reset=", "900",
			"actions=", "restart/10000/restart/30000/restart/60000"),
		step.Tool("containerd-restarts-always", step.ReasonContainerdConfigFailed, "sc.exe", "failureflag", "containerd", "1"),
	}
}

func readDropIns(wanted []bootstrapv1.ContainerdDropIn, sources step.Contents) ([]dropIn, error) {
	var dropIns []dropIn
	seen := map[string]bool{}
	for i, d := range wanted {
		field := fmt.Sprintf("%s.dropIns[%d]", containerdField, i)
		if err := step.CheckName(field, d.Name, seen); err != nil {
			return nil, err
		}
		read, err := sources.Content(field, d.Content, d.ContentFrom)
		if err != nil {
			return nil, err
		}
		dropIns = append(dropIns, dropIn{d.Name, read})
	}
	return dropIns, nil
}

// hyperVRuntime is the handler for pods with a virtual machine each, as in containerd's documentation.
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

// readSettings writes the tables of our drop-in; there are none if the spec needs none.
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
	return text.String(), nil
}

// isolations are the texts for the drop-in.
var isolations = map[bootstrapv1.HyperVIsolation]string{
	bootstrapv1.HyperVIsolationEnabled: hyperVRuntime, bootstrapv1.HyperVIsolationDisabled: "",
}
