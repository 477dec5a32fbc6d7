package step

import (
	"crypto/x509"
	"encoding/pem"
)

// Certificates gives the certificates of a PEM text, which must hold nothing else; write says what to write instead.
func Certificates(field string, data []byte, write string) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, Invalid(field, "it holds a %s; write certificates only", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, Invalid(field, "it holds a certificate that can not be read (%v); write %s", err, write)
		}
		found = append(found, certificate)
	}
	if len(found) == 0 {
		return nil, Invalid(field, "it holds no certificate; write %s", write)
	}
	return found, nil
}
