package step

import (
	"crypto/x509"
	"encoding/pem"
)

// Certificates reads the certificates of a PEM text, which must hold nothing else; use says what the user should put
// there instead.
func Certificates(field string, data []byte, use string) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, Invalid(field, "a %s does not belong here; use certificates only", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, Invalid(field, "a certificate cannot be read (%v); use %s", err, use)
		}
		found = append(found, certificate)
	}
	if len(found) == 0 {
		return nil, Invalid(field, "there is no certificate; use %s", use)
	}
	return found, nil
}
