package workload

import (
	"errors"

	"k8s.io/client-go/rest"
)

// Config is the way to the API server of a kubeconfig that a Secret has. It has nothing but what the manager itself would use: no
// file of this computer, and no program. An error is a *RefusedError that names the Secret.
func Config(kubeconfig []byte, secret string) (*rest.Config, error) {
	if _, err := vet(kubeconfig); err != nil {
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			refused.secret = secret
		}
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
