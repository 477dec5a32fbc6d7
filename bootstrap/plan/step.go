package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Step is one idempotent act of a node: a pointer to one of the kinds of this package.
type Step interface {
	// Base is what every step has.
	Base() *Common
	// check says what is wrong with the fields of the kind.
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
	// Name says within its phase which step this is.
	Name string `json:"name,omitempty"`
	// Reason of a failure; the default of the kind when empty.
	Reason string `json:"reason,omitempty"`
	// TimeoutSeconds for the kinds that wait or run a program; each has its own default.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// Attempts before the step has failed; 1 when 0.
	Attempts int `json:"attempts,omitempty"`
	// DelaySeconds between attempts; 5 when it is left out.
	DelaySeconds *int `json:"delaySeconds,omitempty"`
	// Optional makes a failure a warning.
	Optional bool `json:"optional,omitempty"`
	// When a fact is as wanted, the step is made, else left out.
	When *Test `json:"when,omitempty"`
}

// Base makes every kind that embeds Common half a Step.
func (c *Common) Base() *Common { return c }

// Test is a question about a fact. AtLeast and Below compare dotted numbers; an unknown fact is the empty text.
type Test struct {
	// Fact that is looked at.
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
	{"environment", &Environment{}},
	{"service", &Service{}},
	{"serviceState", &ServiceState{}},
	{"run", &Run{}},
	{"script", &Script{}},
	{"fact", &Fact{}},
	{"check", &Check{}},
	{"waitFor", &WaitFor{}},
	{"report", &SendReport{}},
	{"firewall", &Firewall{}},
	{"feature", &Feature{}},
	{"reboot", &Reboot{}},
	{"time", &Time{}},
	{"localUser", &LocalUser{}},
	{"pageFile", &PageFile{}},
	{"defenderExclusions", &DefenderExclusions{}},
	{"portRange", &PortRange{}},
	{"address", &Address{}},
	{"route", &Route{}},
	{"hnsNetwork", &HNSNetwork{}},
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

// required are the fields without which a step of a kind means nothing: those that are never left out when it is written.
func required(of reflect.Type) []string {
	var names []string
	for field := range of.Fields() {
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
