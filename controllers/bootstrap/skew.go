package bootstrap

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
)

// skew stops for a Machine whose version does not go with that of its control plane.
func skew(machine *clusterv1.Machine, controlPlane string) error {
	wait, refused := refusals.Skew(machine, controlPlane)
	switch {
	case wait != "":
		return phase.Poll(bootstrapv1.WaitingForControlPlaneVersionReason, "%s", wait)
	case refused != "":
		return phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", refused)
	}
	return nil
}
