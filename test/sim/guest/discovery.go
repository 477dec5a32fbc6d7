package guest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	tokenapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
)

// discover finds the cluster and its CA: by the signature that only a holder of the token can make, and by the pinned keys. The
// answer is a kubeconfig for the TLS bootstrap.
func (j *joining) discover(ctx context.Context) (*clientcmdapi.Config, error) {
	if j.config.discoveryFile != "" {
		return j.discoverByFile(ctx)
	}
	first, err := j.clusterInfo(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := checkPins(j.config.caHashes); err != nil {
		return nil, err
	}
	text, err := j.verifyToken(first)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("couldn't parse the kubeconfig file in the %s ConfigMap: %w", tokenapi.ConfigMapClusterInfo, err)
	}
	ca, err := authority(config)
	if err != nil {
		return nil, err
	}
	if len(j.config.caHashes) > 0 {
		if err := j.verifyAuthority(ctx, ca, first); err != nil {
			return nil, err
		}
	}
	return j.bootstrapConfig(config, ca), nil
}

var pinShape = regexp.MustCompile(`(?i)^sha256:[0-9a-f]{64}$`)

// checkPins refuses a pin that is not valid, also beside a valid one.
func checkPins(pins []string) error {
	for _, pin := range pins {
		if !pinShape.MatchString(pin) {
			return fmt.Errorf("invalid discovery token CA certificate hash: invalid hash %q, expected a 32 byte SHA-256 hash", pin)
		}
	}
	return nil
}

