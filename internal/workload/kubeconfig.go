package workload

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What a kubeconfig may hold. What YAML makes of its marks takes hundreds of times as much memory as they have bytes; one with 50
// contexts has 2,000. The keys of a certificate cost time that grows with the cube of their size.
const (
	maxKubeconfig = 256 << 10
	maxMarks      = 8_000
	maxPrivateKey = 8 << 10
	maxKeyBits    = 8192
)

const unreadable = "is not a kubeconfig in YAML or JSON; write one"

// RefusedError means that a kubeconfig is not used; it names the field that is to blame, and what to write instead.
type RefusedError struct{ secret, field, text string }

// Error is a sentence for the person who wrote the kubeconfig.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kubeconfig in Secret %s is refused: %s %s", e.secret, e.field, e.text)
}

// refuse takes the field, and what follows its name in a sentence.
func refuse(field, text string) error { return &RefusedError{field: field, text: text} }

// access is what is taken from a kubeconfig: where the API server is, how it is recognized, and as whom we log in.
type access struct {
	server string
	tls    *tls.Config
	token  string
}

// String keeps keys and tokens out of logs.
func (access) String() string { return "[hidden]" }

// GoString keeps keys and tokens out of logs.
func (access) GoString() string { return "[hidden]" }

// MarshalLog keeps keys and tokens out of logs.
func (access) MarshalLog() any { return "[hidden]" }

// vet takes from a kubeconfig what its current context uses. What is not taken here has no effect: preferences, extensions,
// other contexts, a context's namespace, and fields that this release does not know. A refusal names the Secret.
func vet(kubeconfig []byte, secret string) (a access, err error) {
	defer func() {
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			refusal.secret = secret
		}
	}()
	user, cluster, err := current(kubeconfig)
	if err != nil {
		return access{}, err
	}
	for _, f := range faultsOf(cluster, user) {
		if f.found {
			return access{}, refuse(f.field, f.text)
		}
	}
	roots, err := readCertificates(cluster.CertificateAuthorityData)
	if err != nil {
		return access{}, err
	}
	a = access{server: cluster.Server, token: user.Token}
	a.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: cluster.TLSServerName, NextProtos: []string{"http/1.1"},
	}
	if len(user.ClientCertificateData) == 0 {
		return a, nil
	}
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		return access{}, refuse("user.client-certificate-data", "and its key cannot be read; write both in PEM")
	}
	a.tls.Certificates = []tls.Certificate{pair}
	return a, nil
}

// current reads the kubeconfig and returns what its current context names.
func current(kubeconfig []byte) (user *clientcmdapi.AuthInfo, cluster *clientcmdapi.Cluster, err error) {
	defer func() {
		if recover() != nil { // the text may be made to break its reader
			err = refuse(kubeconfigKey, unreadable)
		}
	}()
	switch {
	case len(kubeconfig) == 0:
		return nil, nil, refuse(kubeconfigKey, "is empty; write the kubeconfig under this key of the Secret")
	case len(kubeconfig) > maxKubeconfig:
		return nil, nil, refuse(kubeconfigKey, fmt.Sprintf("is too long; write a kubeconfig of at most %d KiB", maxKubeconfig>>10))
	case bytes.ContainsRune(kubeconfig, '*'):
		// A few aliases of YAML stand for any amount of text.
		return nil, nil, refuse(kubeconfigKey, "has the character *, which begins an alias in YAML; write the kubeconfig without it")
	case marks(kubeconfig) > maxMarks:
		return nil, nil, refuse(kubeconfigKey, "has too many entries; write only the context, the cluster and the user that are needed")
	}
	config, err := clientcmd.Load(kubeconfig)
	if err != nil { // its text may have parts of a token
		return nil, nil, refuse(kubeconfigKey, unreadable)
	}
	chosen := config.Contexts[config.CurrentContext]
	if chosen == nil {
		return nil, nil, refuse("current-context", "is not one of its contexts; write the name of one")
	}
	if cluster = config.Clusters[chosen.Cluster]; cluster == nil {
		return nil, nil, refuse("context.cluster", "is not one of its clusters; write the name of one")
	}
	if user = config.AuthInfos[chosen.AuthInfo]; user == nil {
		return nil, nil, refuse("context.user", "is not one of its users; write the name of one")
	}
	return user, cluster, nil
}

