package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// held lets no list of power states through before it is opened, and says when one waits.
type held struct {
	policy.Transporter
	waits, open chan struct{}
}

func (h held) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.RawQuery, "statusOnly") {
		h.waits <- struct{}{}
		<-h.open
	}
	return h.Transporter.Do(r)
}

// TestRestartTellsNoRunningVMOff has a new process list the VMs before Azure has answered which of them run: nobody is told that
// it is not known, which would be written into the status of thousands of machines, and be taken back.
func TestRestartTellsNoRunningVMOff(t *testing.T) {
	s := newStage(t)
	m := s.machine("m")
	s.run(s.watched(), m)
	gate := held{waits: make(chan struct{}), open: make(chan struct{})}
	s.through = func(d *door) policy.Transporter { gate.Transporter = d; return gate }
	a := s.watched()
	scope := a.lists.scope(homeOf(m).Parent())
	listed := make(chan struct{})
	go func() { a.poll(t.Context()); close(listed) }()
	<-gate.waits
	expect.Same(t, "VMs are listed", false, scope.unlisted())
	for range 3 {
		_, err := a.Observe(t.Context(), m)
		if later, waits := asLater(err); !waits || later.After != time.Second {
			t.Errorf("Observe = %v while it is not known which VMs run, want to be told to wait", err)
		}
	}
	close(gate.open)
	<-listed
	expect.Same(t, "state", cloud.Running, expect.Got(a.Observe(t.Context(), m))(t).State)
}
