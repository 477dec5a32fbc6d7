package vcenter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync/atomic"
)

// Door is an address of the vCenter, with TLS.
type Door struct {
	*httptest.Server
	connections atomic.Int64
}

// Connections that were ever made to this address.
func (d *Door) Connections() int { return int(d.connections.Load()) }

// Guard stands in a door. It lets a call of a method pass by serving it with next, or breaks the connection with Abort.
type Guard func(method string, next http.Handler, w http.ResponseWriter, r *http.Request)

// Abort breaks the connection instead of an answer.
func Abort() { panic(http.ErrAbortHandler) }

// Open makes one more door. Calls pass its guards in their order.
func (v *VCenter) Open(guards ...Guard) *Door {
	d := &Door{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			Abort()
		}
		method := methodOf(body)
		next := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			defer v.readOneAtATime(method)()
			v.model.Service.ServeMux.ServeHTTP(inFull{v.abandon(w, r, method, body)}, r)
		}))
		for _, guard := range slices.Backward(guards) {
			behind := next
			next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { guard(method, behind, w, r) })
		}
		r.Body = io.NopCloser(bytes.NewReader(body)) // for the guards
		next.ServeHTTP(w, r)
	}))}
	d.Config.ErrorLog = log.New(io.Discard, "", 0) // of the clients that refuse the certificate, and those that are cut off
	d.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			d.connections.Add(1)
		}
	}
	d.StartTLS()
	return d
}

var soapMethod = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)

// methodOf a request is what stands first in its SOAP body.
func methodOf(body []byte) string {
	if found := soapMethod.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return ""
}

// Close breaks all connections and waits for the end of their calls.
func (d *Door) Close() {
	d.CloseClientConnections()
	d.Server.Close()
}

// Credentials are the data of a Secret for a machine that is to come through this door.
func (d *Door) Credentials() map[string][]byte {
	sum := sha256.Sum256(d.Certificate().Raw)
	return map[string][]byte{
		"server":     []byte(d.Listener.Addr().String()),
		"username":   []byte(Username),
		"password":   []byte(Password),
		"thumbprint": []byte(hex.EncodeToString(sum[:])),
	}
}
