package workload

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

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
// other contexts, a context's namespace, and fields that this release does not know.
func vet(kubeconfig []byte) (a access, err error) {
	user, cluster, err := current(kubeconfig)
	if err != nil {
		return access{}, err
	}
	for _, r := range clusterRules {
		if r.breaks(cluster) {
			return access{}, refuse("cluster."+r.field, r.text)
		}
	}
	for _, r := range userRules {
		if r.breaks(user) {
			return access{}, refuse("user."+r.field, r.text)
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

// rule decides when a field is refused, and has what follows its name in the sentence.
type rule[T any] struct {
	field  string
	breaks func(T) bool
	text   string
}

var clusterRules = []rule[*clientcmdapi.Cluster]{
	{
		"server", func(c *clientcmdapi.Cluster) bool { return !goodServer(c.Server) },
		"is not an https URL without user, query and fragment; write the URL of the API server",
	},
	{
		"insecure-skip-tls-verify", func(c *clientcmdapi.Cluster) bool { return c.InsecureSkipTLSVerify },
		"would trust any server; remove it, and write the cluster's CA into cluster.certificate-authority-data",
	},
	{
		"certificate-authority", func(c *clientcmdapi.Cluster) bool { return c.CertificateAuthority != "" },
		"names a file of the manager; write the CA itself into cluster.certificate-authority-data",
	},
	{
		"proxy-url", func(c *clientcmdapi.Cluster) bool { return c.ProxyURL != "" },
		"names a proxy; remove it, because the manager uses no proxy but that of its own environment",
	},
	{
		"certificate-authority-data", func(c *clientcmdapi.Cluster) bool { return len(c.CertificateAuthorityData) == 0 },
		"is empty; write the cluster's CA in it",
	},
}

var userRules = []rule[*clientcmdapi.AuthInfo]{
	{
		"tokenFile", func(u *clientcmdapi.AuthInfo) bool { return u.TokenFile != "" },
		"names a file of the manager; write the token itself into user.token",
	},
	{
		"client-certificate", func(u *clientcmdapi.AuthInfo) bool { return u.ClientCertificate != "" },
		"names a file of the manager; write the certificate itself into user.client-certificate-data",
	},
	{
		"client-key", func(u *clientcmdapi.AuthInfo) bool { return u.ClientKey != "" },
		"names a file of the manager; write the key itself into user.client-key-data",
	},
	{
		"exec", func(u *clientcmdapi.AuthInfo) bool { return u.Exec != nil },
		"would make the manager run a program; write a client certificate or a token instead",
	},
	{
		"auth-provider", func(u *clientcmdapi.AuthInfo) bool { return u.AuthProvider != nil },
		"would make the manager run a program; write a client certificate or a token instead",
	},
	{
		"username", func(u *clientcmdapi.AuthInfo) bool { return u.Username != "" },
		"is for passwords, which no supported Kubernetes accepts; write a client certificate or a token instead",
	},
	{
		"password", func(u *clientcmdapi.AuthInfo) bool { return u.Password != "" },
		"is for passwords, which no supported Kubernetes accepts; write a client certificate or a token instead",
	},
	{
		"as", func(u *clientcmdapi.AuthInfo) bool { return u.Impersonate != "" },
		"impersonates another user; write the client certificate or the token of that user instead",
	},
	{
		"as-uid", func(u *clientcmdapi.AuthInfo) bool { return u.ImpersonateUID != "" },
		"impersonates another user; write the client certificate or the token of that user instead",
	},
	{
		"as-groups", func(u *clientcmdapi.AuthInfo) bool { return len(u.ImpersonateGroups) > 0 },
		"impersonates another user; write the client certificate or the token of that user instead",
	},
	{
		"as-user-extra", func(u *clientcmdapi.AuthInfo) bool { return len(u.ImpersonateUserExtra) > 0 },
		"impersonates another user; write the client certificate or the token of that user instead",
	},
	{"client-certificate-data", func(u *clientcmdapi.AuthInfo) bool {
		return (len(u.ClientCertificateData) == 0) != (len(u.ClientKeyData) == 0)
	}, "and user.client-key-data need each other; write both, or neither"},
	{
		"client-key-data", func(u *clientcmdapi.AuthInfo) bool { return len(u.ClientKeyData) > maxPrivateKey },
		fmt.Sprintf("is too long; write a key of at most %d KiB", maxPrivateKey>>10),
	},
	{
		"token", func(u *clientcmdapi.AuthInfo) bool { return u.Token == "" && len(u.ClientCertificateData) == 0 },
		"is empty, and so is user.client-certificate-data; write one of them",
	},
	{
		"token", func(u *clientcmdapi.AuthInfo) bool { return !printable(u.Token) },
		"has a space, a line break or a character that is not ASCII; write the token alone",
	},
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
