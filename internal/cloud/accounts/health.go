package accounts

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// healthEvery is how often we look whether accounts are broken.
	healthEvery = time.Second

	// quiet is the least time between two log lines about a broken account: a server can break and come back at any pace.
	quiet = time.Minute
)

// outageLog is what the log has of an account's outages.
type outageLog struct {
	broken bool
	next   time.Time // when the next outage may be logged
}

// isNew reports whether the state of the account is to be logged.
func (t *outageLog) isNew(broken bool, now time.Time) bool {
	if broken == t.broken || broken && now.Before(t.next) {
		return false
	}
	if t.broken = broken; broken {
		t.next = now.Add(quiet)
	}
	return true
}

// logOutages writes a line when an account breaks and one when it is back, for all of its machines.
func (r *Register) logOutages(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.open {
		h := a.cloud.Health()
		if !a.outage.isNew(h.Broken, r.now()) {
			continue
		}
		log := log.WithValues("secret", a.first().secret.String(), "server", cloud.Clean(h.Server, maxServer))
		if h.Broken {
			log.Info("The cloud of the account does not answer, or rejects its login; calls fail until it answers", "error", h.Cause)
			continue
		}
		log.Info("The cloud of the account answers again")
	}
}

// maxServer is longer than the name of a host and its port.
const maxServer = 260
