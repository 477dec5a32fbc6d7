package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// drip answers at once, and then with a byte now and then, for ever.
type drip struct{ first, pause time.Duration }

// RoundTrip implements http.RoundTripper.
func (d drip) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(d.first):
	}
	read := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.pause):
			return nil
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1, Request: request,
		Body: io.NopCloser(dripping(read)),
	}, nil
}

type dripping func() error

// Read implements io.Reader.
func (d dripping) Read(into []byte) (int, error) {
	if err := d(); err != nil {
		return 0, err
	}
	return copy(into, " "), nil
}

// TestTime: a server that says nothing is given up soon, one that drips a little later, and none of them is waited for longer
// than its caller wants.
func TestTime(t *testing.T) {
	for name, c := range map[string]struct {
		drip
		want string
		took time.Duration
	}{
		"says nothing":           {drip{time.Hour, time.Second}, "it has not answered within 8s", silence},
		"stops in its answer":    {drip{time.Second, time.Hour}, "it has not answered within 8s", time.Second + silence},
		"drips":                  {drip{time.Second, time.Second}, "its answer did not end within 30s", answerTime},
		"drips as slowly as may": {drip{7 * time.Second, 7 * time.Second}, "its answer did not end within 30s", answerTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				response, err := guarded{next: c.drip, silence: silence}.RoundTrip(call(t.Context(), t))
				if err == nil {
					expect.OK(t, response.Body.Close())
				}
				expect.Says(t, name, err, c.want)
				expect.Same(t, "time", c.took, time.Since(began))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		response, err := guarded{next: drip{time.Hour, time.Hour}, silence: silence}.RoundTrip(call(ctx, t))
		if err == nil {
			expect.OK(t, response.Body.Close())
		}
		expect.Says(t, "a caller without patience", err, context.DeadlineExceeded.Error())
	})
}

func call(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	return expect.Got(http.NewRequestWithContext(ctx, http.MethodGet, "https://a/api/v1/nodes?limit=100", http.NoBody))(t)
}

// TestAnswersOfOthers: what is no answer of an API server is none, whatever client-go would make of it.
func TestAnswersOfOthers(t *testing.T) {
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	expect.OK(t, expect.ErrorOf(pack.Write(bytes.Repeat([]byte(" "), 64<<20))))
	expect.OK(t, pack.Close())
	say := func(kind, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			_, _ = io.WriteString(w, body)
		}
	}
	for want, handler := range map[string]http.HandlerFunc{
		"something that is not JSON":            say("application/vnd.kubernetes.protobuf", "k8s\x00\x0a\x00"),
		"an encoding that was not requested":    say("application/json", packed.String(), "Content-Encoding", "gzip"),
		"more than 2048 KiB":                    say("application/json", strings.Repeat(" ", 3<<20)),
		"JSON that is not that of an API":       say("application/json", "["+strings.Repeat("[],", 200_000)+"[]]"),
		"answers with JSON that":                say("application/json", `{"a":`),
		"unexpected EOF":                        say("application/json", `{}`, "Content-Length", "100"),
		"server response headers exceeded":      say("application/json", `{}`, "X", strings.Repeat("x", 1<<20)),
		"cannot unmarshal array into Go value ": say("application/json", `[]`),
	} {
		var into metav1.PartialObjectMetadata
		_, err := of(t, handler).Get(t.Context(), "/api/v1/namespaces/a", &into)
		expect.Says(t, want, err, want)
	}
}

// TestWaits: a server that has too many calls is waited for a moment, and none for as long as it says.
func TestWaits(t *testing.T) {
	for after, want := range map[string]int{"1": 2, "3600": 1, "": 1} {
		heard := 0
		s := of(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if heard++; heard == 1 {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			_, _ = io.WriteString(w, "{}")
		}))
		var into metav1.PartialObjectMetadata
		_, err := s.Get(t.Context(), "/version", &into)
		expect.Same(t, "an error", want == 1, err != nil)
		expect.Same(t, "calls after "+after, want, heard)
	}
}

// TestPages: a list is read page by page, as far as a list goes, and an object with a name that a shell would obey ends it.
func TestPages(t *testing.T) {
	var asked []string
	name, pages := "a", 3
	s := of(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("limit")+r.URL.Query().Get("continue")+r.URL.Query().Get("labelSelector"))
		next := ""
		if len(asked) < pages {
			next = fmt.Sprint("-", len(asked))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[{"metadata":{"name":%q}}]}`, next, name)
	}))
	list := func() (names []string, err error) {
		asked = nil
		_, err = List(t.Context(), s, "/api/v1/nodes", url.Values{"labelSelector": {"x"}}, func(o metav1.PartialObjectMetadata) error {
			names = append(names, o.Name)
			return nil
		})
		return names, err
	}
	expect.Same(t, "names", []string{"a", "a", "a"}, expect.Got(list())(t))
	expect.Same(t, "asked", []string{"100x", "100-1x", "100-2x"}, asked)
	pages = mostPages
	expect.Same(t, "names", mostPages, len(expect.Got(list())(t)))
	pages = mostPages + 1
	_, err := list()
	expect.Says(t, "a list without end", err, "its list /api/v1/nodes has more than 200 pages of 100 objects")
	expect.Same(t, "pages", mostPages, len(asked))
	name = "$(reboot)"
	_, err = list()
	expect.Says(t, "a name", err, `an object with the name "$(reboot)", which no API server of Kubernetes accepts`)
}

// TestLogins: a kubeconfig's login goes to its own server, and no login to a kubelet's own address.
func TestLogins(t *testing.T) {
	var heard []string
	s := of(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Accept"))
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "one\ntwo\n")
	}))
	text := expect.Got(s.Ask(t.Context(), "/api/v1/namespaces/a/pods/b/log", url.Values{"container": {"c"}}))(t)
	expect.Same(t, "log", "one\ntwo\n", string(text))
	expect.Same(t, "heard", []string{"GET /api/v1/namespaces/a/pods/b/log?container=c Bearer token application/json, */*"}, heard)
	plain := expect.Got(New(&rest.Config{Host: "http://127.0.0.1:1"}, "--context c"))(t)
	_, err := plain.Ask(t.Context(), "/", nil)
	expect.Says(t, "nobody there", plain.Reason(err), "; look at the address in --context c")
}
