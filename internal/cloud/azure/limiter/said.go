package limiter

import (
	"strconv"
	"strings"
	"time"
)

// Said is what an answer of Azure says about how much may follow.
type Said struct {
	// LeftAtDoor and LeftAtService are how many calls are left; nil if the answer does not say.
	LeftAtDoor    *int
	LeftAtService *int
	// Silence is how long no call of the class may follow.
	Silence time.Duration
}

// Listen reads the headers of an answer. The get of http.Header fits. The silence comes from the verdict on the error.
func Listen(get func(string) string, silence time.Duration) Said {
	said := Said{Silence: silence}
	for _, kind := range []string{"reads", "writes", "deletes"} {
		for _, global := range []string{"", "global-"} {
			if count, err := strconv.Atoi(get("x-ms-ratelimit-remaining-subscription-" + global + kind)); err == nil {
				said.LeftAtDoor = fewer(said.LeftAtDoor, count)
			}
		}
	}
	for one := range strings.SplitSeq(get("x-ms-ratelimit-remaining-resource"), ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(one), ";")
		if count, err := strconv.Atoi(text); err == nil && !ofOneVM(name) {
			said.LeftAtService = fewer(said.LeftAtService, count)
		}
	}
	return said
}

// ofOneVM says that a bucket counts the calls for one VM only. We never call so often for one.
func ofOneVM(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "perresource") || strings.Contains(name, "pervm") || strings.Contains(name, "resourcemaximum")
}

func fewer(known *int, count int) *int {
	count = max(count, 0)
	if known != nil && *known < count {
		return known
	}
	return &count
}
