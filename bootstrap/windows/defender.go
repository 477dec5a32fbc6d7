package windows

import (
	"regexp"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Folders and processes of Kubernetes and containerd: they write so much that scanning them slows a node down.
var (
	excludedFolders   = []string{`C:\ProgramData\containerd`, step.KubeletDirectory, `C:\k`}
	excludedProcesses = []string{
		"containerd.exe", "containerd-shim-runhcs-v1.exe", "ctr.exe", "kubelet.exe", "kube-proxy.exe", "kube-log-runner.exe",
	}
	processName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}\.exe$`)
)

// defender is what the user excludes from scans, besides ours.
type defender struct{ folders, processes []string }

func readDefender(in Input) (setting, error) {
	exclusions := in.Spec.DefenderExclusions
	const field = windowsField + ".defenderExclusions"
	for _, folder := range exclusions.Folders {
		if !step.IsPlain(folder) {
			return nil, step.Invalid(field+".folders", `%q is not a plain path on drive C:; use one such as C:\data`, folder)
		}
	}
	for _, process := range exclusions.Processes {
		if !processName.MatchString(process) {
			return nil, step.Invalid(field+".processes", "%q is not the name of a program; use one such as app.exe", process)
		}
	}
	folders := exclusions.Folders
	if data := dataFolder(in.Spec.DataDrive.Letter); data != "" {
		folders = append([]string{data}, folders...)
	}
	return defender{folders, exclusions.Processes}, nil
}

// addTo: the step is optional, because a Windows without Defender needs no exclusions.
func (d defender) addTo(p *step.Part) {
	p.Add(step.PhaseWindows, &plan.DefenderExclusions{
		Common:    plan.Common{Name: "defender-exclusions", Reason: step.ReasonDefenderFailed, Optional: true},
		Folders:   plan.Texts(slices.Concat(excludedFolders, d.folders)...),
		Processes: plan.Texts(slices.Concat(excludedProcesses, d.processes)...),
	})
}
