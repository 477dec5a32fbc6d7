package nodes

import (
	"context"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"net"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
)

// Certificate is what a kubelet requests from the cluster.
type Certificate struct {
	Signer string
	Usage  certificatesv1.KeyUsage
	Names  []string
	IPs    []net.IP
}

// ClientCertificate is a kubelet's identity.
var ClientCertificate = Certificate{
	Signer: certificatesv1.KubeAPIServerClientKubeletSignerName, Usage: certificatesv1.UsageClientAuth,
}

// Request requests it for the kubelet of a Node, and waits until the cluster has approved and signed it. The name of the request
// is a digest, as in requestNodeCertificate of pkg/kubelet/certificate/bootstrap/bootstrap.go.
func (c Certificate) Request(ctx context.Context, client kubernetes.Interface, node string) (certificate, key []byte, err error) {
	if key, err = keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		return nil, nil, err
	}
	private, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		return nil, nil, err
	}
	subject := &pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
	request, err := cert.MakeCSR(private, subject, c.Names, c.IPs)
	if err != nil {
		return nil, nil, err
	}
	usages, sum := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, c.Usage}, sha256.Sum256(request)
	name, uid, err := csr.RequestCertificateWithContext(
		ctx, client, request, "node-csr-"+hex.EncodeToString(sum[:16]), c.Signer, nil, usages, private)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot create certificate signing request: %w", err)
	}
	certificate, err = csr.WaitForCertificate(ctx, client, name, uid)
	return certificate, key, err
}
