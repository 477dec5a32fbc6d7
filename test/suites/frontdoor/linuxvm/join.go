package linuxvm

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// patience is how long kubeadm and a kubelet wait for a cluster (kubeadm v1.36.3: discovery and tlsBootstrap, 5 minutes each).
const patience = 5 * time.Minute

// join is kubeadm join: it finds the cluster by a token and the hash of its authority, reads what kubeadm reads, and gets a
// certificate for the kubelet. Its preflight checks ask for a Linux of its own, so that the program cannot do it here.
func (vm *VM) join(ctx context.Context) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := vm.disk.read(joinFile)
	if err != nil {
		return nil, err
	}
	registration, controlPlane, err := registrationOf(text, "JoinConfiguration")
	if err != nil {
		return nil, err
	}
	found, token, err := discover(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("kubeadm join: %w", err)
	}
	byToken := &rest.Config{Host: found.Server, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{
		CAData: found.CertificateAuthorityData,
	}}
	n := &node{vm: vm, name: registration.name(vm.Name), registration: registration, controlPlane: controlPlane}
	api, err := kubernetes.NewForConfig(byToken)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"kubeadm-config", "kubelet-config", "kube-proxy"} {
		if _, err := api.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("kubeadm join: %w", err)
		}
	}
	if n.kubeconfig, err = vm.bootstrapKubelet(ctx, api, n.name, found); err != nil {
		return nil, fmt.Errorf("kubeadm join: %w", err)
	}
	if controlPlane {
		if err := vm.joinEtcd(ctx, n.name); err != nil {
			return nil, fmt.Errorf("kubeadm join: %w", err)
		}
	}
	return n, n.register(ctx)
}

// discover asks the endpoint for ConfigMap cluster-info until it answers with an authority of one of the hashes.
func discover(ctx context.Context, config []byte) (*clientcmdapi.Cluster, string, error) {
	var join struct {
		Discovery struct {
			Token struct {
				Endpoint string   `json:"apiServerEndpoint"`
				Token    string   `json:"token"`
				Hashes   []string `json:"caCertHashes"`
			} `json:"bootstrapToken"`
		} `json:"discovery"`
	}
	if err := yaml.Unmarshal(config, &join); err != nil {
		return nil, "", fmt.Errorf("read the configuration: %w", err)
	}
	by := join.Discovery.Token
	anonymous := &rest.Config{Host: "https://" + by.Endpoint, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	api, err := kubernetes.NewForConfig(anonymous)
	if err != nil {
		return nil, "", err
	}
	for {
		info, err := api.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, "cluster-info", metav1.GetOptions{})
		if err == nil {
			found, err := clusterOf([]byte(info.Data["kubeconfig"]))
			if err == nil && !slices.Contains(by.Hashes, hashOf(found.CertificateAuthorityData)) {
				err = errors.New("cluster CA found in cluster-info ConfigMap is invalid: none of the public keys is pinned")
			}
			return found, by.Token, err
		}
		select {
		case <-ctx.Done():
			return nil, "", fmt.Errorf("couldn't validate the identity of the API Server: %w", err)
		case <-time.After(time.Second):
		}
	}
}

func clusterOf(kubeconfig []byte) (*clientcmdapi.Cluster, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read cluster-info: %w", err)
	}
	for _, cluster := range config.Clusters {
		return cluster, nil
	}
	return nil, errors.New("cluster-info has no cluster")
}

func hashOf(authority []byte) string {
	block, _ := pem.Decode(authority)
	if block == nil {
		return ""
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// bootstrapKubelet is the kubelet's TLS bootstrap: the real controllers approve and sign its request.
func (vm *VM) bootstrapKubelet(
	ctx context.Context, api kubernetes.Interface, name string, of *clientcmdapi.Cluster,
) (string, error) {
	signed, key, err := nodes.ClientCertificate.Request(ctx, api, name)
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["default-cluster"] = of
	config.AuthInfos["default-auth"] = &clientcmdapi.AuthInfo{ClientCertificateData: signed, ClientKeyData: key}
	config.Contexts["default"] = &clientcmdapi.Context{Cluster: "default-cluster", AuthInfo: "default-auth"}
	config.CurrentContext = "default"
	file := vm.disk.path("/etc/kubernetes/kubelet.conf")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, clientcmd.WriteToFile(*config, file)
}
