package guest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"

	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// wantedCertificate is what a kubelet asks the cluster for.
type wantedCertificate struct {
	signer string
	usage  certificatesv1.KeyUsage
	names  []string
	ips    []net.IP
}

// clientCertificate is its identity.
var clientCertificate = wantedCertificate{
	signer: certificatesv1.KubeAPIServerClientKubeletSignerName, usage: certificatesv1.UsageClientAuth,
}

// requestCertificate asks for a certificate, and waits until the cluster has approved and signed it.
func (n *node) requestCertificate(
	ctx context.Context, client kubernetes.Interface, wanted wantedCertificate,
) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	if err != nil {
		return nil, nil, err
	}
	subject := pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + n.name}
	request, err := cert.MakeCSR(private, &subject, wanted.names, wanted.ips)
	if err != nil {
		return nil, nil, err
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, wanted.usage}
	sum := sha256.Sum256(request)
	name, uid, err := csr.RequestCertificateWithContext(ctx, client, request, "node-csr-"+hex.EncodeToString(sum[:16]),
		wanted.signer, nil, usages, private)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot create certificate signing request: %w", err)
	}
	certificate, err = csr.WaitForCertificate(ctx, client, name, uid)
	return certificate, key, err
}

// serving is the certificate of the kubelet's port: its own, or with serverTLSBootstrap one that somebody has to approve. Until
// then each handshake fails (kubernetes v1.36.3, pkg/kubelet/certificate/kubelet.go).
func (n *node) serving(ctx context.Context, k *pods.Kubelet) func() (*tls.Certificate, error) {
	if !n.config.ServerTLSBootstrap {
		return pods.SelfSigned(n.name, k.HostIP)
	}
	wanted := wantedCertificate{
		signer: certificatesv1.KubeletServingSignerName, usage: certificatesv1.UsageServerAuth,
		names: []string{n.name}, ips: []net.IP{net.ParseIP(k.HostIP)},
	}
	var mu sync.Mutex
	var signed *tls.Certificate
	go func() {
		pair, err := n.requestPair(ctx, k.Client, wanted)
		for err != nil && n.call.Machine.Clock.Sleep(ctx, 10*time.Second) == nil {
			pair, err = n.requestPair(ctx, k.Client, wanted)
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			signed = &pair
		}
	}()
	return func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if signed == nil {
			return nil, errors.New("no serving certificate available for the kubelet")
		}
		return signed, nil
	}
}

func (n *node) requestPair(ctx context.Context, client kubernetes.Interface, wanted wantedCertificate) (tls.Certificate, error) {
	certificate, key, err := n.requestCertificate(ctx, client, wanted)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}
