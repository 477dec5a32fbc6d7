package twins

import (
	"regexp"
	"strings"
)

// known is a difference that is meant, or that hurts no node. The list may only become shorter: a test pins its length.
type known struct {
	name, reason string
	fits         func(d Difference, v *Verdict) bool
}

var knownDifferences = []known{
	{
		"machine in state.json", "the script keeps there what it found out about the machine, the lab asks again",
		func(d Difference, _ *Verdict) bool { return d.Where == "state.machine" },
	},
	{
		"attempts that the deadline ended", "the script looks at the deadline before an attempt begins, the lab inside of it: the failure is the " +
			"same, and no attempt follows",
		func(d Difference, _ *Verdict) bool { return d.Where == "state.attempts" || d.Where == "state.tries" },
	},
	{
		"a fact that is not known", "the script looks for a fact when it uses it, the lab before it does anything: README of the vectors",
		func(_ Difference, v *Verdict) bool {
			return notKnown.MatchString(encode(v.Lab["log"]) + encode(v.Node["log"]))
		},
	},
	{
		"a byte in a log that is no text", "the zip of the lab has it as it is, that of the script has a U+FFFD",
		func(d Difference, _ *Verdict) bool {
			mine, _ := d.Lab.(string)
			other, _ := d.Node.(string)
			return strings.HasPrefix(d.Where, "zips.") && strings.HasPrefix(mine, "bytes ") && strings.Contains(other, "\ufffd")
		},
	},
	{
		"words of the file system", "what .NET says of a file that cannot be read or written is not what Go says: both have failed at it",
		func(d Difference, _ *Verdict) bool {
			mine, inLab := d.Lab.(string)
			other, onNode := d.Node.(string)
			return inLab && onNode && ofGo.MatchString(mine) && ofNet.MatchString(other)
		},
	},
}

var notKnown = regexp.MustCompile(`fact '\w+' is not known`)

// ofGo and ofNet are words of the two about files.
var (
	ofGo  = regexp.MustCompile(`not a directory|is a directory|no such file|not empty|file exists|does not exist|is incorrect`)
	ofNet = regexp.MustCompile(`^(\w+: |warning: |logs: |erase: )*(Exception calling |The file |Access to the path |Could not find |Cannot |The )`)
)

// knownAs is the name of the known difference that this is, or "".
func knownAs(d Difference, v *Verdict) string {
	for _, one := range knownDifferences {
		if one.fits(d, v) {
			return one.name
		}
	}
	return ""
}
