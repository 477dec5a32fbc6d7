package twins

// known is a difference that is meant, or that hurts no node. The list may only become shorter: a test pins its length.
type known struct {
	name, reason string
	fits         func(d Difference, v *Verdict) bool
}

var knownDifferences = []known{}

// knownAs is the name of the known difference that this is, or "".
func knownAs(d Difference, v *Verdict) string {
	for _, one := range knownDifferences {
		if one.fits(d, v) {
			return one.name
		}
	}
	return ""
}
