package plan

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// What an expression may have: Go and .NET read all of it alike, .NET with ECMAScript, IgnoreCase and CultureInvariant.
const (
	plainChar = `[^\\\[\](){}*+?|^$]`
	// What stands behind a backslash: classes and characters, inside and outside of brackets.
	escaped = `\\[dDsSnrt\\.+*?()|\[\]{}^$/-]`
	ofClass = `(?:[A-Za-z0-9]-[A-Za-z0-9]|[^\\\[\]^-]|` + escaped + `)`
	class   = `\[\^?-?` + ofClass + `+-?\]`
	howMany = `(?:(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??)?`
)

var plainExpression = regexp.MustCompile(`^(?:(?:` + plainChar + `|` + escaped + `|` + class + `|\))` + howMany + `|[(|^]|\\z)+$`)

// expression must mean the same to .NET and Go.
func (c *checker) expression(field, expression string) {
	read, err := syntax.Parse(expression, syntax.Perl)
	c.must(err == nil && printable.MatchString(expression) && plainExpression.MatchString(expression), field,
		"%q must be a plain regular expression of what docs/plan.md lists", expression)
	c.must(err != nil || !repeatsNothing(read), field, "%q repeats what may be empty", expression)
}

// repeatsNothing finds a repetition of what may be empty: what its groups have then differs.
func repeatsNothing(read *syntax.Regexp) bool {
	switch read.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		if mayBeEmpty(read.Sub[0]) {
			return true
		}
	}
	return slices.ContainsFunc(read.Sub, repeatsNothing)
}

func mayBeEmpty(read *syntax.Regexp) bool {
	switch read.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		return false
	case syntax.OpAlternate:
		return slices.ContainsFunc(read.Sub, mayBeEmpty)
	case syntax.OpConcat:
		return !slices.ContainsFunc(read.Sub, func(part *syntax.Regexp) bool { return !mayBeEmpty(part) })
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(read.Sub[0])
	case syntax.OpRepeat:
		return read.Min == 0 || mayBeEmpty(read.Sub[0])
	}
	return true
}
