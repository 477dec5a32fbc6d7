package refusals

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

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
