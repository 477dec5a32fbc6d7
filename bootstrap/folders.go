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
	protected := n.protected()
	var p step.Part
	p.Add(step.PhasePrepare, guards(protected)...)
	p.Add(step.PhasePrepare, &plan.Remove{
		Common: plan.Common{Name: "foreign-files", Reason: step.ReasonNodeFilesFailed},
		Paths:  plan.Texts(madeAnew...),
	})
	for _, folder := range protected {
		p.Add(step.PhasePrepare, folder.Protect())
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
	base := []step.Folder{
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
	var distinct []step.Folder
	for _, folder := range slices.Concat(base, n.kubelet.Folders(), n.windows.Folders(), n.network.Folders()) {
		if !step.OfWindows(folder.Path) && !slices.ContainsFunc(distinct, covers(folder)) {
			distinct = append(distinct, folder)
		}
	}
	for i, folder := range distinct {
		distinct[i].Whole = folder.Whole && !slices.ContainsFunc(distinct, func(inner step.Folder) bool {
			return inner.Path != folder.Path && step.Below(inner.Path, folder.Path) // it has its own access
		})
	}
	slices.SortStableFunc(distinct, func(a, b step.Folder) int {
		return cmp.Compare(strings.Count(a.Path, `\`), strings.Count(b.Path, `\`))
	})
	return distinct
}

// covers returns whether a folder is the same one, or one for administrators above it.
func covers(folder step.Folder) func(step.Folder) bool {
	return func(f step.Folder) bool {
		return strings.EqualFold(f.Path, folder.Path) || f.Access == plan.AccessAdmin && step.Below(folder.Path, f.Path)
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9.]+`)

// guards are the folders above those that are protected, from the drive on, each once.
func guards(protected []step.Folder) []plan.Step {
	var steps []plan.Step
	seen := map[string]bool{}
	for _, folder := range protected {
		for _, parent := range step.FoldersAbove(folder.Path) {
			lower := strings.ToLower(parent)
			if seen[lower] || slices.ContainsFunc(protected, func(f step.Folder) bool {
				return strings.EqualFold(f.Path, parent)
			}) {
				continue
			}
			seen[lower] = true
			name := "guard" + notInName.ReplaceAllString(lower[len("C:"):], "-")
			steps = append(steps, step.Directory(strings.TrimRight(name[:min(len(name), 60)], "-"), parent, plan.AccessGuarded))
		}
	}
	return steps
}
