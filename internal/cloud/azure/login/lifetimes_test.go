package login

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestTokenLifetimes has the authority say of its tokens that they hold for no time, for ever, or nothing that can be read.
// However many calls there are, it is not asked for a token by each.
func TestTokenLifetimes(t *testing.T) {
	for name, test := range map[string]struct {
		says string
		good bool
	}{
		"an hour":              {`"expires_in":3600,`, true},
		"an hour, as text":     {`"expires_in":"3600",`, true},
		"no time":              {`"expires_in":0,`, true},
		"no time, as text":     {`"expires_in":"0",`, true},
		"less than no time":    {`"expires_in":-3600,`, true},
		"a second":             {`"expires_in":1,`, true},
		"285 years":            {`"expires_in":9000000000,`, true},
		"more than Go's time":  {`"expires_in":1000000000000000000,`, true},
		"more than an integer": {`"expires_in":99999999999999999999,`, false},
		"a fraction":           {`"expires_in":3600.5,`, false},
		"a word":               {`"expires_in":"soon",`, false},
		"nothing":              {``, false},
		"null":                 {`"expires_in":null,`, false},
		"a list":               {`"expires_in":[3600],`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, called atomic.Int32
			h := newHostile(t, nil, func(_ *hostile, w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					called.Add(1)
					return
				}
				asked.Add(1)
				_, _ = fmt.Fprintf(w, `{"token_type":"Bearer",%s"access_token":"canary"}`, test.says)
			})
			p := h.open(t, 0)
			pipe := expect.Got(armruntime.NewPipeline("test", "v1", p.Credential, runtime.PipelineOptions{}, optionsOf(p)))(t)
			const calls = 60
			var crowd sync.WaitGroup
			for range calls / 20 {
				for range 20 {
					crowd.Go(func() {
						request := expect.Got(runtime.NewRequest(t.Context(), http.MethodGet, h.server.URL+"/x"))(t)
						answer, err := pipe.Do(request)
						if good := err == nil; good != test.good {
							t.Errorf("a call: %v", err)
						}
						if err == nil {
							_, _ = io.Copy(io.Discard, answer.Body)
							_ = answer.Body.Close()
						}
					})
				}
				crowd.Wait()
			}
			switch n, all := asked.Load(), called.Load(); {
			case test.good && (n > 2 || all != calls):
				t.Errorf("%d requests for tokens, %d calls", n, all)
			case !test.good && all > 0:
				t.Errorf("%d calls without a token", all)
			}
		})
	}
}

// TestTokenIsReused for a while only.
func TestTokenIsReused(t *testing.T) {
	var asked atomic.Int32
	h := newHostile(t, nil, func(_ *hostile, w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":1,"access_token":"canary"}`)
	})
	p := h.open(t, 0)
	for range 3 {
		expect.Got(p.Credential.GetToken(t.Context(), forARM))(t)
	}
	expect.Same(t, "requests", int32(1), asked.Load())
	c := p.Credential.(*credential)
	c.granted = c.granted.Add(-reused - time.Second)
	expect.Got(c.GetToken(t.Context(), forARM))(t)
	expect.Same(t, "requests after a while", int32(2), asked.Load())
}
