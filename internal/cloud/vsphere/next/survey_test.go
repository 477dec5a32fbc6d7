package next

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestAllArrived: what is known of clones will do from the moment on that no request for the VM may arrive any more.
func TestAllArrived(t *testing.T) {
	t.Parallel()
	early, late := noon.Add(-LateRequest), noon.Add(1)
	for name, c := range map[string]struct {
		lost, until, want time.Time
	}{
		"nothing was lost":              {},
		"an answer, long ago":           {lost: early, want: noon},
		"an answer, a moment ago":       {lost: early.Add(1)},
		"of a process before":           {until: noon, want: noon},
		"of a process just before":      {until: late},
		"an answer before that process": {lost: early.Add(-1), until: noon, want: noon},
		"an answer after that process":  {lost: early, until: noon.Add(-1), want: noon},
	} {
		s := Survey{Now: noon, LateUntil: c.until, Memory: Memory{AnswerLost: c.lost}}
		expect.Same(t, name, true, s.AllArrived().Equal(c.want))
	}
}
