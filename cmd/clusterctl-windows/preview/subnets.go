package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// noteSubnets tells of subnets that the cluster's AzureCluster does not have. They may be there all the same: somebody else may
// have made them in its virtual network.
func (m *Machine) noteSubnets(o *objects.Set) error {
	if m.Windows.Spec.Azure == nil {
		return nil
	}
	key := types.NamespacedName{Namespace: m.cluster.Namespace, Name: m.cluster.Spec.InfrastructureRef.Name}
	for _, one := range o.All {
		if one.Kind != "AzureCluster" || one.Key != key {
			continue
		}
		subnets, err := objects.Field[[]struct {
			Name string `json:"name"`
		}](one, "spec", "networkSpec", "subnets")
		if err != nil {
			return err
		}
		var names []string
		if subnets != nil {
			for _, subnet := range *subnets {
				names = append(names, subnet.Name)
			}
		}
		m.compareSubnets(one, names)
	}
	return nil
}

func (m *Machine) compareSubnets(of objects.Object, names []string) {
	for i, adapter := range m.Windows.Spec.Azure.NetworkInterfaces {
		name := adapter.Subnet.Name
		if name == "" || len(names) == 0 || slices.Contains(names, name) {
			continue
		}
		m.note("spec.azure.networkInterfaces[%d].subnet.name is %q, but %s has the subnets %s; write one of them, "+
			"unless somebody else makes it in the same virtual network", i, name, of, strings.Join(names, ", "))
	}
}