// discoverByFile trusts a kubeconfig that is on the disk, and wants its server to prove that it is of its CA. Credentials in
// such a file, with which a real kubeadm joins, are not played: we do not render them.
func (j *joining) discoverByFile(ctx context.Context) (*clientcmdapi.Config, error) {
	text, err := j.machine.ReadFile(j.onDrive(j.config.discoveryFile))
	if err != nil {
		return nil, fmt.Errorf("couldn't load the discovery file: %w", err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, err
	}
	if len(config.AuthInfos) > 0 {
		return nil, errors.New("the lab's kubeadm plays no credentials of a discovery file")
	}
	cluster := config.Clusters[""]
	if current := config.Contexts[config.CurrentContext]; cluster == nil && current != nil {
		cluster = config.Clusters[current.Cluster]
	}
	if cluster == nil {
		return nil, fmt.Errorf("the provided kubeconfig file is malformed: the current context is invalid: %s", config.CurrentContext)
	}
	if _, err := cert.ParseCertsPEM(cluster.CertificateAuthorityData); err != nil {
		return nil, fmt.Errorf("could not get CA certificate from discovery kubeconfig: %w", err)
	}
	j.config.endpoint = strings.TrimPrefix(cluster.Server, "https://")
	if _, err := j.clusterInfo(ctx, cluster.CertificateAuthorityData); err != nil && !apierrors.IsForbidden(err) {
		//nolint:staticcheck // because kubeadm says it so
		return nil, fmt.Errorf("Abort reading the %s ConfigMap after timeout of %v: %w",
			tokenapi.ConfigMapClusterInfo, j.config.discovery, err)
	}
	if j.config.bootstrapToken == "" {
		return nil, errors.New("could not find authentication credentials for the TLS bootstrap process")
	}
	return j.bootstrapConfig(config, cluster.CertificateAuthorityData), nil
}

// onDrive is a path without a drive as Windows takes it: on that of the folder in which the program runs.
func (j *joining) onDrive(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return cmp.Or(j.call.Dir, `C:\`)[:2] + path
}

// clusterInfo asks without credentials, for as long as the discovery may take; with a CA it wants the server to prove itself.
func (j *joining) clusterInfo(ctx context.Context, ca []byte) (*corev1.ConfigMap, error) {
	config := &rest.Config{
		Host: "https://" + j.config.endpoint, TLSClientConfig: rest.TLSClientConfig{Insecure: ca == nil, CAData: ca},
	}
	client, err := connect(j.machine, config, j.faults.dialer("kubeadm.exe"))
	if err != nil {
		return nil, err
	}
	var last error
	for end := j.machine.Clock.Now().Add(j.config.discovery); ; {
		found, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, tokenapi.ConfigMapClusterInfo, metav1.GetOptions{})
		switch {
		case err != nil:
			last = fmt.Errorf("failed to request the cluster-info ConfigMap: %w", err)
		case j.config.discoveryFile == "" && found.Data[tokenapi.JWSSignatureKeyPrefix+j.config.tokenID] == "":
			last = fmt.Errorf("could not find a JWS signature in the cluster-info ConfigMap for token ID %q", j.config.tokenID)
		default:
			return found, nil
		}
		// A server that refuses to show it has answered, and a file needs no more.
		forbidden := j.config.discoveryFile != "" && apierrors.IsForbidden(last)
		if forbidden || !j.machine.Clock.Now().Before(end) || j.machine.Clock.Sleep(ctx, 5*time.Second) != nil {
			return nil, last
		}
		j.call.Fail("[discovery] Retrying due to error: %v", last)
	}
}

func (j *joining) verifyToken(info *corev1.ConfigMap) (string, error) {
	text := info.Data[tokenapi.KubeConfigKey]
	if text == "" {
		return "", fmt.Errorf("there is no %s key in the %s ConfigMap. This API Server isn't set up for token "+
			"bootstrapping, can't connect",
			tokenapi.KubeConfigKey, tokenapi.ConfigMapClusterInfo)
	}
	signature := info.Data[tokenapi.JWSSignatureKeyPrefix+j.config.tokenID]
	if !jws.DetachedTokenIsValid(signature, text, j.config.tokenID, j.config.tokenSecret) {
		return "", errors.New("failed to verify JWS signature of received cluster info object, can't trust this API Server")
	}
	return text, nil
}

// verifyAuthority looks at the key first, then asks once more a server that proves to be of this CA.
func (j *joining) verifyAuthority(ctx context.Context, ca []byte, first *corev1.ConfigMap) error {
	certificates, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return fmt.Errorf("failed to parse cluster CA from the %s ConfigMap: %w", tokenapi.ConfigMapClusterInfo, err)
	}
	var hashes []string
	pinned := false
	for _, one := range certificates {
		hash := publicKeyHash(one)
		hashes = append(hashes, hash)
		pinned = pinned || slices.ContainsFunc(j.config.caHashes, func(pin string) bool { return strings.EqualFold(pin, hash) })
	}
	if !pinned {
		return fmt.Errorf("cluster CA found in %s ConfigMap is invalid: none of the public keys %q are pinned",
			tokenapi.ConfigMapClusterInfo, strings.Join(hashes, ":"))
	}
	second, err := j.clusterInfo(ctx, ca)
	if err != nil {
		return err
	}
	if second.Data[tokenapi.KubeConfigKey] != first.Data[tokenapi.KubeConfigKey] {
		return fmt.Errorf("the second kubeconfig from the %s ConfigMap (using validated TLS) was different from the first",
			tokenapi.ConfigMapClusterInfo)
	}
	return nil
}

// publicKeyHash is how kubeadm pins a CA.
func publicKeyHash(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func authority(config *clientcmdapi.Config) ([]byte, error) {
	for _, cluster := range config.Clusters {
		if len(bytes.TrimSpace(cluster.CertificateAuthorityData)) > 0 {
			return cluster.CertificateAuthorityData, nil
		}
	}
	return nil, fmt.Errorf("malformed kubeconfig in the %s ConfigMap: no cluster with a CA", tokenapi.ConfigMapClusterInfo)
}

// bootstrapConfig is the discovered cluster with the token as identity.
func (j *joining) bootstrapConfig(found *clientcmdapi.Config, ca []byte) *clientcmdapi.Config {
	server := ""
	for _, cluster := range found.Clusters {
		server = cluster.Server
	}
	return kubeconfig(server, ca, &clientcmdapi.AuthInfo{Token: j.config.bootstrapToken}, "tls-bootstrap-token-user")
}

func kubeconfig(server string, ca []byte, user *clientcmdapi.AuthInfo, name string) *clientcmdapi.Config {
	const cluster = "kubernetes"
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name + "@" + cluster: {Cluster: cluster, AuthInfo: name}},
		CurrentContext: name + "@" + cluster,
	}
}
