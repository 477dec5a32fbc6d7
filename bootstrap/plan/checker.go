package plan

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// checker collects what is wrong with a plan. The kinds use it; it knows what texts Windows takes.
type checker struct {
	where    string
	step     *Common // nil outside of steps
	facts    map[string]bool
	problems []error
}

// shape of a name: the characters it may begin with, those it may go on with, and how many they may be.
type shape struct {
	first, rest string
	most        int
}

const (
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

var (
	lineName    = shape{small + large + digits, small + large + digits + ".-", 63}
	reasonName  = shape{large, small + large + digits, 63}
	factName    = shape{small, small + large + digits, 63}
	userName    = shape{small + large + digits + "_", small + large + digits + "_.-", 20}
	serviceName = shape{small + large + digits + "_.-", small + large + digits + "_.-", 80}
	variable    = shape{small + large + "_", small + large + digits + "_.()-", math.MaxInt}
	drive       = shape{small + large, small + large, 1}
)

func (s shape) fits(text string) bool {
	return text != "" && len(text) <= s.most && strings.Contains(s.first, text[:1]) && strings.TrimLeft(text, s.rest) == ""
}

func (c *checker) must(holds bool, field, format string, args ...any) {
	if holds {
		return
	}
	where := c.where
	if c.step != nil {
		where += ", step " + c.step.Name
	}
	message := strings.TrimSpace(field + " " + fmt.Sprintf(format, args...))
	c.problems = append(c.problems, &Error{Where: where, Message: message})
}

func (c *checker) oneOf(field, got string, allowed ...string) {
	c.must(slices.Contains(allowed, got), field, "%q must be one of %s", got,
		strings.Trim(strings.Join(allowed, ", "), ", "))
}

func (c *checker) reason(field, reason string) {
	c.must(reasonName.fits(reason), field, "%q must be a name such as JoinFailed", reason)
}

func (c *checker) service(field, name string) {
	c.must(serviceName.fits(name), field, "%q is no name of a service", name)
}

// fact: one that no earlier step sets would end the bootstrap on the node.
func (c *checker) fact(field, name string) {
	c.must(c.facts[name], field, "fact '%s' is not known here", name)
}

func (c *checker) value(field string, value Value) {
	for _, part := range value {
		if part.Fact != "" {
			c.fact(field, part.Fact)
		}
		c.must(!strings.ContainsRune(part.Text, 0), field, "holds a NUL character")
	}
}

func (c *checker) list(field string, values []Value) {
	c.must(len(values) > 0, field, "is empty")
	for _, value := range values {
		c.must(value != nil, field, "has a null")
		c.value(field, value)
	}
}

func (c *checker) test(prefix string, test Test) {
	c.must(test.Fact != "", prefix+"fact", "is missing")
	asked := false
	for _, value := range []Value{test.Is, test.IsNot, test.AtLeast, test.Below} {
		asked = asked || value != nil
		c.value(prefix+"fact", value)
	}
	c.must(asked, prefix+"fact", "must be compared: is, isNot, atLeast or below")
}

// path: absolute, with backslashes, in no need of being normalised, no stream and no device.
func (c *checker) path(field string, value Value) { c.windowsPath(field, value, value.sample()) }

var wildcards = strings.NewReplacer("*", "0", "?", "0")

// pattern is a path with wildcards in its last segment.
func (c *checker) pattern(field string, value Value) {
	text := value.sample()
	last := strings.LastIndexByte(text, '\\') + 1
	c.windowsPath(field, value, text[:last]+wildcards.Replace(text[last:]))
}

func (c *checker) windowsPath(field string, value Value, text string) {
	c.value(field, value)
	if len(text) < len(`C:\`) || !drive.fits(text[:1]) || text[1:3] != `:\` {
		c.must(false, field, `%q must be an absolute path such as C:\run`, value)
		return
	}
	c.must(plainPath(text[len("C:"):]), field,
		`%q must be a plain path: backslashes, no "..", none of <>:"|?*, no part that ends in a dot or blank`, value)
}

// oddInPaths are control characters, and what means something else to Windows.
const oddInPaths = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" + `<>:"|?*/`

// plainPath: what stands behind the drive needs no normalising, and names no stream and no device.
func plainPath(text string) bool {
	for part := range strings.SplitSeq(text, `\`) {
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return false
		}
	}
	return !strings.Contains(text, `\\`) && !strings.ContainsAny(text, oddInPaths)
}

// sample is the text with every fact replaced by a harmless one.
func (v Value) sample() string {
	var text strings.Builder
	for _, part := range v {
		if part.Fact != "" {
			text.WriteByte('0')
		}
		text.WriteString(part.Text)
	}
	return text.String()
}

func (c *checker) hasSuffix(field string, value Value, suffixes ...string) {
	text := strings.ToLower(value.sample())
	matches := func(suffix string) bool { return strings.HasSuffix(text, suffix) }
	c.must(slices.ContainsFunc(suffixes, matches), field, "%q must end in %s", value, strings.Join(suffixes, " or "))
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
	if lineName.fits(text) && strings.HasSuffix(text, ".exe") {
		return
	}
	c.path(field, program)
	c.hasSuffix(field, program, ".exe")
}

// expressions remembers what is wrong with a regular expression: there are few, the same in every plan, and to parse
// them takes longer than to look at all the rest.
var expressions sync.Map

// expression must be read alike by .NET and Go: what Go reads and has no flags is.
func (c *checker) expression(field, expression string) {
	good, known := expressions.Load(expression)
	if !known {
		_, err := syntax.Parse(expression, syntax.Perl)
		good = err == nil && expression != "" && !strings.Contains(expression, "(?")
		expressions.Store(expression, good)
	}
	c.must(good == true, field, "%q must be a plain regular expression", expression)
}

// variables: Windows ignores the case of a name, so two that differ only there would be one.
func (c *checker) variables(field string, variables map[string]Value) {
	seen := map[string]bool{}
	for name, value := range variables {
		c.must(variable.fits(name), field, "%q is no name of a variable", name)
		c.must(!seen[strings.ToLower(name)], field, "%q is there twice, in other case", name)
		seen[strings.ToLower(name)] = true
		c.value(field, value)
	}
}

// port may be a fact.
func (c *checker) port(field string, value Value) {
	if value != nil {
		c.number(field, value, 1, 65535)
	}
}

// number in digits; a Value with a fact in it is the node's to check.
func (c *checker) number(field string, value Value, least, most int64) {
	c.value(field, value)
	for _, part := range value {
		if part.Fact != "" {
			return
		}
	}
	number, err := strconv.ParseInt(value.sample(), 10, 64)
	c.must(err == nil && number >= least && number <= most, field, "%q must be a number from %d to %d", value, least, most)
}

// tree: names that differ only in case are one for PowerShell.
func (c *checker) tree(field string, node any) {
	switch node := node.(type) {
	case map[string]any:
		if name, ok := leafFact(node); ok {
			c.fact(field, name)
			return
		}
		seen := map[string]bool{}
		for name, child := range node {
			lower := strings.ToLower(name)
			c.must(name != "" && !seen[lower], field, "%q is empty or there twice, in other case", name)
			seen[lower] = true
			c.tree(field+"."+name, child)
		}
	case []any:
		for _, child := range node {
			c.tree(field, child)
		}
	}
}
