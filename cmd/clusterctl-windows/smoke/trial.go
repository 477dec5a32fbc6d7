package smoke

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// served is a server pod with its Service.
type served struct {
	name    string
	service *corev1.Service
	address string
	failure *failure
	took    time.Duration
}

func (s *served) settled() bool { return s.address != "" || s.failure != nil }

// look takes in what is seen of the pod.
func (s *served) look(seen sight, start time.Duration) {
	switch {
	case seen.serves():
		s.address, s.took = seen.pod.Status.PodIP, seen.waited
	default:
		if s.failure = seen.startFailure(start); s.failure == nil {
			s.failure = seen.crashes()
		}
	}
}

// trial is a connection that is tried for one target.
type trial struct {
	connection
	target int
	// address is where it leads, and pod is what tries it.
	address, pod string
	outcome      outcome
	// unstarted is set if the pod did not get as far as trying.
	unstarted bool
	// started is when its pod was first seen to run.
	started  time.Time
	took     time.Duration
	finished bool
}

// look takes in what is seen of the pod that tries.
func (t *trial) look(seen sight, start time.Duration, now time.Time) {
	if seen.pod != nil {
		t.outcome = outcomeOf(seen.pod, string(t.kind))
		if t.started.IsZero() && runs(seen.pod) {
			t.started = now
		}
	}
	t.took = seen.waited
	switch {
	case t.outcome.held, t.outcome.tries >= enoughTries:
		t.finished = true
	case !t.started.IsZero() && now.Sub(t.started) >= connectBound:
		t.finished = true
		if t.outcome.failure == nil {
			t.outcome.failure = &failure{cause: timedOut, words: "no answer within " + connectBound.String()}
		}
	default:
		if failed := seen.startFailure(start); failed != nil {
			t.finished, t.unstarted, t.outcome.failure = true, true, failed
		}
	}
}

// trialsOf are the connections of a target for which all is there.
func (p *Plan) trialsOf(i int, a addresses) (trials []*trial) {
	for _, c := range connections {
		if address := c.target(a); address != "" {
			trials = append(trials, &trial{connection: c, target: i, address: address, pod: p.client(c.source, i)})
		}
	}
	return trials
}
