package twins

// known is a difference that is meant, or that hurts no node. The list may only become shorter: a test pins its length.
type known struct {
	name, reason string
	fits         func(d Difference, v *Verdict) bool
}

var knownDifferences = []known{
	{"machine in state.json", "the script keeps there what it found out about the machine, the lab asks again",
		func(d Difference, _ *Verdict) bool { return d.Where == "state.machine" }},
	{"ended in plan.json", "the script marks there that it has emptied the plan",
		func(d Difference, _ *Verdict) bool { return d.Where == "plan.ended" }},
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
