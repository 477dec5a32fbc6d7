package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// certified has a certificate of its own for 127.0.0.1, which changes may change.
func certified(t *testing.T, change func(*x509.Certificate, *tls.Config)) (url string, ca []byte) {
	t.Helper()
	key := expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS10} //nolint:gosec // because it plays a server that is too old
	change(template, secure)
	der := expect.Got(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	secure.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.TLS.Version < tls.VersionTLS12 {
			t.Error("the login came by an old version of TLS")
		}
		_, _ = io.WriteString(w, "{}")
	}))
	server.TLS, server.Config.ErrorLog = secure, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestCertificates: who is not told which kubeconfig a certificate does not fit, and what to do, switches the check off.
func TestCertificates(t *testing.T) {
	_, other := certified(t, func(*x509.Certificate, *tls.Config) {})
	for name, c := range map[string]struct {
		change func(*x509.Certificate, *tls.Config)
		ca     []byte
		want   []string
	}{
		"good": {func(*x509.Certificate, *tls.Config) {}, nil, nil},
		"of another cluster": {
			func(*x509.Certificate, *tls.Config) {}, other,
			[]string{"its certificate is not trusted by --kubeconfig FILE (x509: ", "get the cluster's kubeconfig again, with clusterctl"},
		},
		"of another name": {
			func(c *x509.Certificate, _ *tls.Config) { c.IPAddresses, c.DNSNames = nil, []string{"api.example.com"} },
			nil,
			[]string{"its certificate is not trusted by --kubeconfig FILE (x509: ", "write an address that the certificate has"},
		},
		"expired": {
			func(c *x509.Certificate, _ *tls.Config) { c.NotAfter = time.Now().Add(-time.Minute) },
			nil,
			[]string{"its certificate is not trusted by --kubeconfig FILE (x509: ", "must be renewed, or the clock of this computer"},
		},
		"by an old version": {
			func(_ *x509.Certificate, c *tls.Config) { c.MaxVersion = tls.VersionTLS11 }, nil,
			[]string{"protocol version", "; look at the address in --kubeconfig FILE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, ca := certified(t, c.change)
			if c.ca != nil {
				ca = c.ca
			}
			s := expect.Got(New(&rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, "--kubeconfig FILE"))(t)
			var into metav1.PartialObjectMetadata
			_, err := s.Get(t.Context(), "/version", &into)
			err = s.Reason(err)
			if c.want == nil {
				expect.OK(t, err)
			}
			for _, want := range c.want {
				expect.Says(t, name, err, want)
			}
		})
	}
}

// TestNoTLS: a port that is not the API server's is told as that.
func TestNoTLS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	s := expect.Got(New(&rest.Config{Host: "https" + server.URL[len("http"):]}, "--kubeconfig FILE"))(t)
	var into metav1.PartialObjectMetadata
	_, err := s.Get(t.Context(), "/version", &into)
	expect.Says(t, "plain HTTP", s.Reason(err), "it does not use TLS; look at the address in --kubeconfig FILE")
}
