package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	containerdProgram = containerdFolder + `\containerd.exe`
	ctrProgram        = containerdFolder + `\ctr.exe`

	// oldestContainerd runs HostProcess containers, in which every CNI and kube-proxy run.
	oldestContainerd = "1.7"
	// mergingContainerd reads drop-ins of version 3, and merges them key by key.
	mergingContainerd = "2.0"
)

// imagePart looks whether the image fits before anything is changed: a node that joins with other programs is worse than
// one that says why it does not.
func imagePart(n *node) (part, error) {
	var p part
	p.add(phasePrepare, programVersions(n)...)
	p.add(phasePrepare, soundness(n)...)
	p.add(phaseImages, pauseImage(n)...)
	return p, nil
}

// programVersions: an image of another version would join, and run a kubelet that nobody wanted.
func programVersions(n *node) []plan.Step {
	wanted := plan.Text(fmt.Sprintf("1.%d", n.minor))
	fact := func(name, set string, argv ...string) plan.Step {
		return &plan.Fact{
			Common: plan.Common{Name: name, Reason: ReasonImageVersionMismatch, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts(argv...), Match: `v(\d+\.\d+)\.`, Set: set,
		}
	}
	check := func(name, fact string) plan.Step {
		return &plan.Check{Common: plan.Common{Name: name, Reason: ReasonImageVersionMismatch}, Test: plan.Test{Fact: fact, Is: wanted}}
	}
	return slices.Concat([]plan.Step{
		fact("kubeadm-version", "kubeadmVersion", kubeadmProgram, "version", "-o", "short"),
		check("image-version", "kubeadmVersion"),
		fact("kubelet-version", "kubeletVersion", kubeletProgram, "--version"),
		check("kubelet-of-image", "kubeletVersion"),
	}, patchVersion(n), containerdVersion(n))
}

// release is a version without what vendors add to it.
var release = regexp.MustCompile(`1\.\d+\.\d+`)

// patchVersion: another patch of the same minor version joins and works, and is not what was asked for.
func patchVersion(n *node) []plan.Step {
	wanted := release.FindString(n.version)
	if wanted == "" {
		return nil
	}
	const patch = "kubeletPatch"
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{Name: "kubelet-patch-version", Reason: ReasonImageVersionMismatch, TimeoutSeconds: 60, Attempts: 2, Optional: true},
			Argv:   plan.Texts(kubeletProgram, "--version"), Match: `v(\d+\.\d+\.\d+)`, Set: patch,
		},
		&plan.Check{
			Common: plan.Common{
				Name: "kubelet-patch-of-image", Reason: ReasonImageVersionMismatch, Optional: true,
				When: &plan.Test{Fact: patch, IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: patch, Is: plan.Text(wanted)},
		},
	}
}

// containerdVersion: where containerd is not in its usual place nothing is known of it, which is a warning.
func containerdVersion(n *node) []plan.Step {
	oldest := oldestContainerd
	if len(n.spec.Containerd.DropIns) > 0 || ownSettings(n) {
		oldest = mergingContainerd
	}
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{Name: "containerd-version", Reason: ReasonContainerdTooOld, TimeoutSeconds: 60, Attempts: 2, Optional: true},
			Argv:   plan.Texts(containerdProgram, "--version"), Match: `\sv?(\d+\.\d+)\.`, Set: "containerdVersion",
		},
		&plan.Check{
			Common: plan.Common{
				Name: "containerd-of-image", Reason: ReasonContainerdTooOld,
				When: &plan.Test{Fact: "containerdVersion", IsNot: plan.Text("")},
			},
			Test: plan.Test{Fact: "containerdVersion", AtLeast: plan.Text(oldest)},
		},
	}
}

// What is asked of a node: a warning follows where it is not so. Windows sees some MiB less than the VM was given, which
// hiddenMiB bounds.
const (
	hiddenMiB    = 64
	windows2022  = "20348"
	afterWindows = "26101" // the build after Windows Server 2025
	fewMiB       = "7680"
	fullDiskMiB  = "20480"
)

// soundness warns of a machine that may join and that few would want. One that leaves pods too little memory is refused,
// here as in leavesSomething.
func soundness(n *node) []plan.Step {
	ask := func(name, reason string, test plan.Test) plan.Step {
		return &plan.Check{Common: plan.Common{Name: name, Reason: reason, Optional: true}, Test: test}
	}
	steps := []plan.Step{
		ask("windows-2022-or-later", ReasonWindowsNotSupported, plan.Test{Fact: "osBuild", AtLeast: plan.Text(windows2022)}),
		ask("windows-2025-or-earlier", ReasonWindowsNotSupported, plan.Test{Fact: "osBuild", Below: plan.Text(afterWindows)}),
		ask("disk-free", ReasonMachineTooSmall, plan.Test{Fact: "diskFreeMiB", AtLeast: plan.Text(fullDiskMiB)}),
	}
	if n.memoryMiB == 0 && !n.lowMemory() {
		least := plan.Text(strconv.Itoa(n.leastMemoryMiB() - hiddenMiB))
		steps = append(steps, &plan.Check{
			Common: plan.Common{Name: "memory-for-pods", Reason: ReasonMachineTooSmall}, Test: plan.Test{Fact: "memoryMiB", AtLeast: least},
		})
	}
	if n.memoryMiB < smallMemory {
		steps = append(steps, ask("memory", ReasonMachineTooSmall, plan.Test{Fact: "memoryMiB", AtLeast: plan.Text(fewMiB)}))
	}
	return steps
}

// pauseImage asks containerd for its pause image and pulls it where it is missing: without it no pod starts, and the Node
// would be there and never get ready. In an image that has it nothing is asked of any registry. What containerd does not
// tell is a warning.
func pauseImage(n *node) []plan.Step {
	const named, there, missing = "pauseImage", "pauseImageThere", "LABELS"
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: ReasonPauseImageMissing, TimeoutSeconds: 60, Attempts: 2, Optional: true}
	}
	ask, look, pull := common("pause-image"), common("pause-image-there"), common("pause-image-pulled")
	look.When = &plan.Test{Fact: named, IsNot: plan.Text("")}
	pull.When = &plan.Test{Fact: there, Is: plan.Text(missing)}
	pull.TimeoutSeconds, pull.Optional = 600, false
	return []plan.Step{
		&plan.Fact{
			Common: ask, Argv: plan.Texts(containerdProgram, "config", "dump"),
			// sandbox since version 3 of the configuration, sandbox_image before.
			Match: `\n\s*sandbox[_image]*\s*=\s*['"]([^'"\s]+)['"]`, Set: named,
		},
		// ctr writes a head, and below it the image if it has it; what else it writes is no image.
		&plan.Fact{
			Common: look,
			Argv: append(plan.Texts(ctrProgram, "--namespace", "k8s.io", "images", "list"),
				plan.Parts(plan.Text("name=="), plan.FromFact(named))),
			Match: `(` + missing + `\s*\n\S+\s+\S+\s+sha256:|` + missing + `)`, Set: there,
		},
		&plan.Run{Common: pull, Argv: append(pullCommand(n), plan.FromFact(named))},
	}
}

// pullCommand is the command that pulls the image which is appended.
func pullCommand(n *node) []plan.Value {
	argv := plan.Texts(ctrProgram, "--namespace", "k8s.io", "images", "pull")
	if len(n.spec.Containerd.Registries) > 0 {
		argv = append(argv, plan.Texts("--hosts-dir", certsDirectory)...)
	}
	return argv
}
