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
	why     *failure
	took    time.Duration
}

func (s *served) settled() bool { return s.address != "" || s.why != nil }

// look takes in what is seen of the pod.
func (s *served) look(seen sight, start time.Duration) {
	switch {
	case seen.serves():
		s.address, s.took = seen.pod.Status.PodIP, seen.waited
	default:
		if s.why = seen.startFailure(start); s.why == nil {
			s.why = seen.crashes()
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
	// unstarted says that the pod did not get as far as trying.
	unstarted bool
	// since is when its pod was first seen to run.
	since time.Time
	took  time.Duration
	over  bool
}

// look takes in what is seen of the pod that tries.
func (t *trial) look(seen sight, start time.Duration, now time.Time) {
	if seen.pod != nil {
		t.outcome = outcomeOf(seen.pod, string(t.kind))
		if t.since.IsZero() && runs(seen.pod) {
			t.since = now
		}
	}
	t.took = seen.waited
	switch {
	case t.outcome.held, t.outcome.tries >= enoughTries:
		t.over = true
	case !t.since.IsZero() && now.Sub(t.since) >= connectBound:
		t.over = true
		if t.outcome.why == nil {
			t.outcome.why = &failure{cause: timedOut, words: "no answer within " + connectBound.String()}
		}
	default:
		if why := seen.startFailure(start); why != nil {
			t.over, t.unstarted, t.outcome.why = true, true, why
		}
	}
}

// trialsOf are the connections of a target for which all is there.
func (p *Plan) trialsOf(i int, a addresses) (all []*trial) {
	for _, one := range connections {
		if address := one.to(a); address != "" {
			all = append(all, &trial{connection: one, target: i, address: address, pod: p.client(one.from, i)})
		}
	}
	return all
}
