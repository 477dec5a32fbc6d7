package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Step is one idempotent act of a node. It is a pointer to one of the types in kinds.
type Step interface {
	// Base is what every step has.
	Base() *Common
	// check reports to c what is wrong with the fields of the kind.
	check(c *checker)
}

// Kind names what a step does.
type Kind string

// DefaultReason of a failure: FileFailed.
func (k Kind) DefaultReason() string {
	return strings.ToUpper(string(k[:1])) + string(k[1:]) + "Failed"
}

// Common is what every step has.
type Common struct {
	// Name of the step, unique in its phase.
	Name string `json:"name,omitempty"`
	// Reason of a failure; the default of the kind when empty.
	Reason string `json:"reason,omitempty"`
	// TimeoutSeconds bounds a wait, the run of a program or the calls into Windows; each kind has its own default.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// Attempts that the step has, at most 100; 1 when 0.
	Attempts int `json:"attempts,omitempty"`
	// DelaySeconds between two attempts; 5 when absent.
	DelaySeconds *int `json:"delaySeconds,omitempty"`
	// Optional makes a failure a warning.
	Optional bool `json:"optional,omitempty"`
	// When is a test of a fact: the step is skipped where it does not hold.
	When *Test `json:"when,omitempty"`
	// Always is for steps of everyBoot: this one is done even when an earlier one failed, or the deadline has passed.
	Always bool `json:"always,omitempty"`
}

// Base gives every kind that embeds Common one of the methods of a Step.
func (c *Common) Base() *Common { return c }

// Test compares a fact. AtLeast and Below compare dotted numbers; an unknown fact counts as the empty text.
type Test struct {
	// Fact that is compared.
	Fact string `json:"fact"`
	// Is holds for the same text.
	Is Value `json:"is,omitempty"`
	// IsNot holds for another text.
	IsNot Value `json:"isNot,omitempty"`
	// AtLeast holds for this version and later ones.
	AtLeast Value `json:"atLeast,omitempty"`
	// Below holds for earlier versions.
	Below Value `json:"below,omitempty"`
}

// kinds is the closed set: what "do" says, and the type that it stands for. docs/plan.md is written from the types. An
// interpreter must know all of them, and nothing else.
var kinds = []struct {
	name Kind
	step Step
}{
	{"file", &File{}},
	{"directory", &Directory{}},
	{"remove", &Remove{}},
	{"reservations", &Reservations{}},
	{"collectLogs", &CollectLogs{}},
	{"registry", &Registry{}},
	{"service", &Service{}},
	{"serviceState", &ServiceState{}},
	{"run", &Run{}},
	{"fact", &Fact{}},
	{"check", &Check{}},
	{"waitFor", &WaitFor{}},
	{"feature", &Feature{}},
	{"reboot", &Reboot{}},
	{"localUser", &LocalUser{}},
	{"defenderExclusions", &DefenderExclusions{}},
	{"adapter", &Adapter{}},
	{"address", &Address{}},
	{"route", &Route{}},
	{"hnsNetwork", &HNSNetwork{}},
	{"hnsEndpoint", &HNSEndpoint{}},
	{"hnsCleanup", &HNSCleanup{}},
}

// Kinds returns an empty step of every kind.
func Kinds() []Step {
	steps := make([]Step, 0, len(kinds))
	for _, kind := range kinds {
		steps = append(steps, newStep(kind.name))
	}
	return steps
}

// KindOf is the kind of a step, "do" in JSON.
func KindOf(step Step) Kind {
	for _, kind := range kinds {
		if reflect.TypeOf(kind.step) == reflect.TypeOf(step) {
			return kind.name
		}
	}
	return ""
}

// newStep is an empty step of a kind, or nil where the kind is unknown.
func newStep(name Kind) Step {
	for _, kind := range kinds {
		if kind.name == name {
			return reflect.New(reflect.TypeOf(kind.step).Elem()).Interface().(Step)
		}
	}
	return nil
}

// required are the fields that every step of a kind has: those that are never left out when it is written.
func required(t reflect.Type) []string {
	var names []string
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			names = append(names, required(field.Type)...)
		case name != "-" && options != "omitempty":
			names = append(names, name)
		}
	}
	return names
}

// MarshalJSON writes every step with its kind first.
func (p Phase) MarshalJSON() ([]byte, error) {
	steps := make([]json.RawMessage, 0, len(p.Steps))
	for _, step := range p.Steps {
		data, err := encodeStep(step)
		if err != nil {
			return nil, fmt.Errorf("phase %s, step %s: %w", p.Name, step.Base().Name, err)
		}
		steps = append(steps, data)
	}
	return json.Marshal(struct {
		Name  string            `json:"name"`
		Steps []json.RawMessage `json:"steps"`
	}{p.Name, steps})
}

func encodeStep(step Step) ([]byte, error) {
	fields, err := json.Marshal(step)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"do":%q`, KindOf(step))
	if len(fields) > len("{}") {
		head += ","
	}
	return append([]byte(head), fields[1:]...), nil
}
