package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// noteSubnets notes subnets that the cluster's AzureCluster does not have. They may exist all the same, made in its virtual
// network by other means.
func (m *Machine) noteSubnets(o *objects.Set) error {
	if m.Windows.Spec.Azure == nil {
		return nil
	}
	key := types.NamespacedName{Namespace: m.cluster.Namespace, Name: m.cluster.Spec.InfrastructureRef.Name}
	for _, object := range o.Items {
		if object.Kind != "AzureCluster" || object.Key != key {
			continue
		}
		subnets, err := objects.Field[[]struct {
			Name string `json:"name"`
		}](object, "spec", "networkSpec", "subnets")
		if err != nil {
			return err
		}
		var names []string
		if subnets != nil {
			for _, subnet := range *subnets {
				names = append(names, subnet.Name)
			}
		}
		m.compareSubnets(object, names)
	}
	return nil
}

func (m *Machine) compareSubnets(object objects.Object, names []string) {
	for i, adapter := range m.Windows.Spec.Azure.NetworkInterfaces {
		name := adapter.Subnet.Name
		if name == "" || len(names) == 0 || slices.Contains(names, name) {
			continue
		}
		m.note("spec.azure.networkInterfaces[%d].subnet.name is %q, but %s has the subnets %s; write one of them, "+
			"unless it is made elsewhere in the same virtual network", i, name, object, strings.Join(names, ", "))
	}
}
