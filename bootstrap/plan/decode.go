package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	kjson "sigs.k8s.io/json"
)

// Error says what is wrong with a plan, and where.
type Error struct {
	// Where is the phase and step, empty for the plan itself.
	Where string
	// Message is the sentence that interpreters report with the reason PlanNotUnderstood.
	Message string
}

// Error is the place and the sentence.
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Message
	}
	return e.Where + ": " + e.Message
}

// Decode reads a plan. It refuses one that an interpreter could not understand as a whole: another version, an unknown kind
// or field, a missing field. Whether a plan makes sense is for Validate to say.
func Decode(data []byte) (*Plan, error) {
	if err := checkVersion(data); err != nil {
		return nil, err
	}
	var read document
	if err := decodeStrict(data, &read); err != nil {
		return nil, &Error{Message: err.Error()}
	}
	plan := read.Plan
	if err := decodeLogs(read.Logs, &plan); err != nil {
		return nil, err
	}
	err := checkMachine(plan.Machine)
	if err != nil {
		return nil, err
	}
	if plan.Phases, err = decodePhases("phases", read.Phases); err != nil {
		return nil, err
	}
	if plan.EveryBoot, err = decodeMore("everyBoot", read.EveryBoot); err != nil {
		return nil, err
	}
	if plan.Background, err = decodeMore("background", read.Background); err != nil {
		return nil, err
	}
	return &plan, nil
}

// decodeMore reads a list of phases that may be missing.
func decodeMore(name string, data json.RawMessage) ([]Phase, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	return decodePhases(name, data)
}

// document is a plan whose steps are not read yet. Its own fields hide those of Plan.
type document struct {
	Plan
	Logs       json.RawMessage `json:"logs"`
	Phases     json.RawMessage `json:"phases"`
	EveryBoot  json.RawMessage `json:"everyBoot"`
	Background json.RawMessage `json:"background"`
}

// checkVersion comes first, because in another version any field may have another meaning.
func checkVersion(data []byte) error {
	var read struct {
		Version any `json:"version"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read); err != nil {
		return &Error{Message: fmt.Sprintf("not a JSON object: %v", err)}
	}
	if read.Version == nil || !Readable(data) {
		read.Version = ""
	}
	if fmt.Sprint(read.Version) != fmt.Sprint(Version) {
		return &Error{Message: fmt.Sprintf("plan version '%v' is not %d", read.Version, Version)}
	}
	return nil
}

// checkMachine asks for what an interpreter needs to say whose report it sends.
func checkMachine(m Machine) error {
	for _, field := range []struct{ name, value string }{{"uid", m.UID}, {"name", m.Name}, {"node", m.Node}} {
		if field.value == "" {
			return &Error{Message: fmt.Sprintf("machine.%s is missing", field.name)}
		}
	}
	return nil
}

// decodeLogs reads the step that collects logs, which may leave out its kind.
func decodeLogs(data []byte, plan *Plan) error {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := decodeStrict(data, &fields); err != nil {
		return &Error{Where: "logs", Message: err.Error()}
	}
	if fields["do"] == nil {
		fields["do"] = json.RawMessage(`"collectLogs"`)
	}
	step, err := decodeFields(fields)
	if err != nil {
		return &Error{Where: "logs", Message: err.Error()}
	}
	logs, ok := step.(*CollectLogs)
	if !ok {
		return &Error{Where: "logs", Message: fmt.Sprintf("step kind '%s' does not collect logs", KindOf(step))}
	}
	plan.Logs = logs
	return nil
}

func decodePhases(list string, data []byte) ([]Phase, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil || items == nil {
		return nil, &Error{Message: list + " is not a list"}
	}
	phases := make([]Phase, 0, len(items))
	for i, item := range items {
		var read struct {
			Name  string            `json:"name"`
			Steps []json.RawMessage `json:"steps"`
		}
		if err := decodeStrict(item, &read); err != nil {
			return nil, &Error{Where: fmt.Sprintf("%s[%d]", list, i), Message: err.Error()}
		}
		steps, err := decodeSteps(read.Name, read.Steps)
		if err != nil {
			return nil, err
		}
		phases = append(phases, Phase{Name: read.Name, Steps: steps})
	}
	return phases, nil
}

func decodeSteps(phase string, list []json.RawMessage) ([]Step, error) {
	if list == nil {
		return nil, &Error{Where: "phase " + phase, Message: "a phase has no list of steps"}
	}
	steps := make([]Step, 0, len(list))
	for i, data := range list {
		step, err := decodeStep(data)
		if err != nil {
			return nil, &Error{Where: fmt.Sprintf("phase %s, step %d", phase, i+1), Message: err.Error()}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func decodeStep(data []byte) (Step, error) {
	if data[0] != '{' {
		return nil, errors.New("a step is not an object")
	}
	var fields map[string]json.RawMessage
	if err := decodeStrict(data, &fields); err != nil {
		return nil, err
	}
	return decodeFields(fields)
}

func decodeFields(fields map[string]json.RawMessage) (Step, error) {
	var name string
	if err := json.Unmarshal(fields["do"], &name); err != nil {
		return nil, errors.New("step kind '' is unknown")
	}
	step := newStep(Kind(name))
	if step == nil {
		return nil, fmt.Errorf("step kind '%s' is unknown", name)
	}
	for _, field := range required(reflect.TypeOf(step).Elem()) {
		if _, ok := fields[field]; !ok {
			return nil, fmt.Errorf("step '%s' (%s) lacks '%s'", stepName(fields), name, field)
		}
	}
	delete(fields, "do")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if err := decodeStrict(rest, step); err != nil {
		return nil, fmt.Errorf("step '%s' (%s): %w", stepName(fields), name, err)
	}
	return step, nil
}

func stepName(fields map[string]json.RawMessage) string {
	var name string
	if json.Unmarshal(fields["name"], &name) != nil {
		return ""
	}
	return name
}

// decodeStrict accepts each field once, by its exact name, and no other field.
func decodeStrict(data []byte, target any) error {
	strict, err := kjson.UnmarshalStrict(data, target)
	if err != nil {
		return err
	}
	return errors.Join(strict...)
}
