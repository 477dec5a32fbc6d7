package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/utils/ptr"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// placeholderToken looks like a token but is not valid in any cluster.
const placeholderToken = "sample.placeholdertoken"

// findToken prefers the token in the machine's bootstrap Secret, which the controller of WindowsBootstrapConfig wrote.
func (m *machine) findToken(o *objects.Set) error {
	key := types.NamespacedName{Namespace: m.owner.Namespace, Name: ptr.Deref(m.owner.Spec.Bootstrap.DataSecretName, m.config.Name)}
	var tokens []string
	for _, one := range o.OfKind("Secret") {
		secret, err := objects.Decode[corev1.Secret](one)
		if err != nil {
			return err
		}
		if token := valueOf(secret, "token"); one.Key == key && len(token) > 0 {
			m.token, m.stored, m.storedIn = string(token), valueOf(secret, "value"), key
			return nil
		}
		if secret.Type == bootstrapapi.SecretTypeBootstrapToken {
			id, secretPart := valueOf(secret, bootstrapapi.BootstrapTokenIDKey), valueOf(secret, bootstrapapi.BootstrapTokenSecretKey)
			tokens = append(tokens, string(id)+"."+string(secretPart))
		}
	}
	switch len(tokens) {
	case 0:
		m.token = placeholderToken
		m.note("there is no bootstrap token; using the placeholder %s, with which no node can join", placeholderToken)
	case 1:
		m.token = tokens[0]
	default:
		return fmt.Errorf("%s has %d Secrets of type %s; keep only the machine's own",
			o.Source, len(tokens), bootstrapapi.SecretTypeBootstrapToken)
	}
	return nil
}
