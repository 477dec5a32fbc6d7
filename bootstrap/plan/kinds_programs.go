package plan

import (
	"math"
	"slices"
)

// Run runs a program, and succeeds by its exit code. TimeoutSeconds is 600 when 0; after that all its processes are ended.
//
// Already so: the file Creates exists.
type Run struct {
	Common
	// Argv is the program and its arguments, each quoted for Windows by the interpreter.
	Argv []Value `json:"argv"`
	Program
}

// Program is how a program runs, and what its end means.
type Program struct {
	// OkExitCodes is [0] when empty. An exit code is a number of 32 bits with a sign, as .NET has it: 0xC0000005 is -1073741819.
	OkExitCodes []int `json:"okExitCodes,omitempty"`
	// RebootExitCodes mean success after a reboot.
	RebootExitCodes []int `json:"rebootExitCodes,omitempty"`
	// Environment is added to that of the machine, and wins.
	Environment map[string]Value `json:"environment,omitempty"`
	// Directory to run in.
	Directory string `json:"directory,omitempty"`
	// Diagnose finds the reason of a failure in what the program wrote. The first rule that matches counts.
	Diagnose []Diagnosis `json:"diagnose,omitempty"`
	// Creates is a file that exists once the program has done its work.
	Creates Value `json:"creates,omitempty"`
	// Quiet keeps the output of the program on the node, where only administrators can read it: a report has its exit code alone.
	Quiet bool `json:"quiet,omitempty"`
	// Undo is a program that runs before each further attempt, also when the one before was cut short. Its exit code does not
	// matter.
	Undo []Value `json:"undo,omitempty"`
}

// Diagnosis turns what a program wrote into a reason.
type Diagnosis struct {
	// Match is a regular expression. Case does not matter.
	Match string `json:"match"`
	// Reason of the failure.
	Reason string `json:"reason"`
	// Message for the person with kubectl.
	Message string `json:"message"`
}

// Fact keeps an answer as a fact: of a program, whose exit code does not matter, or of the registry. TimeoutSeconds is that of
// the program, 60 when 0.
//
// Already so: never. The program or the registry is asked each time.
type Fact struct {
	Common
	// Argv is the program and its arguments.
	Argv []Value `json:"argv,omitempty"`
	// Registry is what is read in place of a program.
	Registry *RegistryText `json:"registry,omitempty"`
	// Match finds the value in the text, without regard to case: its first group, or all that it matches where it has none,
	// trimmed. The text of a program is what it wrote to standard output, a line feed, and what it wrote to standard error.
	Match string `json:"match"`
	// Set is the name of the fact.
	Set string `json:"set"`
	// Say is the sentence for a text without the value.
	Say Value `json:"say,omitempty"`
}

// RegistryText is a value of the registry as text: a number in digits, the texts of a list with line feeds in between, and a text
// with variables (ExpandString) as it was written. One that is not there is the empty text.
type RegistryText struct {
	// Key in full: HKEY_LOCAL_MACHINE\...
	Key string `json:"key"`
	// ValueName is empty for the key's default value.
	ValueName string `json:"valueName,omitempty"`
}

// Check fails when a fact is not as wanted.
//
// Already so: it changes nothing.
type Check struct {
	Common
	Test
	// Say is the sentence about the failure: what was measured, and what was wanted. One sentence serves all comparisons.
	Say Value `json:"say,omitempty"`
}

