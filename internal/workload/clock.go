package workload

import (
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Now returns the time by the clock of a Cluster's own API server, to the second, from the last answer of that server. It is
// zero while there was no answer, or none with a time.
func (c *Clusters) Now(key client.ObjectKey) time.Time { return c.cluster(key).clock.now() }

// clock is that of an API server. Of the clock of this computer only its pace counts, not the time that it shows.
type clock struct {
	mu         sync.Mutex
	serverTime time.Time
	receivedAt time.Time
}

// set takes the time from an answer.
func (c *clock) set(answer http.Header) {
	serverTime, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serverTime, c.receivedAt = serverTime, time.Now()
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serverTime.IsZero() {
		return time.Time{}
	}
	return c.serverTime.Add(time.Since(c.receivedAt))
}
