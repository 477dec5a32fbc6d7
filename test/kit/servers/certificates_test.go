package servers

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestCertificatesServeAndLogIn(t *testing.T) {
	ca := expect.Got(newAuthority("test"))(t)
	serving := expect.Got(ca.serving())(t)
	client := expect.Got(ca.client("jane", "admins"))(t)
	user := expect.Got(handshake(t, ca, serving, client))(t)
	if want := "CN=jane,O=admins"; user != want {
		t.Errorf("the server sees %s, want %s", user, want)
	}
	stranger := expect.Got(newAuthority("test"))(t)
	if _, err := handshake(t, stranger, serving, client); err == nil {
		t.Error("a client that trusts another authority connects")
	}
}

// handshake returns the user that a server sees.
func handshake(t *testing.T, trusted *authority, serving, client pair) (string, error) {
	t.Helper()
	load := func(p pair) []tls.Certificate {
		loaded := expect.Got(tls.X509KeyPair(p.certificate, p.key))(t)
		return []tls.Certificate{loaded}
	}
	pool := x509.NewCertPool()
	pool.AddCert(trusted.certificate)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.String())
	}))
	s.TLS = &tls.Config{
		Certificates: load(serving), ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
	s.StartTLS()
	defer s.Close()
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: load(client), MinVersion: tls.VersionTLS12},
	}}
	defer c.CloseIdleConnections()
	response, err := c.Get(s.URL)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	user, err := io.ReadAll(response.Body)
	return string(user), err
}
