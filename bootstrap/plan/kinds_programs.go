package plan

// Run runs a program. It is done when the exit code says so. TimeoutSeconds are 600 when 0; then all its processes are ended.
//
// Already so: the file Creates is there.
type Run struct {
	Common
	// Argv is the program and its arguments, each quoted for Windows by the interpreter.
	Argv []Value `json:"argv"`
	Program
}

// Script runs a .ps1 or .cmd that is on the disk; it gets no arguments. All else is as for run.
//
// Already so: the file Creates is there.
type Script struct {
	Common
	// Path of the script.
	Path Value `json:"path"`
	Program
}

// Program is what Run and Script share.
type Program struct {
	// OkExitCodes is [0] when empty.
	OkExitCodes []int `json:"okExitCodes,omitempty"`
	// RebootExitCodes mean: done, after a reboot.
	RebootExitCodes []int `json:"rebootExitCodes,omitempty"`
	// Environment is put over that of the machine.
	Environment map[string]Value `json:"environment,omitempty"`
	// Directory to run in.
	Directory string `json:"directory,omitempty"`
	// Diagnose gives a failure its name, by what the program wrote. The first rule that matches counts.
	Diagnose []Diagnosis `json:"diagnose,omitempty"`
	// Creates is a file that is there once the program has done its work.
	Creates Value `json:"creates,omitempty"`
	// Undo is a program that is run before another attempt, also when the first was cut short. How it ends does not matter.
	Undo []Value `json:"undo,omitempty"`
}

// Diagnosis turns output of a program into a reason.
type Diagnosis struct {
	// Match is a regular expression that .NET and Go understand alike, compared without case.
	Match string `json:"match"`
	// Reason of the failure.
	Reason string `json:"reason"`
	// Message to the person with kubectl.
	Message string `json:"message"`
}

// Fact asks a program and keeps the answer as a fact; its exit code does not matter. TimeoutSeconds are 60 when 0.
//
// Already so: never, it is asked each time.
type Fact struct {
	Common
	// Argv is the program and its arguments.
	Argv []Value `json:"argv"`
	// Match finds the answer in the output, without regard to case: its first group, or all of it, trimmed.
	Match string `json:"match"`
	// Set is the name of the fact.
	Set string `json:"set"`
	// Say tells that the output has no answer; the exit code follows.
	Say Value `json:"say,omitempty"`
}

// Check fails when a fact is not as wanted.
//
// Already so: it changes nothing.
type Check struct {
	Common
	Test
	// Say tells the failure: what was measured, and what was wanted. One sentence for all that is compared.
	Say Value `json:"say,omitempty"`
}

// WaitFor waits until something answers, asked every 2 s. TimeoutSeconds are 300 when 0.
//
// Already so: it answers at once.
type WaitFor struct {
	Common
	// For is what is waited for.
	For Condition `json:"for"`
	// Host of tcp and https.
	Host Value `json:"host,omitempty"`
	// Port of tcp and https.
	Port Value `json:"port,omitempty"`
	// Path is asked for by https, which must answer with 200, 401 or 403; /healthz when it is left out.
	Path Value `json:"path,omitempty"`
	// CA as DER must have issued the certificate of https; names in it are not compared.
	CA []byte `json:"ca,omitempty"`
	// Insecure takes any certificate: it asks for an answer, not for an identity.
	Insecure bool `json:"insecure,omitempty"`
	// Target of the other conditions: a file, the name of a pipe or service, an address of this machine.
	Target Value `json:"target,omitempty"`
	// Say tells what did not answer; how long it was waited for, and what was seen last, follow.
	Say Value `json:"say,omitempty"`
}

// Condition is what WaitFor waits for.
type Condition string

// The conditions of WaitFor.
const (
	ForTCP            Condition = "tcp"
	ForHTTPS          Condition = "https"
	ForFile           Condition = "file"
	ForPipe           Condition = "pipe"
	ForServiceRunning Condition = "serviceRunning"
	ForAddress        Condition = "address"
)

// SendReport sends the report now; it is also sent at the start of each phase, before a reboot and at the end. It never fails.
//
// Already so: it changes nothing.
type SendReport struct {
	Common
}

func (s *Run) check(c *checker) {
	c.argv("argv", s.Argv)
	s.Program.check(c)
}

func (s *Script) check(c *checker) {
	c.path("path", s.Path)
	c.hasSuffix("path", s.Path, ".ps1", ".cmd")
	s.Program.check(c)
}

func (p *Program) check(c *checker) {
	c.variables("environment", p.Environment)
	if p.Directory != "" {
		c.path("directory", Text(p.Directory))
	}
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
	c.argv("argv", s.Argv)
	c.expression("match", s.Match)
	c.must(factName.MatchString(s.Set), "set", "%q is no name for a fact", s.Set)
	c.say(s.Say, "")
	c.facts[s.Set] = true
}

func (s *Check) check(c *checker) {
	c.test("", s.Test)
	c.say(s.Say, s.Fact)
}

func (s *WaitFor) check(c *checker) {
	c.oneOf("for", string(s.For), string(ForTCP), string(ForHTTPS), string(ForFile), string(ForPipe),
		string(ForServiceRunning), string(ForAddress))
	remote := s.For == ForTCP || s.For == ForHTTPS
	c.must(remote == (s.Host != nil), "host", "belongs to tcp and https, and only to them")
	c.must(remote == (s.Port != nil), "port", "belongs to tcp and https, and only to them")
	c.must(remote == (s.Target == nil), "target", "belongs to all but tcp and https")
	c.must(s.For == ForHTTPS || s.Path == nil && s.CA == nil && !s.Insecure, "path", "path, ca and insecure belong to https")
	c.must(!s.Insecure || s.CA == nil, "insecure", "contradicts ca")
	c.value("host", s.Host)
	c.value("path", s.Path)
	c.port("port", s.Port)
	if s.For == ForFile {
		c.path("target", s.Target)
	}
	c.value("target", s.Target)
	c.say(s.Say, "")
}

func (*SendReport) check(*checker) {}
