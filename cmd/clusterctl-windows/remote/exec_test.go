package remote

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// of is a server at a test's own address, with a login.
func of(t *testing.T, handler http.Handler) *Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return expect.Got(New(&rest.Config{Host: server.URL, BearerToken: "token"}, "--kubeconfig FILE"))(t)
}

// streams is an API server that hands messages on from a program, as the v4 and v5 protocols have them: the first byte is the
// stream, and the last message the status (https://pkg.go.dev/k8s.io/kubelet/pkg/cri/streaming/remotecommand).
func streams(t *testing.T, protocol string, say func(conn *websocket.Conn)) *Server {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{protocol}}
	return of(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" || r.URL.Path != "/api/v1/namespaces/a/pods/b/exec" {
			http.Error(w, "no such call", http.StatusForbidden)
			return
		}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer closeBody(conn)
		say(conn)
	}))
}

func messages(texts ...string) func(*websocket.Conn) {
	return func(conn *websocket.Conn) {
		for _, text := range texts {
			if conn.WriteMessage(websocket.BinaryMessage, []byte(text)) != nil {
				return
			}
		}
	}
}

func (s *Server) runs(ctx context.Context) (string, error) {
	return s.Run(ctx, "/api/v1/namespaces/a/pods/b/exec", url.Values{"command": {"a", "b"}})
}

// TestRun: what a program has printed, and how it has ended, by both protocols.
func TestRun(t *testing.T) {
	for _, protocol := range streamProtocols {
		s := streams(t, protocol, messages("\x01one ", "", "\x02two", "\x09other", "\x03"+`{"status":"Success"}`))
		expect.Same(t, "printed", "one two", expect.Got(s.runs(t.Context()))(t))
	}
	for why, say := range map[string]func(*websocket.Conn){
		"command terminated with exit code 1": messages("\x01one", "\x03"+
			`{"kind":"Status","status":"Failure","message":"command terminated with exit code 1","reason":"NonZeroExitCode"}`),
		"the connection was closed before the program had ended": func(conn *websocket.Conn) {
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		},
		"the status of the program: ": messages("\x03no JSON"),
		"the connection was closed":   messages("\x01one"),
	} {
		_, err := streams(t, streamProtocols[0], say).runs(t.Context())
		expect.Says(t, why, err, why)
	}
}

// TestStreamsWithoutEnd: whichever stream goes on for ever, in small messages or in one, no more is read than any program of ours
// prints.
func TestStreamsWithoutEnd(t *testing.T) {
	for _, first := range []string{"\x01", "\x02", "\x03", "\x07", ""} {
		var wrote atomic.Int64
		block := first + strings.Repeat("x", 64<<10)
		s := streams(t, streamProtocols[0], func(conn *websocket.Conn) {
			_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
			writer, _ := conn.NextWriter(websocket.BinaryMessage) // one message without end for the empty first byte
			for range 4096 {
				var err error
				if first == "" {
					_, err = writer.Write([]byte(block))
				} else {
					err = conn.WriteMessage(websocket.BinaryMessage, []byte(block))
				}
				if err != nil {
					return
				}
				wrote.Add(int64(len(block)))
			}
		})
		printed, err := s.runs(t.Context())
		if err == nil || len(printed) > maxStream || wrote.Load() > 64<<20 {
			t.Errorf("%q: %d bytes printed, %d sent, %v", first, len(printed), wrote.Load(), err)
		}
	}
}

// TestStreamsThatAreRefused: the words of a refusal are bounded, a redirect is none, and nobody waits longer than wanted.
func TestStreamsThatAreRefused(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for want, handler := range map[string]http.HandlerFunc{
		"answers with a redirect to http://127.0.0.1": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"pods \"b\" is forbidden": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","status":"Failure","message":"pods \"b\" is forbidden","code":403}`))
		},
		"502 Bad Gateway: no kubelet": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no kubelet"+strings.Repeat(" ", 1<<20), http.StatusBadGateway)
		},
		"more than 256 KiB": func(w http.ResponseWriter, _ *http.Request) {
			for range 10_000 {
				w.Header().Add("X", strings.Repeat("x", 100))
			}
		},
	} {
		_, err := of(t, handler).runs(t.Context())
		expect.Says(t, want, err, want)
		if len(err.Error()) > 2<<10 {
			t.Errorf("%s: the error has %d bytes", want, len(err.Error()))
		}
	}
	expect.Same(t, "calls elsewhere", int64(0), elsewhere.Load())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := streams(t, streamProtocols[0], func(conn *websocket.Conn) {
		cancel()
		_, _, _ = conn.ReadMessage() // until the other side goes
	}).runs(ctx)
	expect.Says(t, "ended by the user", err, context.Canceled.Error())
}
