package bootstrap

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// finish looks at a plan as a whole, and writes it as JSON.
func (n *node) finish(p *plan.Plan, in Input) ([]byte, error) {
	if err := n.custom.checkPlaces(p); err != nil {
		return nil, err
	}
	if p.ShowsSecret() { // by chance: nothing of a Secret goes there
		return nil, step.Invalid("WindowsBootstrapConfig spec",
			"a value of a Secret, such as a password, is also a word in the steps that the node runs at each start, such as kubernetes; "+
				"use another value, such as a longer password")
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("plan of %s: %w", n.machine.Name, err)
	}
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
	return data, checkPlanSize(data, in)
}

// maxPlanBytes are half of what the reader of JSON in Windows PowerShell 5.1 takes by default.
const maxPlanBytes = 1 << 20

func checkPlanSize(data []byte, in Input) error {
	if len(data) <= maxPlanBytes {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec",
		"the plan of the node has %d bytes as JSON, and Windows reads %d at most; use fewer or shorter files, scripts and other "+
			"contents%s",
		len(data), maxPlanBytes, largest(in.Config.Spec, in.Sources))
}

// checkPlaces refuses files of the user at places that the plan itself writes, clears or runs scripts from. The places are those
// of the plan, so that none can be forgotten. What kubeadm, the kubelet and containerd write is refused by its name (CheckFile).
func (c custom) checkPlaces(p *plan.Plan) error {
	places := placesOf(p)
	for i, file := range c.files {
		field := fmt.Sprintf("%s.files[%d]", customField, i)
		for _, place := range places {
			if place.clashes(file.path) {
				return step.Invalid(field, "%q is needed by the bootstrap itself, for %s; use another path", file.path, place.path)
			}
		}
		for _, inner := range c.files {
			if step.Below(inner.path, file.path) && !strings.EqualFold(inner.path, file.path) {
				return step.Invalid(field, "%q must be a folder, because the file %q is in it; change one of the two", file.path, inner.path)
			}
		}
	}
	return nil
}

// place is a path of a plan; in a folder there may be other files.
type place struct {
	path   string
	folder bool
}

// clashes reports whether a file cannot be at a path beside this place. The last part of a place may have wildcards.
func (p place) clashes(file string) bool {
	if p.folder {
		return step.Below(p.path, file)
	}
	slashed := strings.NewReplacer(`\`, "/")
	pattern, name := slashed.Replace(strings.ToLower(p.path)), slashed.Replace(strings.ToLower(file))
	matches, _ := path.Match(pattern, name)
	return matches || step.Below(p.path, file) || step.Below(file, p.path)
}

// placesOf are all places that a plan writes or clears, but for the files of the user.
func placesOf(p *plan.Plan) []place {
	var places []place
	add := func(values ...plan.Value) {
		for _, value := range values {
			if value != nil {
				places = append(places, place{path: value.String()})
			}
		}
	}
	add(p.Erase...)
	for _, phase := range slices.Concat(p.Phases, p.EveryBoot) {
		for _, s := range phase.Steps {
			switch s := s.(type) {
			case *plan.File:
				if s.Reason != step.ReasonFilesFailed { // the user's
					add(s.Path)
				}
			case *plan.Reservations:
				add(s.Path)
			case *plan.Remove:
				add(slices.Concat(s.Paths, s.Patterns)...)
			case *plan.Run:
				add(s.Creates)
				if script := step.ScriptOf(s); script != "" {
					add(plan.Text(script))
				}
			case *plan.Directory:
				places = append(places, place{s.Path.String(), true})
			}
		}
	}
	return places
}

// settingAttempts is how often a setting is tried.
const settingAttempts = 3

// retrySettings lets no single refusal of Windows end a bootstrap: a scanner holds a file for a moment, the servicing of
// features is busy. It is safe for kinds that find what they have done before.
func retrySettings(phases []plan.Phase) {
	for _, phase := range phases {
		for _, s := range phase.Steps {
			if isSetting(s) {
				s.Base().Attempts = max(s.Base().Attempts, settingAttempts)
			}
		}
	}
}

// isSetting reports whether a step only asks Windows or sets something in it, and waits for nobody.
func isSetting(s plan.Step) bool {
	switch s := s.(type) {
	case *plan.Directory, *plan.File, *plan.Remove, *plan.Reservations, *plan.Registry, *plan.Feature, *plan.DefenderExclusions:
		return true
	case *plan.Fact:
		return s.Registry != nil
	}
	return false
}
