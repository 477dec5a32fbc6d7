package guest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// serving is the certificate of the kubelet's port: its own, or with serverTLSBootstrap one that somebody has to approve. Until
// then each handshake fails (kubernetes v1.36.3, pkg/kubelet/certificate/kubelet.go).
func (n *node) serving(ctx context.Context, k *pods.Kubelet) func() (*tls.Certificate, error) {
	if !n.config.ServerTLSBootstrap {
		return pods.SelfSigned(n.name, k.HostIP)
	}
	wanted := nodes.Certificate{
		Signer: certificatesv1.KubeletServingSignerName, Usage: certificatesv1.UsageServerAuth,
		Names: []string{n.name}, IPs: []net.IP{net.ParseIP(k.HostIP)},
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

func (n *node) requestPair(ctx context.Context, client kubernetes.Interface, wanted nodes.Certificate) (tls.Certificate, error) {
	certificate, key, err := wanted.Request(ctx, client, n.name)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}
