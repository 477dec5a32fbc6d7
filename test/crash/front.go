package crash

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// front stands before the vCenter, for one process alone: it is the address in the Secret of its namespace. All that the
// process asks of the vCenter passes the process's gate here, so that requests are cut off where a crash would cut them off.
type front struct {
	*httptest.Server
	datacenter *datacenter
	gate       *world.Gate
	slow       *slowClone // nil lets clones be as fast as the simulator makes them
}

func (d *datacenter) front(gate *world.Gate, slow *slowClone) *front {
	f := &front{datacenter: d, gate: gate, slow: slow}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(f.serve))
	return f
}

// credentials are the vCenter's, with the front for the server.
func (f *front) credentials() map[string][]byte {
	credentials := maps.Clone(f.datacenter.credentials)
	sum := sha256.Sum256(f.Certificate().Raw)
	credentials["server"] = []byte(f.Listener.Addr().String())
	credentials["thumbprint"] = []byte(hex.EncodeToString(sum[:]))
	return credentials
}

var soapMethod = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(\w+)`)

// changes says which calls are effects: tasks, and the login, which leaves a session. All others change nothing but what
// hangs on the session and goes with it.
func changes(method string) bool { return strings.HasSuffix(method, "_Task") || method == "Login" }

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	method := "?"
	if found := soapMethod.FindSubmatch(body); found != nil {
		method = string(found[1])
	}
	name := "vcenter " + method
	if !changes(method) {
		if f.gate.Read(name) != nil {
			panic(http.ErrAbortHandler)
		}
		f.forward(r.Context(), r, body).reply(w)
		return
	}
	var a answer
	// What reached the vCenter is done, though who asked for it has gone.
	killed := f.gate.Change(name, func() bool {
		if f.slow != nil && method == "CloneVM_Task" {
			a = f.slow.start(f.datacenter, body)
		} else {
			a = f.forward(context.WithoutCancel(r.Context()), r, body)
		}
		return a.status == http.StatusOK
	})
	if killed != nil {
		panic(http.ErrAbortHandler)
	}
	a.reply(w)
}

// answer is the vCenter's; without a status there is none.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (f *front) forward(ctx context.Context, r *http.Request, body []byte) answer {
	request, err := http.NewRequestWithContext(ctx, r.Method, f.datacenter.url+r.URL.Path, bytes.NewReader(body)) //nolint:gosec // because the simulator is asked and nobody else
	if err != nil {
		return answer{}
	}
	request.Header = r.Header.Clone()
	response, err := f.datacenter.http.Do(request) //nolint:gosec // because of that
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}
	}
	return answer{response.StatusCode, response.Header, read}
}

func (a answer) reply(w http.ResponseWriter) {
	if a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
