package check

import (
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/conflicts"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
)

// MissingSecret is the Secret with the login that the machine's spec refers to, if the files do not have it. Only a Secret may
// come from elsewhere: it names the server that may see it, so that no server named in a file gets a proof that the file does not
// have. It reports no other fault of the files, because Gather reports those.
func MissingSecret(o *objects.Set, name string) (key types.NamespacedName, missing bool) {
	name, err := preview.MachineName(o, name)
	if err != nil {
		return key, false
	}
	m, err := preview.Find(o, name)
	if err != nil {
		return key, false
	}
	ref := m.Windows.Spec.IdentityRef
	if ref.Name == "" || ref.Kind == infrav1.IdentityAzureCluster {
		return key, false
	}
	key = types.NamespacedName{Namespace: m.Owner.Namespace, Name: ref.Name}
	_, found, err := conflicts.Login(o, key)
	return key, !found && err == nil
}
