package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// authority is the CA that the node trusts.
type authority struct {
	pem []byte
	// pins are the SHA-256 of each certificate's public key, as kubeadm compares them.
	pins []string
	// root is the DER of the certificate, if there is only one and it signed itself. If there are several, the node
	// cannot know in advance which of them signed the API server's certificate; kubeadm tries them all.
	root []byte
	// expires is when the last of the certificates does.
	expires time.Time
}

func readAuthority(field string, data []byte) (authority, error) {
	certificates, err := step.Certificates(field, data, "the cluster's CA in PEM")
	if err != nil {
		return authority{}, err
	}
	found := authority{pem: step.OnlyCertificates(data)}
	for _, certificate := range certificates {
		digest := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		if certificate.NotAfter.After(found.expires) {
			found.expires = certificate.NotAfter
		}
		found.pins = append(found.pins, "sha256:"+hex.EncodeToString(digest[:]))
	}
	if ca := certificates[0]; len(certificates) == 1 && bytes.Equal(ca.RawIssuer, ca.RawSubject) {
		found.root = ca.Raw
	}
	return found, nil
}

// warnings: whether an expired CA is still used can only be seen in the cluster.
func (a authority) warnings(now time.Time) []string {
	if now.Before(a.expires) { // so is no clock
		return nil
	}
	return []string{fmt.Sprintf(
		"the cluster's CA expired on %s, so no node trusts the API server; renew it, or set spec.discovery",
		a.expires.UTC().Format(time.DateOnly))}
}
