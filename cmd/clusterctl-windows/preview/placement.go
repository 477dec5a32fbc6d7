package preview

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/controllers/inherit"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// place resolves where the VM goes, as the controller of WindowsMachine does, if the cloud leaves a part of that to the Cluster's
// infrastructure object. Placeholders stand in for what neither the spec nor that object has.
func (m *Machine) place(o *objects.Set) error {
	placer, ok := providerOf(m.Windows).(cloud.Placer)
	if !ok {
		return nil
	}
	if m.Windows.Status.Azure == nil {
		if err := m.resolve(o, placer); err != nil {
			return m.subject(o).Explain(err)
		}
	}
	return m.fillTenant(o)
}

func (m *Machine) resolve(o *objects.Set, placer cloud.Placer) error {
	ref := m.cluster.Spec.InfrastructureRef
	if !ref.IsDefined() && m.cluster.Spec.Topology.IsDefined() { // the topology sets it
		ref.APIGroup, ref.Kind, ref.Name = placer.Inherits().Group, placer.Inherits().Kind, m.cluster.Name
	} else if !inherit.Understood(placer, m.cluster) {
		return placer.Resolve(m.Windows, nil)
	}
	object, err := o.Unstructured(ref, m.cluster.Namespace)
	if err != nil {
		return err
	}
	found := object != nil
	if !found {
		object = &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(ref.Name)
		object.SetNamespace(m.cluster.Namespace)
	}
	return m.resolveBy(placer, object, ref, found)
}

// resolveBy resolves by an object of which all blanks are filled in, and notes those that the answer depends on.
func (m *Machine) resolveBy(
	placer cloud.Placer, object *unstructured.Unstructured, ref clusterv1.ContractVersionedObjectReference, found bool,
) error {
	m.notePause(object, ref)
	var open []blank
	for _, blank := range blanksOf(object.GetName()) {
		if blank.lacks(object.Object) {
			blank.set(object.Object, blank.value)
			open = append(open, blank)
		}
	}
	unplaced := m.Windows.DeepCopy()
	if err := placer.Resolve(m.Windows, object); err != nil {
		return err
	}
	name := fmt.Sprintf("%s %s/%s", ref.Kind, object.GetNamespace(), object.GetName())
	for _, blank := range open {
		changed := object.DeepCopy()
		blank.set(changed.Object, blank.substitute)
		elsewhere := unplaced.DeepCopy()
		if err := placer.Resolve(elsewhere, changed); err == nil && !m.sameGuest(m.Windows.Status.Azure, elsewhere.Status.Azure) {
			m.noteBlank(blank, name, found)
		}
	}
	return nil
}

// notePause: no machine is placed by an object that is paused, until it goes on.
func (m *Machine) notePause(object *unstructured.Unstructured, ref clusterv1.ContractVersionedObjectReference) {
	annotations := object.GetAnnotations()
	if _, paused := annotations[clusterv1.PausedAnnotation]; !paused {
		return
	}
	delete(annotations, clusterv1.PausedAnnotation)
	object.SetAnnotations(annotations)
	m.note("%s %s/%s has the annotation %s: no machine gets a VM until that is removed",
		ref.Kind, object.GetNamespace(), object.GetName(), clusterv1.PausedAnnotation)
}

// sameGuest reports whether a guest is the same at both places. Only a cloud config file has more than the identity and the
// place.
func (m *Machine) sameGuest(a, b *infrav1.AzurePlacement) bool {
	seen := func(place infrav1.AzurePlacement) infrav1.AzurePlacement {
		place.OutboundPoolID = ""
		if m.config.Spec.Node.CloudConfigFile == "" {
			place.SecurityGroupID, place.RouteTableID, place.LoadBalancerName = "", "", ""
		}
		return place
	}
	return equality.Semantic.DeepEqual(seen(*a), seen(*b))
}

func (m *Machine) noteBlank(b blank, object string, found bool) {
	switch {
	case !found:
		m.note("%s is not in the files; using the placeholder %s for the %s, which its %s sets; "+
			"for the exact plan, add it, or set the %s in spec.azure", object, b.value, b.name, b.field, b.name)
	case b.defaultedBy != "":
		m.note("%s has no %s; using %s for the %s, which %s sets there", object, b.field, b.value, b.name, b.defaultedBy)
	default:
		m.note("%s has no %s; using the placeholder %s for the %s; for the exact plan, set it there or in spec.azure",
			object, b.field, b.value, b.name)
	}
}

// fillTenant sets the tenant, if a file in the guest names it: that of the machine's identity.
func (m *Machine) fillTenant(o *objects.Set) error {
	if m.config.Spec.Node.CloudConfigFile == "" || m.Windows.Status.Azure.TenantID != "" {
		return nil
	}
	tenant, source, err := m.tenant(o)
	if err != nil {
		return err
	}
	if !isTenant(tenant) {
		tenant = noID
		m.standIn("the tenant's ID in the file of spec.node.cloudConfigFile, which " + source + " has")
	}
	m.Windows.Status.Azure.TenantID = tenant
	return nil
}

// tenant returns the tenant of the machine's identity, as far as it is in the files, and the name of the identity for messages.
func (m *Machine) tenant(o *objects.Set) (tenant, source string, err error) {
	ref, assigned := m.Windows.Spec.IdentityRef, m.Windows.Status.Azure.Identity
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: ref.Name}
	if ref.Name != "" && ref.Kind == infrav1.IdentitySecret {
		secret, err := objects.Load[corev1.Secret](o, "Secret", key)
		if _, missing := errors.AsType[*objects.MissingError](err); err != nil && !missing {
			return "", "", err
		}
		if secret != nil {
			tenant = strings.TrimSpace(string(Value(secret, "tenantID")))
		}
		return tenant, fmt.Sprintf("the key tenantID of Secret %s", key), nil
	}
	if ref.Name == "" {
		key = types.NamespacedName{Namespace: assigned.Namespace, Name: assigned.Name}
	}
	if key.Name == "" {
		return "", "the manager's own identity", nil
	}
	for _, object := range o.Items {
		if object.Kind == string(infrav1.IdentityAzureCluster) && object.Key == key {
			if tenant, err = objects.Field[string](object, "spec", "tenantID"); err != nil {
				return "", "", err
			}
		}
	}
	return tenant, fmt.Sprintf("spec.tenantID of %s %s", infrav1.IdentityAzureCluster, key), nil
}
