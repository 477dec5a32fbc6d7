package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// checker collects what is wrong with a plan, for the kinds that look at their fields. It knows which texts Windows takes.
type checker struct {
	position string
	facts    map[string]bool
	// factNames has those of the plan, by their small letters.
	factNames map[string]string
	// everyBoot says that the steps at hand are those of every boot.
	everyBoot bool
	problems  []error
}

var (
	lineName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$`)
	reasonName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	factName    = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,62}$`)
	userName    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,19}$`)
	serviceName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,80}$`)
	eventLog    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._/%()-]{0,254}$`)
	variable    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.()-]*$`)
	drive       = regexp.MustCompile(`^[A-Za-z]:\\`)
	// DeviceName finds a part of a path that Windows takes for a device, whatever stands behind its first dot.
	DeviceName = regexp.MustCompile(`(?i)\\(con|prn|aux|nul|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}]|con(in|out)\$) *(\.[^\\]*)?(\\|$)`)
	oddInPath  = regexp.MustCompile(`[\x00-\x1f<>:"|?*/]|\\\\|[. ](\\|$)`)
)

func (c *checker) must(holds bool, field, format string, args ...any) {
	if holds {
		return
	}
	message := strings.TrimSpace(field + " " + fmt.Sprintf(format, args...))
	c.problems = append(c.problems, &Error{Where: c.position, Message: message})
}

func (c *checker) oneOf(field, got string, allowed ...string) {
	c.must(slices.Contains(allowed, got), field, "%q must be one of %s", got,
		strings.Trim(strings.Join(allowed, ", "), ", "))
}

func (c *checker) reason(field, reason string) {
	c.must(reasonName.MatchString(reason), field, "%q must be a name such as JoinFailed", reason)
}

func (c *checker) machineKey(field, key string) {
	c.must(strings.HasPrefix(key, `HKEY_LOCAL_MACHINE\`), field, "%q must begin with HKEY_LOCAL_MACHINE\\", key)
}

func (c *checker) service(field, name string) {
	c.must(serviceName.MatchString(name), field, "%q is not a valid name of a service", name)
}

// fact must be set by an earlier step, since an unknown one ends the bootstrap on the node.
func (c *checker) fact(field, name string) {
	c.must(c.facts[name], field, "fact '%s' is not known here", name)
}

// sets says that the step keeps a fact, if it has a name.
func (c *checker) sets(field, name string) {
	if name == "" {
		return
	}
	c.must(factName.MatchString(name), field, "%q is not a valid name of a fact", name)
	c.must(!provided[name], field, "%q is a fact that interpreters set themselves", name)
	c.name(field, name, c.factNames)
	c.facts[name] = true
}

func (c *checker) value(field string, value Value) {
	for _, part := range value {
		if part.Fact != "" {
			c.fact(field, part.Fact)
		}
		c.must(!strings.ContainsRune(part.Text, 0), field, "holds a NUL character")
	}
}

// say is the sentence of a failure. It may have facts that are known, and the one that the step itself looks at.
func (c *checker) say(say Value, looked string) {
	text := say.sample()
	c.must(text != "", "say", "is missing: the sentence about the failure")
	c.must(text == strings.TrimLeftFunc(text, unicode.IsSpace), "say", "begins with a blank")
	for _, part := range say {
		if part.Fact != "" && part.Fact != looked {
			c.fact("say", part.Fact)
		}
		c.must(!strings.ContainsRune(part.Text, 0), "say", "holds a NUL character")
	}
}

func (c *checker) values(field string, values []Value) {
	for _, value := range values {
		c.must(value != nil, field, "has a null")
		c.value(field, value)
	}
}

func (c *checker) list(field string, values []Value) {
	c.must(len(values) > 0, field, "is empty")
	c.values(field, values)
}

func (c *checker) test(prefix string, test Test) {
	c.must(test.Fact != "", prefix+"fact", "is missing")
	c.fact(strings.TrimSuffix(prefix, "."), test.Fact)
	asked := false
	for _, value := range []Value{test.Is, test.IsNot, test.AtLeast, test.Below} {
		asked = asked || value != nil
		c.value(prefix+"fact", value)
	}
	c.must(asked, prefix+"fact", "must be compared: is, isNot, atLeast or below")
}

// path must be absolute, with backslashes, normalised, and name neither a stream nor a device.
func (c *checker) path(field string, value Value) { c.windowsPath(field, value, value.sample()) }

var wildcards = strings.NewReplacer("*", "0", "?", "0")

// pattern is a path with wildcards in its last segment.
func (c *checker) pattern(field string, value Value) {
	text := value.sample()
	base := strings.LastIndexByte(text, '\\') + 1
	c.windowsPath(field, value, text[:base]+wildcards.Replace(text[base:]))
}

func (c *checker) windowsPath(field string, value Value, text string) {
	c.value(field, value)
	if !drive.MatchString(text) {
		c.must(false, field, `%q must be an absolute path such as C:\run`, value)
		return
	}
	c.must(!oddInPath.MatchString(text[len("C:"):]), field,
		`%q must be a plain path: backslashes, no "..", none of <>:"|?*, no part that ends in a dot or blank`, value)
	c.must(!DeviceName.MatchString(text), field, "%q names a device of Windows, such as NUL or COM1", value)
}

// argv is a program and its arguments.
func (c *checker) argv(field string, argv []Value) {
	c.list(field, argv)
	if len(argv) > 0 {
		c.program(field, argv[0])
	}
}

// program is an absolute path, or the bare name of one that Windows brings.
func (c *checker) program(field string, program Value) {
	text := program.sample()
	if lineName.MatchString(text) && strings.HasSuffix(text, ".exe") {
		return
	}
	c.path(field, program)
	c.must(strings.HasSuffix(strings.ToLower(text), ".exe"), field, "%q must end in .exe", program)
}

// variables must differ in more than case, which Windows ignores in their names.
func (c *checker) variables(field string, variables map[string]Value) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		c.must(variable.MatchString(name), field, "%q is not a valid name of a variable", name)
		c.name(field, name, seen)
		c.value(field, variables[name])
	}
}

// port may be absent, or a fact.
func (c *checker) port(field string, value Value) {
	if value != nil {
		c.number(field, value, 1, 65535)
	}
}

// number must be written in digits. Only the node can check a Value with a fact in it.
func (c *checker) number(field string, value Value, low, high int64) {
	c.value(field, value)
	for _, part := range value {
		if part.Fact != "" {
			return
		}
	}
	number, err := strconv.ParseInt(value.sample(), 10, 64)
	c.must(err == nil && number >= low && number <= high, field, "%q must be a number from %d to %d", value, low, high)
}
