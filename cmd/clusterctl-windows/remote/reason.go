package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

// Reason is what a user needs of an error: the API server's message, or why it was not asked and what to do.
func (s *Server) Reason(err error) error {
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		err = unreachable.Err
	}
	look := "; look at the address in " + s.named
	_, foreign := errors.AsType[*apiserver.Error](err)
	_, network := errors.AsType[net.Error](err)
	_, silent := errors.AsType[*silentError](err)
	switch trust := s.distrust(err); {
	case trust != nil:
		return trust
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it has not answered within %s%s", silence, look)
	case foreign, network, silent:
		return fmt.Errorf("%w%s", err, look)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("it does not accept the login of %s (%w); renew it: clusterctl get kubeconfig writes that of a workload "+
			"cluster", s.named, err)
	}
	return err
}

// distrust explains why a server is not the one of the kubeconfig; nil for every other error.
func (s *Server) distrust(err error) error {
	unverified, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok {
		if _, garbled := errors.AsType[tls.RecordHeaderError](err); garbled || errors.Is(err, http.ErrSchemeMismatch) {
			return fmt.Errorf("it does not use TLS; look at the address in %s: its port may be that of something else", s.named)
		}
		return nil
	}
	help := "get the cluster's kubeconfig again, with clusterctl get kubeconfig; if that does not help, something else answers at " +
		"this address, and must not get your login"
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		help = "write an address that the certificate has into the kubeconfig, or the name that it has into its tls-server-name"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		help = "the API server's certificate must be renewed, or the clock of this computer is wrong"
	}
	return fmt.Errorf("its certificate is not trusted by %s (%w); %s", s.named, unverified.Err, help)
}
