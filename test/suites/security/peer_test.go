package security

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// peer is a server of the tenant's, or one that they want our managers to talk to. It notes what it heard.
type peer struct {
	*httptest.Server
	mu          sync.Mutex
	connections int
	closed      int
	heard       []string
}

// newPeer answers with an empty JSON object if it has nothing better to say.
func newPeer(t *testing.T, secure bool, answer http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(r)
		if answer == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
			return
		}
		answer(w, r)
	}))
	p.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch state {
		case http.StateNew:
			p.connections++
		case http.StateClosed, http.StateHijacked:
			p.closed++
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
	return p.connections, append([]string(nil), p.heard...)
}

// open is how many connections there are.
func (p *peer) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections - p.closed
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
