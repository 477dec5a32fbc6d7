package bootstrap

import (
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

const (
	// mostBehind is how many minors a kubelet may be older than its API server.
	mostBehind = 3
	// newForm is the first minor whose control plane keeps kubeadm's configuration in a form that older kubeadms cannot read.
	newForm = 31
)

// skew compares a Machine with its control plane by Kubernetes' own rules: Cluster API holds back only MachineSets that use
// kubeadm's bootstrap provider. A vendor's suffix, as in v1.36.3_vmware.1, does not count.
func skew(machine *clusterv1.Machine, controlPlane string) error {
	wanted, err := version.ParseGeneric(machine.Spec.Version)
	if err != nil {
		return nil //nolint:nilerr // because Render says what is wrong with it
	}
	has := version.MustParseGeneric(controlPlane)
	behind := int(has.Minor()) - int(wanted.Minor())
	switch {
	case behind < 0:
		return phase.Poll(bootstrapv1.WaitingForControlPlaneVersionReason,
			"the Machine wants %s, but a Node of its control plane has %s, and a kubelet must not be newer; "+
				"upgrade the control plane first",
			machine.Spec.Version, controlPlane)
	case behind > mostBehind:
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"Machine spec.version: %s is more than %d minor versions older than the control plane's %s; use a version from v1.%d to v1.%d",
			machine.Spec.Version, mostBehind, controlPlane, has.Minor()-mostBehind, has.Minor())
	case wanted.Minor() < newForm && has.Minor() >= newForm:
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"Machine spec.version: the kubeadm of %s cannot read the configuration of a control plane of v1.%d or later; "+
				"use a version from v1.%d to v1.%d",
			machine.Spec.Version, newForm, newForm, has.Minor())
	}
	return nil
}
