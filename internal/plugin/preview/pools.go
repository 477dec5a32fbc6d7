package preview

import (
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/topology"
)

// Config is what the machine's WindowsBootstrapConfig says.
func (m *Machine) Config() bootstrapv1.WindowsBootstrapConfigSpec { return m.config.Spec }

// Cluster is the machine's.
func (m *Machine) Cluster() *clusterv1.Cluster { return m.cluster }

// Endpoint is where the API server is; empty if the files do not say it.
func (m *Machine) Endpoint() clusterv1.APIEndpoint {
	if m.cluster.Spec.ControlPlaneEndpoint == bootstrap.PlaceholderEndpoint {
		return clusterv1.APIEndpoint{}
	}
	return m.cluster.Spec.ControlPlaneEndpoint
}

// Pools has one machine of each MachineDeployment of Windows machines, and each Machine that is one, as Gather has them. If a
// machine is named, it is that one alone.
func Pools(o *objects.Set, machine string) ([]*Machine, error) {
	if err := topology.Admit(o); err != nil {
		return nil, err
	}
	names := []string{machine}
	if machine == "" {
		var err error
		if names, err = poolNames(o); err != nil {
			return nil, err
		}
	}
	var pools []*Machine
	var refused []error
	for _, name := range names {
		pool, err := collect(o, name)
		if err != nil && len(names) > 1 {
			err = fmt.Errorf("%s: %w", name, err)
		}
		pools, refused = append(pools, pool), append(refused, err)
	}
	return pools, errors.Join(refused...)
}

// endOfName is that of a machine which Cluster API makes, so that the name belongs to no other MachineDeployment.
const endOfName = "-aaaaa-aaaaa"

func poolNames(o *objects.Set) (names []string, err error) {
	deployments, err := Deployments(o)
	if err != nil {
		return nil, err
	}
	for _, one := range deployments {
		names = append(names, one.Namespace+"/"+one.Name+endOfName)
	}
	for _, one := range o.OfKind("Machine") {
		machine, err := objects.Decode[clusterv1.Machine](one)
		if err != nil {
			return nil, err
		}
		if machine.Spec.InfrastructureRef.Kind == "WindowsMachine" {
			names = append(names, one.Key.String())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has neither a Machine nor a MachineDeployment of Windows machines; write the MachineDeployment and "+
			"its two templates", o.Source)
	}
	return names, nil
}
