package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Step is one idempotent act of a node: a pointer to one of the kinds of this package.
type Step interface {
	// Kind is the name of the kind, "do" in JSON.
	Kind() Kind
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

// kinds is the closed set, in the order of docs/plan.md, which is written from the types. An interpreter must know all of
// them, and nothing else.
var kinds = []Step{
	&File{}, &Directory{}, &Remove{}, &Reservations{}, &CollectLogs{}, &Registry{}, &Environment{}, &Service{}, &ServiceState{},
	&Run{}, &Script{}, &Fact{}, &Check{}, &WaitFor{}, &SendReport{}, &Firewall{}, &Feature{}, &Reboot{}, &Time{}, &LocalUser{},
	&PageFile{}, &DefenderExclusions{}, &PortRange{}, &Address{}, &Route{}, &HNSNetwork{}, &HNSCleanup{},
}

// Kinds returns an empty step of every kind.
func Kinds() []Step {
	steps := make([]Step, 0, len(kinds))
	for _, one := range kinds {
		steps = append(steps, empty(one))
	}
	return steps
}

// empty is a new step of the same kind.
func empty(step Step) Step { return reflect.New(reflect.TypeOf(step).Elem()).Interface().(Step) }

// kindOf is the entry of a kind in kinds, or nil.
func kindOf(name Kind) Step {
	for _, one := range kinds {
		if one.Kind() == name {
			return one
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
	var text bytes.Buffer
	err := p.write(&text)
	return text.Bytes(), err
}

func writePhases(text *bytes.Buffer, phases []Phase) error {
	text.WriteByte('[')
	for i, phase := range phases {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := phase.write(text); err != nil {
			return err
		}
	}
	text.WriteByte(']')
	return nil
}

func (p Phase) write(text *bytes.Buffer) error {
	name, err := json.Marshal(p.Name)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, `{"name":%s,"steps":[`, name)
	for i, step := range p.Steps {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := writeStep(text, step); err != nil {
			return fmt.Errorf("phase %s, step %s: %w", p.Name, step.Base().Name, err)
		}
	}
	text.WriteString("]}")
	return nil
}

// writeStep puts the kind before the fields that json writes.
func writeStep(text *bytes.Buffer, step Step) error {
	fmt.Fprintf(text, `{"do":%q`, step.Kind())
	start := text.Len()
	if err := json.NewEncoder(text).Encode(step); err != nil {
		return err
	}
	text.Truncate(text.Len() - len("\n"))
	if fields := text.Bytes()[start:]; len(fields) > len("{}") {
		fields[0] = ','
		return nil
	}
	text.Truncate(start)
	return text.WriteByte('}')
}
