package workload

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// aPair is a client's certificate and its key, in PEM.
func aPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	signer := expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der := expect.Got(x509.CreateCertificate(rand.Reader, about, about, signer.Public(), signer))(t)
	private := expect.Got(x509.MarshalPKCS8PrivateKey(signer))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// TestRefusedFields: each field that reads a file, runs a program, acts for another or trusts anybody is refused by its name, and
// what logs in is there once and whole.
func TestRefusedFields(t *testing.T) {
	certificate, key := aPair(t)
	type (
		config  = clientcmdapi.Config
		cluster = clientcmdapi.Cluster
		user    = clientcmdapi.AuthInfo
	)
	of := func(change func(*cluster, *user)) func(*config) {
		return func(c *config) { change(c.Clusters["c"], c.AuthInfos["u"]) }
	}
	for says, change := range map[string]func(*config){
		"": func(*config) {},
		"current-context is not one of its contexts":  func(c *config) { c.CurrentContext = "o" },
		"context.cluster is not one of its clusters":  func(c *config) { c.Contexts["c"].Cluster = "o" },
		"context.user is not one of its users":        func(c *config) { c.Contexts["c"].AuthInfo = "o" },
		"cluster.server is not an https URL":          of(func(c *cluster, _ *user) { c.Server = "http://a" }),
		"cluster.insecure-skip-tls-verify would":      of(func(c *cluster, _ *user) { c.InsecureSkipTLSVerify = true }),
		"cluster.certificate-authority names":         of(func(c *cluster, _ *user) { c.CertificateAuthority = "/x" }),
		"cluster.proxy-url names a proxy":             of(func(c *cluster, _ *user) { c.ProxyURL = "http://p" }),
		"cluster.certificate-authority-data is empty": of(func(c *cluster, _ *user) { c.CertificateAuthorityData = nil }),
		"cluster.certificate-authority-data has no":   of(func(c *cluster, _ *user) { c.CertificateAuthorityData = []byte("x") }),
		"user.tokenFile names a file":                 of(func(_ *cluster, u *user) { u.TokenFile = "/x" }),
		"user.client-certificate names a file":        of(func(_ *cluster, u *user) { u.ClientCertificate = "/x" }),
		"user.client-key names a file":                of(func(_ *cluster, u *user) { u.ClientKey = "/x" }),
		"user.exec would make the manager run": of(func(_ *cluster, u *user) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "x", APIVersion: "client.authentication.k8s.io/v1"}
		}),
		"user.auth-provider would make the":   of(func(_ *cluster, u *user) { u.AuthProvider = &clientcmdapi.AuthProviderConfig{} }),
		"user.username is for passwords":      of(func(_ *cluster, u *user) { u.Username = "x" }),
		"user.password is for passwords":      of(func(_ *cluster, u *user) { u.Password = "x" }),
		"user.as impersonates another":        of(func(_ *cluster, u *user) { u.Impersonate = "x" }),
		"user.as-uid impersonates another":    of(func(_ *cluster, u *user) { u.ImpersonateUID = "x" }),
		"user.as-groups impersonates another": of(func(_ *cluster, u *user) { u.ImpersonateGroups = []string{"x"} }),
		"user.as-user-extra impersonates another": of(func(_ *cluster, u *user) {
			u.ImpersonateUserExtra = map[string][]string{"x": {"y"}}
		}),
		"user.client-certificate-data and user.client-key-data need": of(func(_ *cluster, u *user) {
			u.ClientCertificateData = certificate
		}),
		"user.client-certificate-data and its key cannot be read": of(func(_ *cluster, u *user) {
			u.ClientCertificateData, u.ClientKeyData = certificate, make([]byte, maxPrivateKey)
		}),
		"user.client-key-data is too long; write a key of at most 8 KiB": of(func(_ *cluster, u *user) {
			u.ClientCertificateData, u.ClientKeyData = certificate, make([]byte, maxPrivateKey+1)
		}),
		"user.token is empty":    of(func(_ *cluster, u *user) { u.Token = "" }),
		"user.token has a space": of(func(_ *cluster, u *user) { u.Token = "a b" }),
	} {
		c := expect.Got(clientcmd.Load([]byte(text("https://a", aCA(t)))))(t)
		change(c)
		_, err := vet(expect.Got(clientcmd.Write(*c))(t), "any")
		expect.Says(t, "refusal", err, says)
	}
	c := expect.Got(clientcmd.Load([]byte(text("https://a", aCA(t)))))(t)
	c.AuthInfos["u"].Token, c.AuthInfos["u"].ClientCertificateData, c.AuthInfos["u"].ClientKeyData = "", certificate, key
	got, err := vet(expect.Got(clientcmd.Write(*c))(t), "any")
	expect.OK(t, err)
	expect.Same(t, "certificates", 1, len(got.tls.Certificates))
	for text, says := range map[string]string{"": "is empty", "a: *b": "has the character *", "{": "is not a kubeconfig in YAML"} {
		_, err := vet([]byte(text), "any")
		expect.Says(t, "text "+text, err, says)
	}
}
