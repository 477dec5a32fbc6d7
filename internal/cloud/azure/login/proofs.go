package login

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// credential makes the SDK's credential for a proof. The SDK does not ask Microsoft which authorities there are: the address book
// knows them.
func (in input) credential(by policy.Transporter) (azcore.TokenCredential, error) {
	options := policy.ClientOptions{
		Cloud: in.cloud.Configuration(), Transport: by, Retry: policy.RetryOptions{MaxRetries: -1},
	}
	switch in.proof {
	case placement.ClientSecret:
		return azidentity.NewClientSecretCredential(in.tenant, in.client, in.secret(),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	case placement.Certificate:
		return azidentity.NewClientCertificateCredential(in.tenant, in.client, in.pair.chain, in.pair.key,
			&azidentity.ClientCertificateCredentialOptions{
				ClientOptions: options, DisableInstanceDiscovery: true,
				SendCertificateChain: true, // so that an app may trust a name and an issuer instead of one certificate
			})
	case placement.WorkloadToken:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: true,
			TenantID: in.tenant, ClientID: in.client, TokenFilePath: in.tokenFile,
		})
	default:
		options.Transport = newLocalTransport()
		managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		if in.client != "" {
			managed.ID = azidentity.ClientID(in.client)
		}
		return azidentity.NewManagedIdentityCredential(managed)
	}
}

// pair is a certificate with its key. It has no exported field, so that nothing prints it in parts.
type pair struct {
	chain []*x509.Certificate // the client's own first
	key   *rsa.PrivateKey
	sum   [sha256.Size]byte
}

func (p *pair) digest() string { return fmt.Sprintf("%x", p.sum) }

// String hides the key.
func (*pair) String() string { return "[hidden]" }

// GoString hides the key.
func (*pair) GoString() string { return "[hidden]" }

const (
	maxPEM    = 64 << 10
	maxPKCS12 = 16 << 10
	maxChain  = 8
)

// opening is held while a PKCS#12 file is opened: whoever made it says how long that takes.
var opening sync.Mutex

// take reads PEM, or PKCS#12 as it stands in raw.
func (in *input) take(content, password, raw []byte) error {
	wrong := func(what string) error {
		return rejected("the certificate in %s %s: use PEM with a certificate and its key that is not encrypted, or PKCS#12 with its "+
			"password", in.source, what)
	}
	limit := maxPEM
	if !bytes.Contains(content, []byte("-----BEGIN ")) {
		limit = maxPKCS12
		if raw != nil {
			content = raw // its last byte may be a line end
		}
		opening.Lock()
		defer opening.Unlock()
	} else {
		password = nil // the SDK takes what has a password for PKCS#12
	}
	if len(content) > limit {
		return wrong("is too large")
	}
	chain, anyKey, err := azidentity.ParseCertificates(content, password)
	if err != nil {
		return wrong("cannot be read")
	}
	key, ok := anyKey.(*rsa.PrivateKey)
	if !ok {
		return wrong("has a key that is not RSA, which Microsoft's library does not support")
	}
	own, ok := matching(chain, key)
	switch {
	case !ok:
		return wrong("is not that of the key")
	case len(chain) > maxChain:
		return wrong("has too many others with it")
	}
	chain[0], chain[own] = chain[own], chain[0]
	both := append(x509.MarshalPKCS1PrivateKey(key), chain[0].Raw...)
	in.proof, in.pair = placement.Certificate, &pair{chain: chain, key: key, sum: sha256.Sum256(both)}
	return nil
}

// matching finds the certificate of the key. One without its key would be the account of another, who proved it.
func matching(chain []*x509.Certificate, key *rsa.PrivateKey) (int, bool) {
	for i, c := range chain {
		if key.PublicKey.Equal(c.PublicKey) {
			return i, true
		}
	}
	return 0, false
}

// pool has the certificates of a bundle.
func pool(bundle string) (*x509.CertPool, bool) {
	roots := x509.NewCertPool()
	found := false
	for rest := []byte(bundle); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return roots, found
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			roots.AddCert(c)
			found = true
		}
	}
}
