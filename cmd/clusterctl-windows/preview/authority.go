package preview

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// placeholderCA stands in for a cluster's CA. Its name is "placeholder for the CA of the cluster"; its key was thrown away.
const placeholderCA = `-----BEGIN CERTIFICATE-----
MIIBkzCCATmgAwIBAgIBATAKBggqhkjOPQQDAjAwMS4wLAYDVQQDEyVwbGFjZWhv
bGRlciBmb3IgdGhlIENBIG9mIHRoZSBjbHVzdGVyMCAXDTAwMDEwMTAwMDAwMFoY
Dzk5OTkxMjMxMjM1OTU5WjAwMS4wLAYDVQQDEyVwbGFjZWhvbGRlciBmb3IgdGhl
IENBIG9mIHRoZSBjbHVzdGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83rz
aWpTLgWqf4Crckzsid/DKqRPgwLDTNKitEWhbdXb4PAZdPbRv0wOpYuXE2mRnf7N
R+GpNHIuv59sHheHHaNCMEAwDgYDVR0PAQH/BAQDAgIEMA8GA1UdEwEB/wQFMAMB
Af8wHQYDVR0OBBYEFOUSMcZvKWbh2lg7jsEF71So3lE3MAoGCCqGSM49BAMCA0gA
MEUCIQCudPiLLDZs6xB/sdokISa4KbM/ujcU9c5HDZih7mVu9wIgNOZIGJvd4lLn
G2qlbk1lRzd9zecdDIh79bZ+anpOfPY=
-----END CERTIFICATE-----
`

// loadAuthority reads the CA that the node will trust, or takes a placeholder where its Secret is not among the files, as in a
// review. The CA is not needed if the config has a kubeconfig with a CA of its own.
func (m *Machine) loadAuthority(o *objects.Set) error {
	if m.bringsKubeconfig() {
		return nil
	}
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: m.Owner.Spec.ClusterName + "-ca"}
	secret, err := objects.Load[corev1.Secret](o, "Secret", key)
	if missing, ok := errors.AsType[*objects.MissingError](err); ok {
		m.ca, m.withoutCA = []byte(placeholderCA), missing
		return nil
	}
	if err != nil {
		return err
	}
	if m.ca = Value(secret, corev1.TLSCertKey); len(m.ca) == 0 {
		return fmt.Errorf("%s has no value for the key %s; set it to the cluster's CA in PEM",
			objects.Object{Kind: "Secret", Key: key}, corev1.TLSCertKey)
	}
	m.noteExpiry(key, time.Now())
	return nil
}

// noteExpiry notes which certificates of the CA have expired. What cannot be read is refused when the machine is rendered.
func (m *Machine) noteExpiry(key types.NamespacedName, now time.Time) {
	for block, rest := pem.Decode(m.ca); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err == nil && now.After(certificate.NotAfter) {
			m.note("the certificate %q in Secret %s, key %s, expired on %s: a node cannot join with it alone; renew the cluster's CA",
				certificate.Subject.CommonName, key, corev1.TLSCertKey, certificate.NotAfter.UTC().Format(time.DateOnly))
		}
	}
}

// standInAuthority notes a CA that is a placeholder.
func (m *Machine) standInAuthority() {
	if m.withoutCA != nil {
		m.standIn("the cluster's CA in Secret " + m.withoutCA.Key.String())
	}
}
