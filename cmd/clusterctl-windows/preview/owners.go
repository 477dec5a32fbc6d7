package preview

import (
	"cmp"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
)

// refuseOwner refuses what the controllers do not accept as the owner of one of their objects.
func (m *Machine) refuseOwner(o *objects.Set) error {
	const windows, config = "WindowsMachine", "WindowsBootstrapConfig"
	if reason := refusals.OwnerOfConfig(m.config.OwnerReferences); reason != "" {
		return fmt.Errorf("%s %s/%s: %s", config, m.Owner.Namespace, m.config.Name, reason)
	}
	if reason := refusals.MachineOfConfig(m.Owner); reason != "" {
		return fmt.Errorf("%s %s/%s: %s", config, m.Owner.Namespace, m.config.Name, reason)
	}
	if err := refuseOther(o, infrav1.GroupVersion.WithKind(windows).GroupKind(), m.Windows); err != nil {
		return err
	}
	return refuseOther(o, bootstrapv1.GroupVersion.WithKind(config).GroupKind(), m.config)
}

// refuseVersion compares the machine's version with that of its control plane, as far as that is among the files.
func (m *Machine) refuseVersion(o *objects.Set) error {
	wanted := m.cluster.Spec.Topology.Version
	if object, found := o.Referred(m.cluster.Spec.ControlPlaneRef, m.cluster.Namespace); found {
		version, err := objects.Field[string](object, "spec", "version")
		if err != nil {
			return err
		}
		wanted = cmp.Or(version, wanted)
	}
	wait, refused := refusals.Skew(m.Owner, wanted)
	if refused != "" {
		return errors.New(refused)
	}
	if wait != "" {
		m.note("%s", wait)
	}
	return nil
}

// refuseOther refuses an object that calls a Machine its owner which uses another one.
func refuseOther(o *objects.Set, kind schema.GroupKind, object metav1.Object) error {
	for _, ref := range owner.MachinesOf(object) {
		for _, found := range o.OfKind("Machine") {
			if found.Key != (types.NamespacedName{Namespace: object.GetNamespace(), Name: ref.Name}) {
				continue
			}
			machine, err := objects.Decode[clusterv1.Machine](found)
			if err != nil {
				return err
			}
			if reason := owner.Refusal(machine, kind, object.GetName()); reason != "" {
				return fmt.Errorf("%s %s/%s: %s", kind.Kind, object.GetNamespace(), object.GetName(), reason)
			}
		}
	}
	return nil
}
