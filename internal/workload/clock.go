package workload

import (
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Now returns what time it is by the clock of a Cluster's own API server, to the second. The last answer of that server told it.
// It is zero while there was no answer, or none with a time.
func (c *Clusters) Now(key client.ObjectKey) time.Time { return c.cluster(key).clock.now() }

// clock is that of an API server. The clock of this computer does not count for it, whatever it shows, but for how fast it runs.
type clock struct {
	mu    sync.Mutex
	said  time.Time
	heard time.Time
}

// hear takes the time from an answer.
func (c *clock) hear(answer http.Header) {
	said, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said, c.heard = said, time.Now()
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said.IsZero() {
		return time.Time{}
	}
	return c.said.Add(time.Since(c.heard))
}
