package bootstrap

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// folders come first in every plan: Windows lets users make folders in C: and files below them, and SYSTEM runs or obeys what
// lies in ours. So they belong to administrators before anything is written there, or run from there. The folders above them are
// guarded, or a user could replace ours; what others may have left in our own is removed, and what the image has in its own is
// made theirs.
func (n *node) folders() step.Part {
	all := n.protected()
	var p step.Part
	p.Add(step.PhasePrepare, guards(all)...)
	p.Add(step.PhasePrepare, &plan.Remove{
		Common: plan.Common{Name: "foreign-files", Reason: step.ReasonNodeFilesFailed},
		Paths:  plan.Texts(madeAnew...),
	})
	for _, one := range all {
		p.Add(step.PhasePrepare, one.Protect())
	}
	return p
}

// madeAnew is what only the bootstrap, kubeadm, the kubelet and flannel write, and obey.
var madeAnew = []string{
	step.JoinDirectory, step.OwnDirectory, step.FlannelFolder,
	step.KubeletDirectory + `\config.yaml`, step.KubeletDirectory + `\instance-config.yaml`,
	step.KubeletDirectory + `\kubeadm-flags.env`, step.KubeletPlugins, step.KubeletRegistry, step.KubeletDevices,
	step.KubeletImages,
}

// protected are the folders of every node and those that a spec adds, from the drive on. Pods must be able to use their volumes
// in the kubelet's folder as Users: only the rest of it is for administrators. Sockets of plug-ins would let a user pose as a
// driver.
func (n *node) protected() []step.Folder {
	all := []step.Folder{
		{Name: "own-folder", Path: step.OwnDirectory, Access: plan.AccessAdmin},
		{Name: "kubeadm-folder", Path: step.JoinDirectory, Access: plan.AccessAdmin},
		{Name: "sentinel-folder", Path: step.SentinelDirectory, Access: plan.AccessGuarded},
		{Name: "flannel-folder", Path: step.FlannelFolder, Access: plan.AccessAdmin},
		{Name: "kubernetes-folder", Path: step.KubernetesDirectory, Access: plan.AccessAdmin, Whole: true},
		{Name: "programs-folder", Path: step.ProgramsDirectory, Access: plan.AccessAdmin, Whole: true},
		{Name: "cni-programs-folder", Path: step.CNIPrograms, Access: plan.AccessAdmin, Whole: true},
		{Name: "cni-folder", Path: step.CNIFolder, Access: plan.AccessAdmin, Whole: true},
		{Name: "cni-state", Path: step.CNIState, Access: plan.AccessAdmin, Whole: true},
		{Name: "kubelet-plugins", Path: step.KubeletPlugins, Access: plan.AccessAdmin},
		{Name: "kubelet-registry", Path: step.KubeletRegistry, Access: plan.AccessAdmin},
		{Name: "kubelet-devices", Path: step.KubeletDevices, Access: plan.AccessAdmin},
		{Name: "kubelet-images", Path: step.KubeletImages, Access: plan.AccessAdmin},
		{Name: "pod-logs", Path: step.PodLogs, Access: plan.AccessAdmin, Whole: true},
		{Name: "container-logs", Path: step.ContainerLogs, Access: plan.AccessAdmin, Whole: true},
		{Name: "kubelet-logs", Path: n.kubelet.LogDirectory, Access: plan.AccessGuarded, Whole: true},
		{Name: "registries", Path: step.CertsDirectory, Access: plan.AccessAdmin, Whole: true},
	}
	var once []step.Folder
	for _, one := range slices.Concat(all, n.kubelet.Folders(), n.windows.Folders(), n.network.Folders()) {
		if !step.OfWindows(one.Path) && !slices.ContainsFunc(once, covers(one)) {
			once = append(once, one)
		}
	}
	for i, one := range once {
		once[i].Whole = one.Whole && !slices.ContainsFunc(once, func(other step.Folder) bool {
			return other.Path != one.Path && step.Below(other.Path, one.Path) // it has its own access
		})
	}
	slices.SortStableFunc(once, func(a, b step.Folder) int {
		return cmp.Compare(strings.Count(a.Path, `\`), strings.Count(b.Path, `\`))
	})
	return once
}

// covers says of a folder that it is the same one, or one for administrators above it.
func covers(one step.Folder) func(step.Folder) bool {
	return func(other step.Folder) bool {
		return strings.EqualFold(other.Path, one.Path) || other.Access == plan.AccessAdmin && step.Below(one.Path, other.Path)
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9.]+`)

// guards are the folders above those that are protected, from the drive on, each once.
func guards(all []step.Folder) []plan.Step {
	var steps []plan.Step
	seen := map[string]bool{}
	for _, one := range all {
		for _, above := range step.FoldersAbove(one.Path) {
			lower := strings.ToLower(above)
			if seen[lower] || slices.ContainsFunc(all, func(other step.Folder) bool {
				return strings.EqualFold(other.Path, above)
			}) {
				continue
			}
			seen[lower] = true
			name := "guard" + notInName.ReplaceAllString(lower[len("C:"):], "-")
			steps = append(steps, step.Directory(strings.TrimRight(name[:min(len(name), 60)], "-"), above, plan.AccessGuarded))
		}
	}
	return steps
}
