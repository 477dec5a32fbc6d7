package login

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// credential makes the SDK's credential for a proof. The SDK does not ask Microsoft which authorities there are: the address book
// knows them.
func (in input) credential(sender policy.Transporter) (azcore.TokenCredential, error) {
	options := policy.ClientOptions{
		Cloud: in.cloud.Configuration(), Transport: sender, Retry: policy.RetryOptions{MaxRetries: -1},
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
	case placement.OwnComputer:
		options.Transport = newChainTransport(sender)
		return azidentity.NewDefaultAzureCredential(
			&azidentity.DefaultAzureCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
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
	maxPEM   = 64 << 10
	maxKey   = 6 << 10 // more than one of 8,192 bits has; reading takes the longer, the larger it is
	maxChain = 8
)

// take reads PEM, and PKCS#12 if there is a password for it. The maker of a PKCS#12 file decides how long it takes to open, so
// that one from a Secret is not opened.
func (in *input) take(content, password []byte) error {
	wrong := func(problem string) error {
		return rejected("the certificate in %s %s: use PEM with a certificate and its RSA key that is not encrypted", in.source,
			problem)
	}
	block, _ := pem.Decode(content)
	switch {
	case len(content) > maxPEM || !slight(content):
		return wrong("is too large")
	case block == nil && password == nil: // the SDK would take it for PKCS#12
		return wrong("is not PEM; convert PKCS#12 with openssl pkcs12 -in FILE -nodes")
	case block != nil:
		password = nil // the SDK takes what has a password for PKCS#12
	}
	chain, anyKey, err := azidentity.ParseCertificates(content, password)
	if err != nil {
		return wrong("cannot be read")
	}
	key, ok := anyKey.(*rsa.PrivateKey)
	if !ok {
		return wrong("has a key that is not RSA, which Microsoft's library does not support")
	}
	index, ok := matching(chain, key)
	switch {
	case !ok:
		return wrong("is not that of the key")
	case len(chain) > maxChain:
		return wrong("has too many others with it")
	}
	chain[0], chain[index] = chain[index], chain[0]
	joined := append(x509.MarshalPKCS1PrivateKey(key), chain[0].Raw...)
	in.proof, in.pair = placement.Certificate, &pair{chain: chain, key: key, sum: sha256.Sum256(joined)}
	return nil
}

// slight reports whether no key in PEM form is too large.
func slight(content []byte) bool {
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return true
		}
		if block.Type != "CERTIFICATE" && len(block.Bytes) > maxKey {
			return false
		}
	}
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
