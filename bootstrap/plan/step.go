package plan

import (
	"encoding/json"
	"fmt"
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

// Common is what every step has.
type Common struct {
	// Name says within its phase which step this is.
	Name string `json:"name,omitempty"`
	// Reason of a failure; "<Kind>Failed" when empty.
	Reason string `json:"reason,omitempty"`
	// TimeoutSeconds for the kinds that wait or run a program; each has its own default.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// Attempts before the step has failed; 1 when 0.
	Attempts int `json:"attempts,omitempty"`
	// DelaySeconds between attempts; 5 when nil.
	DelaySeconds *int `json:"delaySeconds,omitempty"`
	// Optional makes a failure a warning.
	Optional bool `json:"optional,omitempty"`
	// When a fact is not as wanted, the step is left out.
	When *Test `json:"when,omitempty"`
}

// Base makes every kind that embeds Common half a Step.
func (c *Common) Base() *Common { return c }

// Test is a question about a fact. AtLeast and Below compare dotted numbers; an unknown fact is the empty text.
type Test struct {
	Fact    string `json:"fact"`
	Is      Value  `json:"is,omitempty"`
	IsNot   Value  `json:"isNot,omitempty"`
	AtLeast Value  `json:"atLeast,omitempty"`
	Below   Value  `json:"below,omitempty"`
}

// kind is how a kind is read: an empty step of it, and the fields without which it means nothing.
type kind struct {
	empty    func() Step
	required []string
}

// kinds is the closed set. An interpreter must know all of them, and nothing else.
var kinds = map[Kind]kind{
	"file":               {func() Step { return &File{} }, []string{"path"}},
	"directory":          {func() Step { return &Directory{} }, []string{"path"}},
	"remove":             {func() Step { return &Remove{} }, nil},
	"registry":           {func() Step { return &Registry{} }, []string{"key", "value"}},
	"environment":        {func() Step { return &Environment{} }, []string{"variables"}},
	"service":            {func() Step { return &Service{} }, []string{"service", "command"}},
	"serviceState":       {func() Step { return &ServiceState{} }, []string{"service", "state"}},
	"run":                {func() Step { return &Run{} }, []string{"argv"}},
	"script":             {func() Step { return &Script{} }, []string{"path"}},
	"waitFor":            {func() Step { return &WaitFor{} }, []string{"for"}},
	"check":              {func() Step { return &Check{} }, []string{"fact"}},
	"fact":               {func() Step { return &Fact{} }, []string{"argv", "match", "set"}},
	"firewall":           {func() Step { return &Firewall{} }, []string{"rules"}},
	"feature":            {func() Step { return &Feature{} }, []string{"features"}},
	"reboot":             {func() Step { return &Reboot{} }, []string{"if"}},
	"time":               {func() Step { return &Time{} }, nil},
	"localUser":          {func() Step { return &LocalUser{} }, []string{"user"}},
	"pageFile":           {func() Step { return &PageFile{} }, []string{"sizeMiB"}},
	"defenderExclusions": {func() Step { return &DefenderExclusions{} }, nil},
	"portRange":          {func() Step { return &PortRange{} }, []string{"start", "count"}},
	"address":            {func() Step { return &Address{} }, []string{"mac", "addresses"}},
	"route":              {func() Step { return &Route{} }, []string{"destinations"}},
	"hnsNetwork":         {func() Step { return &HNSNetwork{} }, []string{"request"}},
	"hnsCleanup":         {func() Step { return &HNSCleanup{} }, []string{"networks"}},
	"reservations":       {func() Step { return &Reservations{} }, []string{"path", "rules"}},
	"collectLogs":        {func() Step { return &CollectLogs{} }, []string{"path"}},
	"report":             {func() Step { return &SendReport{} }, nil},
}

// MarshalJSON writes every step with its kind first.
func (p Phase) MarshalJSON() ([]byte, error) { return p.appendJSON(nil) }

func appendPhases(data []byte, phases []Phase) ([]byte, error) {
	data = append(data, '[')
	for i, phase := range phases {
		if i > 0 {
			data = append(data, ',')
		}
		var err error
		if data, err = phase.appendJSON(data); err != nil {
			return nil, err
		}
	}
	return append(data, ']'), nil
}

func (p Phase) appendJSON(data []byte) ([]byte, error) {
	name, err := json.Marshal(p.Name)
	if err != nil {
		return nil, err
	}
	data = append(append(append(data, `{"name":`...), name...), `,"steps":[`...)
	for i, step := range p.Steps {
		fields, err := json.Marshal(step)
		if err != nil {
			return nil, fmt.Errorf("phase %s, step %s: %w", p.Name, step.Base().Name, err)
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = fmt.Appendf(data, `{"do":%q`, step.Kind())
		if len(fields) > len("{}") {
			data = append(data, ',')
		}
		data = append(data, fields[1:]...)
	}
	return append(data, "]}"...), nil
}
