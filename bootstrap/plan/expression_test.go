package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What .NET refuses, or reads in another way, and the nearest to it that is taken.
func TestExpressionsHalfByHalf(t *testing.T) {
	for _, half := range []struct{ reason, refused, taken string }{
		{"nothing", "", "a"},
		{"no expression", "(", "()"},
		{"flags", "(?i)a", "(i)a"},
		{"a group that is no group", "(?:a)", "(a)"},
		{"a name of a group", "(?P<n>a)", "(n)a"},
		{".NET knows no such escape", `\_`, `_`},
		{"a name of a group, in .NET", `\<a>`, `<a>`},
		{"a class of one letter", `\pL`, `[a-z]`},
		{"a class by its name", `\p{Greek}`, `\{Greek\}`},
		{"a number in braces", `\x{41}`, `A`},
		{"a number", `\x41`, `A`},
		{"quotation", `\Q.\E`, `\.`},
		{"a class of POSIX", `[[:alpha:]]`, `[\[:alph:\]]`},
		{"subtraction", `[a-z-[aeiou]]`, `[a-z-]`},
		{"words, in which İ is a letter", `\w`, `[0-9a-z_]`},
		{"what is no word", `\W`, `[^0-9a-z_]`},
		{"the border of a word", `\bx`, `\sx`},
		{"the end, or before the last line end", `x$`, `x\z`},
		{"before the last line end", `x\Z`, `x\z`},
		{"a vertical tab, which the lab takes for another blank", `\v`, `\t`},
		{"a form feed", `\f`, `\n`},
		{"a vertical tab as it is", "\v", " "},
		{"not ASCII", "é", "e"},
		{"a range that is no range", `[\d-a]`, `[\da-]`},
		{"a range of signs", `[!-~]`, `[!~-]`},
		{"a range and a minus", `[a-c-e]`, `[a-ce]`},
		{"backwards", `[z-a]`, `[a-z]`},
		{"an empty class, in ECMAScript", `[]a]`, `[\]a]`},
		{"a bracket in a class", `[[a]`, `[\[a]`},
		{"a bracket alone", `]`, `\]`},
		{"braces that are no number", `a{x}`, `a\{x\}`},
		{"braces without the first number", `a{,3}`, `a{0,3}`},
		{"more than Go counts to", `a{1001}`, `a{999}`},
		{"possessive", `a++`, `a+?`},
		{"twice", `a**`, `a*`},
		{"nothing before it", `*a`, `\*a`},
		{"nothing before it, behind a bar", `a|*`, `a|b*`},
		{"the begin, often", `^*a`, `^a`},
		{"the end, often", `a\z?`, `a\z`},
		{"a repetition of what may be empty", `(a*)*`, `(a+)*`},
		{"of an alternative that is empty", `(a|)+`, `(a|b)+`},
		{"of all that may be empty", `(a?b*){2}`, `(a?b){2}`},
		{"of a group that may not be there", `((a)?){2,}`, `((a)?b){2,}`},
		{"of the begin", `(^)+`, `(^a)+`},
		{"a group of before", `(a)\1`, `(a)a`},
	} {
		for expression, taken := range map[string]bool{half.refused: false, half.taken: true} {
			text := expect.Got(json.Marshal(expression))(t)
			step := strings.Replace(diagnose(`"match":"x","reason":"A","message":"m"`), `"x"`, string(text), 1)
			err := decode(t, planOf(step)).Validate()
			if taken != (err == nil) || err != nil && !strings.Contains(err.Error(), "diagnose.match") {
				t.Errorf("%s: %q is taken %t: %v", half.reason, expression, taken, err)
			}
		}
	}
}
