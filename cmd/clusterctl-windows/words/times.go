package words

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Limit is how long a bootstrap may take, and what it fails with after that.
func Limit(p *plan.Plan) string {
	text := seconds(cmp.Or(p.DeadlineSeconds, defaultDeadline)) + " without reboots (reason BootstrapTimeout)"
	if reboots := cmp.Or(p.MaxReboots, defaultReboots); reboots != defaultReboots {
		text += fmt.Sprintf(", %d reboots (reason TooManyReboots)", reboots)
	}
	return text
}

// A step is one of the longest if one attempt may take this many seconds, or all of them together.
const (
	longAttempt  = 180
	longTogether = 600
)

// Longest names the steps that may take long, in their order. A wait has one limit, and other steps one for each attempt.
func Longest(p *plan.Plan) string {
	var steps []string
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			base := step.Base()
			attempts := max(base.Attempts, 1)
			if base.TimeoutSeconds < longAttempt && base.TimeoutSeconds*attempts < longTogether {
				continue
			}
			text := base.Name + " " + seconds(base.TimeoutSeconds)
			if attempts > 1 {
				text += fmt.Sprintf(" x %d", attempts)
			}
			steps = append(steps, text)
		}
	}
	return cmp.Or(strings.Join(steps, ", "), "none may take "+seconds(longAttempt))
}
