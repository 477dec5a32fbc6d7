package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// The keys of the Secret.
const (
	keyServer     = "server"
	keyUsername   = "username"
	keyPassword   = "password"
	keyCA         = "ca.crt"
	keyThumbprint = "thumbprint"
)

// endpoint is a vCenter and how to get in, and what its answers take from.
type endpoint struct {
	server   string
	username string
	password func() string // a function prints as nothing but an address, wherever it stands
	tls      *tls.Config
	share    tenants.Share
}

// errOtherCertificate means that the server is not the one in the Secret.
var errOtherCertificate = errors.New("the server's certificate does not have the thumbprint of the Secret")

// parseEndpoint reads the Secret. Line ends at the end of a value are taken for the work of an editor.
func parseEndpoint(credentials map[string][]byte) (endpoint, error) {
	value := func(key string) string { return strings.TrimRight(string(credentials[key]), "\r\n") }
	for _, key := range []string{keyServer, keyUsername, keyPassword} {
		if value(key) == "" {
			return endpoint{}, incomplete("the Secret with the vCenter credentials has no key %q: add it", key)
		}
	}
	secret := value(keyPassword)
	target := endpoint{
		server: strings.TrimSpace(value(keyServer)), username: value(keyUsername), password: func() string { return secret },
	}
	if u, err := url.Parse("https://" + target.server); err != nil || u.Host != target.server || u.Hostname() == "" {
		return endpoint{}, incomplete("the key %q of the Secret with the vCenter credentials must be a host, or host:port, "+
			"without https:// or a path", keyServer)
	}
	var err error
	target.tls, err = trust(value(keyCA), value(keyThumbprint))
	return target, err
}

// Principal is all that parseEndpoint reads, as it reads it. It is a secret.
func Principal(credentials map[string][]byte) (string, error) {
	target, err := parseEndpoint(credentials)
	if err != nil {
		return "", err
	}
	value := func(key string) string { return strings.TrimRight(string(credentials[key]), "\r\n") }
	thumbprint := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(value(keyThumbprint)), ":", ""))
	return fmt.Sprintf("%q", []string{
		strings.ToLower(target.server), target.username, target.password(), value(keyCA), thumbprint,
	}), nil
}

// trust makes the TLS configuration that knows only this vCenter. There is none that knows every server.
func trust(ca, thumbprint string) (*tls.Config, error) {
	switch {
	case (ca == "") == (thumbprint == ""):
		return nil, incomplete("the Secret with the vCenter credentials must have exactly one of the keys %q (PEM) and %q (SHA-256)",
			keyCA, keyThumbprint)
	case ca != "":
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(ca)) {
			return nil, incomplete("the key %q of the Secret with the vCenter credentials has no certificate in PEM form", keyCA)
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
	}
	want, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(thumbprint), ":", ""))
	if err != nil || len(want) != sha256.Size {
		return nil, incomplete("the key %q of the Secret with the vCenter credentials must be a SHA-256 thumbprint: 64 hexadecimal "+
			"digits, with or without colons", keyThumbprint)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // because VerifyConnection compares the certificate itself
		VerifyConnection: func(s tls.ConnectionState) error {
			actual := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(actual[:], want) != 1 {
				return errOtherCertificate
			}
			return nil
		},
	}, nil
}

func incomplete(format string, args ...any) error {
	return cloud.Errorf(cloud.Denied, infrav1.CredentialsMissingReason, format, args...)
}
