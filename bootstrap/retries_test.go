package bootstrap_test

import (
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// No single refusal of Windows may end a bootstrap where a step only asks or sets something.
func TestSettingsHaveThreeAttempts(t *testing.T) {
	seen := map[string]int{}
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		for _, phase := range slices.Concat(p.Phases, p.EveryBoot) {
			for _, one := range phase.Steps {
				kind := ""
				switch one := one.(type) {
				case *plan.Directory:
					kind = "directory"
				case *plan.File:
					kind = "file"
				case *plan.Remove:
					kind = "remove"
				case *plan.Reservations:
					kind = "reservations"
				case *plan.Registry:
					kind = "registry"
				case *plan.Feature:
					kind = "feature"
				case *plan.DefenderExclusions:
					kind = "defenderExclusions"
				case *plan.Fact:
					if one.Registry != nil {
						kind = "fact of the registry"
					}
				}
				if kind == "" {
					continue
				}
				seen[kind]++
				if base := one.Base(); base.Attempts < 3 || base.DelaySeconds != nil {
					t.Errorf("%s: step %s has %d attempts, after %v s", golden.name, base.Name, base.Attempts, base.DelaySeconds)
				}
			}
		}
	}
	if len(seen) != 8 {
		t.Errorf("of the kinds there are %v, want 8", seen)
	}
}
