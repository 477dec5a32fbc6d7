package twins

import "regexp"

// known is a difference that is meant, or that hurts no node. The list may only become shorter: a test pins its length.
type known struct {
	name, reason string
	fits         func(d Difference, v *Verdict) bool
}

var knownDifferences = []known{
	{
		"a fact that is not known", "the script looks for it when it uses it, the lab before it does anything: README of the vectors",
		func(_ Difference, v *Verdict) bool {
			return notKnown.MatchString(encode(v.Lab["log"]) + encode(v.Node["log"]))
		},
	},
	{
		"words of the file system", ".NET and Go do not tell alike that a file cannot be read or written: both have failed at it",
		func(d Difference, _ *Verdict) bool {
			mine, inLab := d.Lab.(string)
			other, onNode := d.Node.(string)
			return inLab && onNode && ofGo.MatchString(mine) && ofNet.MatchString(behindPost.ReplaceAllString(other, ""))
		},
	},
}

var notKnown = regexp.MustCompile(`fact '\w+' is not known`)

// ofGo and ofNet are words of the two about files, also at the end of a report to Azure's host agent.
var (
	behindPost = regexp.MustCompile(`^post [^ ]+ capwin1\|([^|]*\|)*`)
	ofGo       = regexp.MustCompile(`not a directory|is a directory|no such file|not empty|file exists|does not exist|is incorrect`)
	ofNet      = regexp.MustCompile(`^(\w+: )*(Exception calling |Access to the path |Could not find |Cannot |The )`)
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
