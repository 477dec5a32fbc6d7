package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of our certificates: longer than any run.
const lifetime = 7 * 24 * time.Hour

// authority signs the certificates of servers and clients that no kubeadm makes for us.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate with its key, both PEM.
type pair struct{ certificate, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create key of %s: %w", name, err)
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	return &authority{certificate: parsed, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// Certify makes an authority (PEM), and a certificate that it signed for a server of these names on loopback.
func Certify(hosts ...string) (ca []byte, serving tls.Certificate, err error) {
	issuer, err := newAuthority("test-ca")
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	made, err := issuer.serving(hosts...)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	serving, err = tls.X509KeyPair(made.certificate, made.key)
	return issuer.pem, serving, err
}

// serving makes a certificate for a server on loopback, which may have names.
func (a *authority) serving(hosts ...string) (pair, error) {
	template := certificate(pkix.Name{CommonName: "localhost"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses, template.DNSNames = []net.IP{net.ParseIP(loopback)}, append([]string{"localhost"}, hosts...)
	return a.sign(template)
}

// client makes a certificate that logs in as a user with groups.
func (a *authority) client(user string, groups ...string) (pair, error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (pair, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("create key of %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("encode key of %s: %w", name, err)
	}
	return pair{certificate: encode("CERTIFICATE", der), key: encode("PRIVATE KEY", keyDER)}, nil
}

// write stores the pair as NAME.crt and NAME.key.
func (p pair) write(dir, name string) error {
	for suffix, content := range map[string][]byte{".crt": p.certificate, ".key": p.key} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), content, 0o600); err != nil {
			return fmt.Errorf("write certificate: %w", err)
		}
	}
	return nil
}

func certificate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      subject,
		// An hour back, for readers whose clock is behind.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(lifetime),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
