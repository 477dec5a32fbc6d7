package preview

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	"k8s.io/utils/ptr"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// placeholderToken looks like a token but is not valid in any cluster.
const placeholderToken = "sample.placeholdertoken"

// findToken prefers the token in the machine's bootstrap Secret, which the controller of WindowsBootstrapConfig wrote.
func (m *Machine) findToken(o *objects.Set) error {
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: ptr.Deref(m.Owner.Spec.Bootstrap.DataSecretName, m.config.Name)}
	var tokens, secrets []string
	for _, object := range o.OfKind("Secret") {
		secret, err := objects.Decode[corev1.Secret](object)
		if err != nil {
			return err
		}
		if token := Value(secret, "token"); object.Key == key && len(token) > 0 {
			m.token, m.stored, m.StoredIn = string(token), Value(secret, "value"), key
			return m.checkToken(object.String() + ", key token")
		}
		if secret.Type == bootstrapapi.SecretTypeBootstrapToken {
			id, secretPart := Value(secret, bootstrapapi.BootstrapTokenIDKey), Value(secret, bootstrapapi.BootstrapTokenSecretKey)
			tokens = append(tokens, string(id)+"."+string(secretPart))
			secrets = append(secrets, object.String())
		}
	}
	switch len(tokens) {
	case 0:
		m.token = placeholderToken
		m.standIn("the bootstrap token")
	case 1:
		m.token = tokens[0]
		return m.checkToken(secrets[0])
	default:
		return fmt.Errorf("%s has %d Secrets of type %s; keep only the machine's own",
			o.Source, len(tokens), bootstrapapi.SecretTypeBootstrapToken)
	}
	return nil
}

// checkToken names the Secret of a token that kubeadm would refuse, and does not show the token.
func (m *Machine) checkToken(in string) error {
	if len(m.stored) > 0 || bootstraputil.IsValidBootstrapToken(m.token) {
		return nil
	}
	return fmt.Errorf("%s: the bootstrap token is not of the form ID.SECRET, 6 and 16 characters of a-z and 0-9 without blanks "+
		"and line ends; correct it, or remove the Secret from the files to use a placeholder", in)
}
