package bootstrap

import (
	"fmt"
	"regexp"
	"slices"

	"sigs.k8s.io/cluster-api/util/version"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// image checks that the image fits before anything but the access of folders is changed: a node that joins with the wrong
// programs is worse than one that reports why it does not join.
func (n *node) image() step.Part {
	var p step.Part
	p.Add(step.PhasePrepare, programVersions(n)...)
	p.Add(step.PhasePrepare, n.containerd.VersionCheck()...)
	p.Add(step.PhasePrepare, soundness(n.now)...)
	p.Add(step.PhasePrepare, n.kubelet.MemoryChecks()...)
	return p
}

// programVersions: with another minor version the node would join and run a kubelet that was not asked for.
func programVersions(n *node) []plan.Step {
	wanted := fmt.Sprintf("1.%d", n.minor)
	fact := func(name, set string, argv ...string) plan.Step {
		return &plan.Fact{
			Common: plan.Common{Name: name, Reason: step.ReasonImageVersionMismatch, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts(argv...), Match: `v(\d+\.\d+)\.`, Set: set, Say: plan.Text(argv[0] + " does not print its version"),
		}
	}
	check := func(name, program, fact string) plan.Step {
		return &plan.Check{
			Common: plan.Common{Name: name, Reason: step.ReasonImageVersionMismatch},
			Test:   plan.Test{Fact: fact, Is: plan.Text(wanted)},
			Say:    plan.Say("the image has "+program+" ", fact, ", the Machine needs "+wanted),
		}
	}
	return slices.Concat([]plan.Step{
		fact("kubeadm-version", "kubeadmVersion", step.KubeadmProgram, "version", "-o", "short"),
		check("image-version", "kubeadm", "kubeadmVersion"),
		fact("kubelet-version", "kubeletVersion", step.KubeletProgram, "--version"),
		check("kubelet-of-image", "kubelet", "kubeletVersion"),
	}, patchVersion(n))
}

// release finds a version without the suffix that vendors add.
var release = regexp.MustCompile(`1\.\d+\.\d+`)

// patchVersion warns of another patch of the same minor version: such a node works, but is not what was asked for.
func patchVersion(n *node) []plan.Step {
	wanted := release.FindString(n.version)
	const patch = "kubeletPatch"
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{
				Name: "kubelet-patch-version", Reason: step.ReasonImageVersionMismatch, TimeoutSeconds: 60, Attempts: 2, Optional: true,
			},
			Argv: plan.Texts(step.KubeletProgram, "--version"), Match: `v(\d+\.\d+\.\d+)`, Set: patch,
			Say: plan.Text(step.KubeletProgram + " does not print its version"),
		},
		&plan.Check{
			Common: plan.Common{
				Name: "kubelet-patch-of-image", Reason: step.ReasonImageVersionMismatch, Optional: true,
				When: &plan.Test{Fact: patch, IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: patch, Is: plan.Text(wanted)},
			Say:  plan.Say("the image has kubelet ", patch, ", the Machine needs "+wanted),
		},
	}
}

// oldestMinor is the oldest 1.x whose kubeadm and kubelet accept what we render.
const oldestMinor = 30

// fullVersion has all three numbers, and at most the suffix of a vendor.
var fullVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+_][0-9A-Za-z.+_-]+)?$`)

func readMinor(text string) (uint64, error) {
	const field = "Machine spec.version"
	if text == "" {
		return 0, step.Invalid(field, "must be set; use the Kubernetes version of the image, such as v1.36.3")
	}
	parsed, err := version.ParseTolerantImageTag(text)
	if err != nil || !fullVersion.MatchString(text) {
		return 0, step.Invalid(field, "%q is not a full version; use one such as v1.36.3", text)
	}
	if parsed.Major != 1 || parsed.Minor < oldestMinor {
		return 0, step.Invalid(field, "%q is not supported; use v1.%d.0 or a later v1", text, oldestMinor)
	}
	return parsed.Minor, nil
}
