package crowd

import (
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

// serve runs a server of an attacker's own, with TLS. Its certificate is that of the credentials, which are the attacker's, too.
func serve(t *testing.T, answer http.HandlerFunc) *vcenter.Door {
	t.Helper()
	d := &vcenter.Door{Server: httptest.NewUnstartedServer(answer)}
	d.Config.ErrorLog = log.New(io.Discard, "", 0)
	d.StartTLS()
	t.Cleanup(d.Close)
	return d
}

const (
	envelope = `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` +
		`<RetrieveServiceContentResponse xmlns="urn:vim25">`
	ending = `</RetrieveServiceContentResponse></soapenv:Body></soapenv:Envelope>`
)

// bomb answers with a text many times over, packed: little on the wire, much in memory.
func bomb(text string, times int) http.HandlerFunc {
	packed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, envelope)
		for range times {
			_, _ = io.WriteString(w, text)
		}
		_ = w.Close()
		return b.Bytes()
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed())
	}
}

// empty answers as a vCenter does that has no managers.
func empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, envelope+"<returnval></returnval>"+ending)
}

// hang never answers. A server sees that the client is gone only once it has read the whole request.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
