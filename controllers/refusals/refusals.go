// Package refusals decides which objects the controllers refuse for good, as far as the objects alone show it. The plugin of
// clusterctl calls it before there is a cluster, so it is pure. An empty text refuses nothing.
package refusals

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// OwnerOfConfig returns why an object that owns a WindowsBootstrapConfig cannot.
func OwnerOfConfig(owners []metav1.OwnerReference) string {
	for _, ref := range owners {
		if ref.Kind == "MachinePool" {
			return fmt.Sprintf("MachinePool %s cannot use a WindowsBootstrapConfig; use a MachineDeployment", ref.Name)
		}
	}
	return ""
}

// MachineOfConfig returns why a Machine cannot have a WindowsBootstrapConfig.
func MachineOfConfig(machine *clusterv1.Machine) string {
	_, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	switch {
	case isControlPlane:
		return fmt.Sprintf("Machine %s is a control-plane machine; control planes run on Linux: remove %s from its metadata.labels",
			machine.Name, clusterv1.MachineControlPlaneLabel)
	case !OnWindows(machine):
		return fmt.Sprintf("the infrastructure of Machine %s is a %s; a WindowsBootstrapConfig needs a WindowsMachine",
			machine.Name, machine.Spec.InfrastructureRef.Kind)
	}
	return ""
}

// OnWindows reports whether the infrastructure of a Machine is a WindowsMachine.
func OnWindows(machine *clusterv1.Machine) bool {
	ref := machine.Spec.InfrastructureRef
	return ref.APIGroup == infrav1.GroupVersion.Group && ref.Kind == "WindowsMachine"
}

// FailureDomain returns why a Machine cannot have the failure domain that it wants: only a VM whose cloud has written its place
// into the status goes into one.
func FailureDomain(machine *clusterv1.Machine, isPlaced bool) string {
	if machine.Spec.FailureDomain == "" || isPlaced {
		return ""
	}
	return fmt.Sprintf("Machine %s has failure domain %q, but VMs of this cloud are not placed by failure domain; "+
		"remove spec.failureDomain", machine.Name, machine.Spec.FailureDomain)
}