// WaitFor waits until something answers, and asks every 2 s. With a TimeoutSeconds over 600 it asks every 15 s. TimeoutSeconds is
// 300 when 0.
//
// Already so: it answers at once.
type WaitFor struct {
	Common
	// For is what is waited for.
	For Condition `json:"for"`
	// Host of https and clock.
	Host Value `json:"host,omitempty"`
	// Port of https and clock.
	Port Value `json:"port,omitempty"`
	// Path that https asks for; /healthz when absent. The answer must be 200, 401 or 403.
	Path Value `json:"path,omitempty"`
	// CA as DER: it must have issued the certificate of https, in which names are not compared.
	CA []byte `json:"ca,omitempty"`
	// WithinSeconds is by how much the machine's clock may differ from the server's.
	WithinSeconds int `json:"withinSeconds,omitempty"`
	// Insecure accepts any certificate, where an answer counts and not an identity.
	Insecure bool `json:"insecure,omitempty"`
	// Target of the other conditions: a file, the name of a pipe, or an address of this machine.
	Target Value `json:"target,omitempty"`
	// Say is the sentence for what did not answer. How long the step waited, and what it saw last, follow it.
	Say Value `json:"say,omitempty"`
}

// Condition is what WaitFor waits for.
type Condition string

// The conditions of WaitFor.
const (
	ForHTTPS   Condition = "https"
	ForClock   Condition = "clock"
	ForFile    Condition = "file"
	ForPipe    Condition = "pipe"
	ForAddress Condition = "address"
)

func (s *Run) check(c *checker) {
	c.argv("argv", s.Argv)
	s.Program.check(c)
}

func (p *Program) check(c *checker) {
	c.variables("environment", p.Environment)
	for _, code := range slices.Concat(p.OkExitCodes, p.RebootExitCodes) {
		c.must(code >= math.MinInt32 && code <= math.MaxInt32, "okExitCodes", "%d must be a number of 32 bits with a sign", code)
	}
	if p.Directory != "" {
		c.path("directory", Text(p.Directory))
	}
	c.must(!p.Quiet || len(p.Diagnose) == 0, "diagnose", "has no output to look at, because of quiet")
	for _, rule := range p.Diagnose {
		c.expression("diagnose.match", rule.Match)
		c.reason("diagnose.reason", rule.Reason)
		c.must(rule.Message != "", "diagnose.message", "is missing")
	}
	if p.Creates != nil {
		c.path("creates", p.Creates)
	}
	if p.Undo != nil {
		c.argv("undo", p.Undo)
	}
}

func (s *Fact) check(c *checker) {
	c.must((s.Argv == nil) != (s.Registry == nil), "argv", "or registry must be given, and not both")
	if s.Registry != nil {
		c.machineKey("registry.key", s.Registry.Key)
	} else {
		c.argv("argv", s.Argv)
	}
	c.expression("match", s.Match)
	c.must(s.Set != "", "set", "is missing: the name of the fact")
	c.say(s.Say, "")
	c.sets("set", s.Set)
}

func (s *Check) check(c *checker) {
	c.test("", s.Test)
	c.say(s.Say, s.Fact)
	c.must(slices.Contains(s.Say, Part{Fact: s.Fact}), "say", "must contain what was measured: {\"fact\": \"%s\"}", s.Fact)
}

func (s *WaitFor) check(c *checker) {
	c.oneOf("for", string(s.For), string(ForHTTPS), string(ForClock), string(ForFile), string(ForPipe), string(ForAddress))
	remote := s.For == ForHTTPS || s.For == ForClock
	c.must(remote == (s.Host != nil), "host", "belongs to https and clock, and only to them")
	c.must(remote == (s.Port != nil), "port", "belongs to https and clock, and only to them")
	c.must(remote == (s.Target == nil), "target", "belongs to all but https and clock")
	c.atMost("withinSeconds", s.WithinSeconds, week)
	c.must((s.For == ForClock) == (s.WithinSeconds > 0), "withinSeconds", "belongs to clock, where it must be 1 or more")
	c.must(s.For == ForHTTPS || s.Path == nil && s.CA == nil && !s.Insecure, "path", "path, ca and insecure belong to https")
	c.must(!s.Insecure || s.CA == nil, "insecure", "contradicts ca")
	c.value("host", s.Host)
	c.value("path", s.Path)
	c.port("port", s.Port)
	if s.For == ForFile {
		c.path("target", s.Target)
	}
	c.value("target", s.Target)
	if s.For == ForClock {
		c.facts[FactClockOffset] = true
	}
	c.say(s.Say, "")
}
