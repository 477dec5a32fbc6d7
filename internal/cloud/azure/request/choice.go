package request

// Choice is a size and a zone in which to try a VM. No zone leaves it to Azure.
type Choice struct {
	Size string
	Zone string
}

// Choices are all pairs of sizes and zones in the order in which they are tried: a size in all zones before the next size.
// Without zones there is one choice for each size.
func Choices(sizes, zones []string) []Choice {
	if len(zones) == 0 {
		zones = []string{""}
	}
	var all []Choice
	for _, size := range sizes {
		for _, zone := range zones {
			all = append(all, Choice{Size: size, Zone: zone})
		}
	}
	return all
}

// Pick is the first choice that is open, and false if all are closed.
func Pick(choices []Choice, closed func(Choice) bool) (Choice, bool) {
	for _, c := range choices {
		if !closed(c) {
			return c, true
		}
	}
	return Choice{}, false
}
