package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/summary"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/words"
)

// poolSections has the MachineDeployment, if there is one.
func poolSections(m *preview.Machine) ([]section, error) {
	if m.Pool == nil {
		return nil, nil
	}
	lines, err := yamlLines(poolFields(m))
	return []section{{name: m.Source, lines: lines}}, err
}

// nodeSections are all parts of a node that a change of files may change, without secrets: the plan as it is printed, the files
// in it, the VM, and the notes.
func nodeSections(m *preview.Machine) ([]section, error) {
	spec := m.Windows.Spec
	spec.ProviderID = "" // computed for the example
	vm, err := yamlLines(spec)
	if err != nil {
		return nil, err
	}
	steps, err := planSections(m.Shown.Plan)
	if err != nil {
		return nil, err
	}
	sections := []section{{name: "summary", lines: summaryLines(m)}, {name: "WindowsMachine spec", lines: vm}}
	return append(append(sections, steps...), section{name: "notes", lines: m.Notes}), nil
}

func summaryLines(m *preview.Machine) (lines []string) {
	for _, row := range summary.Rows(m) {
		lines = append(lines, row.Name+": "+row.Value)
	}
	return lines
}

// poolFields are those of the MachineDeployment, without what the Cluster or the new objects set.
func poolFields(m *preview.Machine) any {
	return map[string]any{"spec": m.Pool.Spec, "labels": m.Pool.Labels, "annotations": m.Pool.Annotations}
}

func yamlLines(value any) ([]string, error) {
	data, err := yaml.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return splitLines(string(data)), nil
}

// splitLines is empty for an empty text.
func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// planSections has one for each step, named by its phase and itself: a step that is new does not change the names of others.
func planSections(p *plan.Plan) ([]section, error) {
	frame, err := frameOf(*p)
	if err != nil {
		return nil, err
	}
	sections := []section{frame}
	order := section{name: orderOfSteps}
	for _, group := range []struct {
		name   string
		phases []plan.Phase
	}{{"", p.Phases}, {"at every later boot, ", p.EveryBoot}, {"in the background, ", p.Background}} {
		for _, phase := range group.phases {
			for _, step := range phase.Steps {
				sec, err := sectionOfStep(group.name+phase.Name+": "+step.Base().Name, step)
				if err != nil {
					return nil, err
				}
				sections, order.lines = append(sections, sec), append(order.lines, sec.name)
			}
		}
	}
	return append(sections, order), nil
}

// frameOf describes what applies to all steps, but for the limits, which the summary has.
func frameOf(p plan.Plan) (section, error) {
	p.DeadlineSeconds, p.MaxReboots = 0, 0
	p.Phases, p.EveryBoot, p.Background = nil, nil, nil
	fields, err := p.Encode()
	if err != nil {
		return section{}, fmt.Errorf("compare: %w", err)
	}
	return section{name: "plan", lines: splitLines(words.Tell(&p)), exact: jsonLines(fields)}, nil
}

// sectionOfStep has the sentences of a step, and the content that it writes.
func sectionOfStep(name string, step plan.Step) (section, error) {
	fields, err := json.Marshal(step)
	if err != nil {
		return section{}, fmt.Errorf("compare: %w", err)
	}
	sec := section{name: name, lines: words.Step(step), exact: jsonLines(fields)}
	switch step := step.(type) {
	case *plan.File:
		sec.lines = append(sec.lines, contentLines(step.Text.String())...)
	case *plan.Reservations:
		patch, err := json.Marshal(step.Patch)
		if err != nil {
			return section{}, fmt.Errorf("compare: %w", err)
		}
		sec.lines = append(sec.lines, jsonLines(patch)...)
	}
	return sec, nil
}

// contentLines are those of a file; JSON, which has one line, gets a line for each value.
func contentLines(text string) []string {
	if json.Valid([]byte(text)) {
		return jsonLines([]byte(text))
	}
	return splitLines(text)
}

func jsonLines(data []byte) []string {
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return splitLines(string(data))
	}
	return splitLines(text.String())
}