// marks counts what begins or ends an entry, in JSON and in YAML. Encoded certificates have none.
func marks(text []byte) (n int) {
	for _, b := range text {
		if strings.IndexByte("{[,:?-\n\r", b) >= 0 || b >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// fault is why a field is refused, if it is: what follows its name in the sentence.
type fault struct {
	found       bool
	field, text string
}

func faultsOf(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) []fault {
	const (
		aProgram     = "would make the manager run a program; write a client certificate or a token instead"
		aPassword    = "is for passwords, which no supported Kubernetes accepts; write a client certificate or a token instead"
		impersonates = "impersonates another user; write the client certificate or the token of that user instead"
		anyServer    = "would trust any server; remove it, and write the cluster's CA into cluster.certificate-authority-data"
		noServer     = "is not an https URL without user, query and fragment; write the URL of the API server"
		aProxy       = "names a proxy; remove it, because the manager uses no proxy but that of its own environment"
		aFile        = "names a file of the manager; write "
		halfPair     = "and user.client-key-data need each other; write both, or neither"
		noLogin      = "is empty, and so is user.client-certificate-data; write one of them"
		unprintable  = "has a space, a line break or a character that is not ASCII; write the token alone"
	)
	noCertificate, noKey := len(u.ClientCertificateData) == 0, len(u.ClientKeyData) == 0
	longKey := fmt.Sprintf("is too long; write a key of at most %d KiB", maxPrivateKey>>10)
	return []fault{
		{!goodServer(c.Server), "cluster.server", noServer},
		{c.InsecureSkipTLSVerify, "cluster.insecure-skip-tls-verify", anyServer},
		{
			c.CertificateAuthority != "", "cluster.certificate-authority",
			aFile + "the CA itself into cluster.certificate-authority-data",
		},
		{c.ProxyURL != "", "cluster.proxy-url", aProxy},
		{len(c.CertificateAuthorityData) == 0, "cluster.certificate-authority-data", "is empty; write the cluster's CA in it"},
		{u.TokenFile != "", "user.tokenFile", aFile + "the token itself into user.token"},
		{u.ClientCertificate != "", "user.client-certificate", aFile + "the certificate itself into user.client-certificate-data"},
		{u.ClientKey != "", "user.client-key", aFile + "the key itself into user.client-key-data"},
		{u.Exec != nil, "user.exec", aProgram},
		{u.AuthProvider != nil, "user.auth-provider", aProgram},
		{u.Username != "", "user.username", aPassword},
		{u.Password != "", "user.password", aPassword},
		{u.Impersonate != "", "user.as", impersonates},
		{u.ImpersonateUID != "", "user.as-uid", impersonates},
		{len(u.ImpersonateGroups) > 0, "user.as-groups", impersonates},
		{len(u.ImpersonateUserExtra) > 0, "user.as-user-extra", impersonates},
		{noCertificate != noKey, "user.client-certificate-data", halfPair},
		{len(u.ClientKeyData) > maxPrivateKey, "user.client-key-data", longKey},
		{u.Token == "" && noCertificate, "user.token", noLogin},
		{!printable(u.Token), "user.token", unprintable},
	}
}

func goodServer(text string) bool {
	server, err := url.Parse(text)
	return err == nil && server.Scheme == "https" && server.Hostname() != "" && server.User == nil &&
		server.RawQuery == "" && !server.ForceQuery && server.Fragment == ""
}

// printable reports whether a text can be the value of a header.
func printable(text string) bool {
	return !slices.ContainsFunc([]byte(text), func(b byte) bool { return b <= ' ' || b > '~' })
}

func readCertificates(data []byte) (*x509.CertPool, error) {
	const field = "cluster.certificate-authority-data"
	roots := x509.NewCertPool()
	for found := 0; ; found++ {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			if found == 0 {
				return nil, refuse(field, "has no certificate in PEM; write the cluster's CA in it")
			}
			return roots, nil
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, refuse(field, "has something that is not a certificate; write the cluster's CA in it, and nothing else")
		}
		if key, ok := certificate.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxKeyBits {
			return nil, refuse(field, fmt.Sprintf("has a certificate with a key of more than %d bits; use a smaller one", maxKeyBits))
		}
		roots.AddCert(certificate)
	}
}

// Config is the way to the API server of a kubeconfig that a Secret has. It has nothing but what the manager itself would use: no
// file of this computer, and no program. An error is a *RefusedError that names the Secret.
func Config(kubeconfig []byte, secret string) (*rest.Config, error) {
	if _, err := vet(kubeconfig, secret); err != nil {
		return nil, err
	}
	user, cluster, err := current(kubeconfig)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: cluster.Server, BearerToken: user.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}
