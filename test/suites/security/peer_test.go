package security

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// peer is a server of the tenant's, or one that they want our managers to talk to. It notes what it heard.
type peer struct {
	*httptest.Server
	mu          sync.Mutex
	connections map[net.Conn]bool
	heard       []string
}

// connection is the key of a request's connection in its context.
type connection struct{}

// clusterAPI ends the user agents of Cluster API's managers (its controllers/remote/restconfig.go). They connect anew, with the
// kubeconfig that is there by then, to a workload cluster that answered too slowly. What they make of a tenant's is not ours.
const clusterAPI = " cluster.x-k8s.io/"

// newPeer answers with an empty JSON object if it has nothing better to say.
func newPeer(t *testing.T, secure bool, answer http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{connections: map[net.Conn]bool{}}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(r)
		if answer == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
			return
		}
		answer(w, r)
	}))
	p.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) }
	p.Config.ConnState = func(c net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if state == http.StateNew {
			p.connections[c] = true
		}
	}
	p.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *peer) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(r.UserAgent(), clusterAPI) {
		delete(p.connections, r.Context().Value(connection{}).(net.Conn))
		return
	}
	line := r.Method + " " + r.URL.RequestURI() + " Authorization=" + r.Header.Get("Authorization")
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		line += " with a client certificate"
	}
	p.heard = append(p.heard, line)
}

// all returns how many connections there were, and what was asked.
func (p *peer) all() (connections int, heard []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.connections), append([]string(nil), p.heard...)
}

// silent fails the test if anything was heard.
func (p *peer) silent(t *testing.T) {
	t.Helper()
	if connections, heard := p.all(); connections > 0 {
		t.Errorf("%s heard %d connections and %q", p.URL, connections, heard)
	}
}

func (p *peer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
}
