package manager

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/scrape"
)

// TestSkew has a manager start whose clock is wrong: one line of its log and a metric say so, and by how much.
func TestSkew(t *testing.T) {
	for name, c := range map[string]struct {
		ours time.Duration // as seen from the API server
		line string
		from float64
		to   float64
	}{
		"an hour behind":     {-time.Hour, `"aheadSeconds"=-3`, -3600, -3598},
		"five minutes ahead": {5 * time.Minute, `"aheadSeconds"=`, 298, 300},
		"a second behind":    {-time.Second, "", -1, 1},
		"nine seconds ahead": {9 * time.Second, "", 7, 9},
		"right":              {0, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lines lines
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			(&skewed{now: func() time.Time { return time.Now().Add(c.ours) }, log: lines.logger()}).watch(config)
			for range 3 {
				api := expect.Got(kubernetes.NewForConfig(config))(t)
				expect.Got(api.ServerVersion())(t)
			}
			said := lines.logged()
			if (c.line != "") != (len(said) == 1) || !strings.Contains(strings.Join(said, ""), c.line) {
				t.Errorf("the log has %q, want one line with %q", said, c.line)
			}
			if got := scrape.Now(t)["capwin_clock_skew_seconds"]; got < c.from || got > c.to {
				t.Errorf("capwin_clock_skew_seconds is %v, want one between %v and %v", got, c.from, c.to)
			}
		})
	}
}

// lines are those of a log.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, text)
	}, funcr.Options{})
}

func (l *lines) logged() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}

// TestAheadOf: an answer that takes its time says less of the clocks.
func TestAheadOf(t *testing.T) {
	said := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		sent, got, want time.Duration // since the server's time
	}{
		"the same":            {0, 0, 0},
		"within the second":   {900 * time.Millisecond, 950 * time.Millisecond, 0},
		"slow":                {-30 * time.Second, 30 * time.Second, 0},
		"ahead":               {time.Minute, 2 * time.Minute, 59 * time.Second},
		"behind":              {-2 * time.Minute, -time.Minute, -time.Minute},
		"set back meanwhile":  {time.Minute, -time.Hour, 59 * time.Second},
		"a fraction too late": {1100 * time.Millisecond, 1200 * time.Millisecond, 100 * time.Millisecond},
	} {
		expect.Same(t, name, c.want, aheadOf(said, said.Add(c.sent), said.Add(c.got)))
	}
}

// TestSkewWithoutDate: what tells no time says nothing.
func TestSkewWithoutDate(t *testing.T) {
	var lines lines
	s := &skewed{now: time.Now, log: lines.logger()}
	for _, date := range []string{"", "tomorrow"} {
		s.compare(http.Header{"Date": {date}}, time.Now(), time.Now())
	}
	expect.Same(t, "lines", 0, len(lines.logged()))
	s.compare(http.Header{"Date": {"Mon, 02 Jan 2006 15:04:05 GMT"}}, time.Now(), time.Now())
	expect.Same(t, "lines of the first answer that tells", 1, len(lines.logged()))
}
