package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/topology"
)

// Config is the spec of the machine's WindowsBootstrapConfig.
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

// MachineName is the name that was given or, if none was, that of the only machine: a Machine, or one that the only
// MachineDeployment would make.
func MachineName(o *objects.Set, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	deployments, err := Deployments(o)
	if err != nil {
		return "", err
	}
	machines, err := windowsMachines(o)
	if err != nil {
		return "", err
	}
	switch {
	case len(machines) == 1 && madeBy(deployments, machines[0].Key.String()):
		return machines[0].Key.String(), nil
	case len(machines) == 0 && len(deployments) == 1:
		return deployments[0].Namespace + "/" + deployments[0].Name + "-1", nil
	case len(machines) == 0 && len(deployments) == 0:
		return onlyOther(o)
	}
	return "", fmt.Errorf("--machine NAME is missing, and the files have several machines: %s",
		strings.Join(present(machines, deployments), "; "))
}

// onlyOther is the name of the only machine if it is not a Windows machine; its kind is refused later.
func onlyOther(o *objects.Set) (string, error) {
	candidates := append(o.OfKind("Machine"), o.OfKind("MachineDeployment")...)
	if len(candidates) == 1 {
		return candidates[0].Key.String(), nil
	}
	return "", noPool(o)
}

// madeBy reports whether all of these MachineDeployments could have made the machine.
func madeBy(deployments []*clusterv1.MachineDeployment, name string) bool {
	return !slices.ContainsFunc(deployments, func(deployment *clusterv1.MachineDeployment) bool { return !makes(deployment, name) })
}

// endOfName is that of a machine which Cluster API makes, so that the name belongs to no other MachineDeployment.
const endOfName = "-aaaaa-aaaaa"

func poolNames(o *objects.Set) (names []string, err error) {
	deployments, err := Deployments(o)
	if err != nil {
		return nil, err
	}
	for _, deployment := range deployments {
		names = append(names, deployment.Namespace+"/"+deployment.Name+endOfName)
	}
	machines, err := windowsMachines(o)
	if err != nil {
		return nil, err
	}
	for _, object := range machines {
		names = append(names, object.Key.String())
	}
	if len(names) == 0 {
		return nil, noPool(o)
	}
	return names, nil
}

// windowsMachines are the Machines that are one.
func windowsMachines(o *objects.Set) (found []objects.Object, err error) {
	for _, object := range o.OfKind("Machine") {
		machine, err := objects.Decode[clusterv1.Machine](object)
		if err != nil {
			return nil, err
		}
		if machine.Spec.InfrastructureRef.Kind == "WindowsMachine" {
			found = append(found, object)
		}
	}
	return found, nil
}

// NoMachineError is that of files that do not have the machine, or none at all.
type NoMachineError struct{ error }

func noMachine(format string, args ...any) error { return &NoMachineError{fmt.Errorf(format, args...)} }

func noPool(o *objects.Set) error {
	return noMachine("%s has neither a Machine nor a MachineDeployment of Windows machines; write the MachineDeployment and "+
		"its two templates", o.Source)
}
