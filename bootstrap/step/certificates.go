package step

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
)

// Certificates reads the certificates of a PEM text, which must hold nothing else; use is what the user should put there instead.
// Errors do not show the text, which may be a secret in the wrong place.
func Certificates(field string, data []byte, use string) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, Invalid(field, "%s does not belong here; use certificates only", kindOf(block.Type))
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, Invalid(field, "a certificate cannot be read; use %s", use)
		}
		found = append(found, certificate)
	}
	if len(found) == 0 {
		return nil, Invalid(field, "there is no certificate; use %s", use)
	}
	return found, nil
}

// OnlyCertificates leaves out what a PEM text has between its certificates, and their headers: it may be secret.
func OnlyCertificates(data []byte) []byte {
	var text []byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	return text
}

// kindOf returns what a block is without its name, which anybody can choose.
func kindOf(name string) string {
	if strings.HasSuffix(name, "PRIVATE KEY") {
		return "a private key"
	}
	return "anything else"
}
