package vsphere

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// currentTime is what a vCenter answers to CurrentTime (vSphere Web Services API, ServiceInstance).
var currentTime = regexp.MustCompile(`<returnval([^>]*)>[^<]+</returnval>`)

// standsStill has the vCenter's clock stand still at a time.
func standsStill(at time.Time) func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	return func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "CurrentTime" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		text := currentTime.ReplaceAll(answer.Body.Bytes(), []byte("<returnval$1>"+at.Format(time.RFC3339Nano)+"</returnval>"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(text)
	}
}

// TestInspectClock: clocks may differ by half a minute, however long the answer takes: the vCenter reads its clock in the middle
// of that.
func TestInspectClock(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	noon := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	door := v.Open(standsStill(noon))
	t.Cleanup(door.Close)
	for name, c := range map[string]struct {
		before, after time.Duration // noon, when the vCenter is asked and when it has answered
		want          inspect.Result
		says          string
	}{
		"the same":                     {0, 0, inspect.OK, "0s apart from this computer's"},
		"half a minute behind":         {-30 * time.Second, -30 * time.Second, inspect.OK, "30s apart"},
		"half a minute ahead":          {30 * time.Second, 30 * time.Second, inspect.OK, "30s apart"},
		"more than that behind":        {-31 * time.Second, -31 * time.Second, inspect.Warning, "31s apart: set both by NTP"},
		"more than that ahead":         {31 * time.Second, 31 * time.Second, inspect.Warning, "31s apart: set both by NTP"},
		"the same, by a slow answer":   {-time.Minute, time.Minute, inspect.OK, "0s apart"},
		"behind, by a slow answer":     {-time.Minute, 0, inspect.OK, "30s apart"},
		"far behind, by a slow answer": {-2 * time.Minute, 0, inspect.Warning, "1m0s apart"},
	} {
		s := expect.Got(session.Open(door.Credentials()))(t)
		times := []time.Duration{c.before, c.after}
		found := inspect.Run(t.Context(), inspect.Subject{
			Session: s, Spec: *v.spec().VSphere,
			Now: func() time.Time {
				next := noon.Add(times[0])
				times = times[1:]
				return next
			},
		})
		v.Must(s.Close(t.Context()))
		for _, f := range found {
			if f.Check == "clock" {
				wantFinding(t, map[string]inspect.Finding{name: f}, name, c.want, c.says)
			}
		}
		expect.Same(t, name+": times for which this computer's clock was not read", 0, len(times))
	}
}
