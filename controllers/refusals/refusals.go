// Package refusals decides which objects the controllers refuse for good, as far as the objects alone show it. The plugin of
// clusterctl calls it before there is a cluster, so it is pure. An empty text refuses nothing.
package refusals

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
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

const (
	// mostBehind is how many minors a kubelet may be older than its API server.
	mostBehind = 3
	// newForm is the first minor whose control plane keeps kubeadm's configuration in a form that older kubeadms cannot read.
	newForm = 31
)

// Skew compares a Machine with its control plane by Kubernetes' own rules: Cluster API holds back only MachineSets that use
// kubeadm's bootstrap provider. A Machine that is newer waits, and one that is too old is refused. A vendor's suffix, as in
// v1.36.3_vmware.1, does not count. What is no version is not compared: Render reports what is wrong with it.
func Skew(machine *clusterv1.Machine, controlPlane string) (wait, refused string) {
	wanted, wrong := version.ParseGeneric(machine.Spec.Version)
	actual, alsoWrong := version.ParseGeneric(controlPlane)
	if wrong != nil || alsoWrong != nil {
		return "", ""
	}
	skew := int(actual.Minor()) - int(wanted.Minor())
	switch {
	case skew < 0:
		return fmt.Sprintf("the Machine needs %s, but a Node of its control plane has %s, and a kubelet must not be newer; "+
			"upgrade the control plane first", machine.Spec.Version, controlPlane), ""
	case skew > mostBehind:
		return "", fmt.Sprintf("Machine spec.version: %s is more than %d minor versions older than the control plane's %s; "+
			"use a version from v1.%d to v1.%d", machine.Spec.Version, mostBehind, controlPlane, actual.Minor()-mostBehind, actual.Minor())
	case wanted.Minor() < newForm && actual.Minor() >= newForm:
		return "", fmt.Sprintf("Machine spec.version: the kubeadm of %s cannot read the configuration of a control plane of v1.%d or "+
			"later; use a version from v1.%d to v1.%d", machine.Spec.Version, newForm, newForm, actual.Minor())
	}
	return "", ""
}
