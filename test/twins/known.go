package twins

// known is a difference that is meant, or that hurts no node. The list may only become shorter: a test pins its length.
type known struct {
	name, reason string
	fits         func(d Difference, v *Verdict) bool
}

var knownDifferences = []known{
	{"machine in state.json", "the script keeps there what it found out about the machine, the lab asks again",
		func(d Difference, _ *Verdict) bool { return d.Where == "state.machine" }},
	{"attempts that the deadline ended", "the script looks at the deadline before an attempt begins, the lab inside of it: the failure is the " +
		"same, and no attempt follows",
		func(d Difference, _ *Verdict) bool { return d.Where == "state.attempts" || d.Where == "state.tries" }},
}

// knownAs is the name of the known difference that this is, or "".
func knownAs(d Difference, v *Verdict) string {
	for _, one := range knownDifferences {
		if one.fits(d, v) {
			return one.name
		}
	}
	return ""
}
