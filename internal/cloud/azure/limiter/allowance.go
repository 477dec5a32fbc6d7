package limiter

import (
	"strconv"
	"strings"
	"time"
)

// Allowance is how much may follow, from an answer of Azure.
type Allowance struct {
	// LeftAtDoor and LeftAtService are how many calls are left; nil if the answer does not have it.
	LeftAtDoor    *int
	LeftAtService *int
	// Silence is how long no call of the class may follow, by the verdict on the error.
	Silence time.Duration
}

// ReadAllowance reads the headers of an answer. The get of http.Header fits.
func ReadAllowance(get func(string) string) (allowance Allowance) {
	for _, kind := range []string{"reads", "writes", "deletes"} {
		for _, global := range []string{"", "global-"} {
			if count, err := strconv.Atoi(get("x-ms-ratelimit-remaining-subscription-" + global + kind)); err == nil {
				allowance.LeftAtDoor = fewer(allowance.LeftAtDoor, count)
			}
		}
	}
	for entry := range strings.SplitSeq(get("x-ms-ratelimit-remaining-resource"), ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(entry), ";")
		if count, err := strconv.Atoi(text); err == nil && !ofOneVM(name) {
			allowance.LeftAtService = fewer(allowance.LeftAtService, count)
		}
	}
	return allowance
}

// ofOneVM reports whether a bucket counts the calls for one VM only. We never call so often for one.
func ofOneVM(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "perresource") || strings.Contains(name, "pervm") || strings.Contains(name, "resourcemaximum")
}

func fewer(left *int, count int) *int {
	count = max(count, 0)
	if left != nil && *left < count {
		return left
	}
	return &count
}
