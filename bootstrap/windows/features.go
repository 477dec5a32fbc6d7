package windows

import (
	"regexp"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

var featureName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`)

// features are names of Windows Server features.
type features []string

func readFeatures(in Input) (setting, error) {
	wanted := slices.Clone(features(in.Spec.Features))
	if in.HyperV && !slices.Contains(wanted, "Hyper-V") {
		wanted = append(wanted, "Hyper-V")
	}
	for _, name := range wanted {
		if !featureName.MatchString(name) {
			return nil, step.Invalid(windowsField+".features",
				"%q is not a feature; use a name that Get-WindowsFeature shows, such as Containers", name)
		}
	}
	return wanted, nil
}

func (f features) addTo(p *step.Part) {
	if len(f) > 0 {
		p.Add(step.PhaseWindows, &plan.Feature{
			Common: plan.Common{Name: "features", Reason: step.ReasonFeatureFailed, TimeoutSeconds: 1200}, Features: plan.Texts(f...),
		})
	}
}
