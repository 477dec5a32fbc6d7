package windows

import (
	"regexp"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

var featureName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`)

// features are names of Windows Server features.
type features struct {
	names []string
	// hyperV: the hypervisor of this Windows must run, not only be installed.
	hyperV bool
}

func readFeatures(in Input) (setting, error) {
	wanted := slices.Clone(in.Spec.Features)
	if in.HyperV && !slices.Contains(wanted, "Hyper-V") {
		wanted = append(wanted, "Hyper-V")
	}
	for _, name := range wanted {
		if !featureName.MatchString(name) {
			return nil, step.Invalid(windowsField+".features",
				"%q is not a feature; use a name that Get-WindowsFeature shows, such as Containers", name)
		}
	}
	return features{wanted, in.HyperV}, nil
}

func (f features) addTo(p *step.Part) {
	if len(f.names) > 0 {
		p.Add(step.PhaseWindows, &plan.Feature{
			Common:   plan.Common{Name: "features", Reason: step.ReasonFeatureFailed, TimeoutSeconds: 1200},
			Features: plan.Texts(f.names...),
		})
	}
	if f.hyperV {
		p.Add(step.PhaseWindows, hypervisor())
	}
}

// hypervisor looks at the driver of Hyper-V that Windows starts only above a running hypervisor of its own. That the feature is
// installed proves nothing: a VM without nested virtualization has it, and so has an image of image-builder with
// disable_hypervisor. Nor does HypervisorPresent of Win32_ComputerSystem, which is true in every VM. The words of sc.exe are
// translated, its numbers are not: 4 is a driver that runs.
func hypervisor() plan.Step {
	return &plan.Fact{
		Common: plan.Common{Name: "hypervisor-runs", Reason: step.ReasonHypervisorNotRunning, TimeoutSeconds: 60, Attempts: 6},
		Argv:   plan.Texts("sc.exe", "query", "vid"), Match: `:\s+4\s`, Set: "hypervisor",
		Say: plan.Text("the hypervisor of Windows does not run: the VM needs nested virtualization, and Windows the feature " +
			"Microsoft-Hyper-V-Online and hypervisorlaunchtype auto"),
	}
}
