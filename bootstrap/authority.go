package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
)

// authority is whom the node trusts.
type authority struct {
	// pins are the SHA-256 of each certificate's public key, as kubeadm compares them.
	pins []string
	// root is the DER of the only certificate, when it is one and signed itself. Of several, the node can not know
	// beforehand which has signed what the API server shows; kubeadm tries them all.
	root []byte
}

func readAuthority(field string, data []byte) (authority, error) {
	var found authority
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return authority{}, invalid(field, "it holds a %s; write certificates only", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return authority{}, invalid(field, "it holds a certificate that can not be read (%v); write the cluster's CA in PEM", err)
		}
		digest := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		found.pins = append(found.pins, "sha256:"+hex.EncodeToString(digest[:]))
		if bytes.Equal(certificate.RawIssuer, certificate.RawSubject) {
			found.root = certificate.Raw
		}
	}
	if len(found.pins) == 0 {
		return authority{}, invalid(field, "it holds no certificate; write the cluster's CA in PEM")
	}
	if len(found.pins) > 1 {
		found.root = nil
	}
	return found, nil
}
