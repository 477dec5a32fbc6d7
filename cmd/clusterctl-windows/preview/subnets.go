package preview

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// noteSubnets notes subnets that the cluster's AzureCluster does not have. They may exist all the same, made in its virtual
// network by other means.
func (m *Machine) noteSubnets(o *objects.Set) error {
	object, found := o.Referred(m.cluster.Spec.InfrastructureRef, m.cluster.Namespace)
	if m.Windows.Spec.Azure == nil || !found || object.Kind != "AzureCluster" {
		return nil
	}
	subnets, err := objects.Field[[]struct {
		Name string `json:"name"`
	}](object, "spec", "networkSpec", "subnets")
	if err != nil {
		return err
	}
	var names []string
	for _, subnet := range subnets {
		names = append(names, subnet.Name)
	}
	for i, adapter := range m.Windows.Spec.Azure.NetworkInterfaces {
		name := adapter.Subnet.Name
		if name == "" || len(names) == 0 || slices.Contains(names, name) {
			continue
		}
		m.note("spec.azure.networkInterfaces[%d].subnet.name is %q, but %s has the subnets %s; write one of them, "+
			"unless it is made elsewhere in the same virtual network", i, name, object, strings.Join(names, ", "))
	}
	return nil
}
