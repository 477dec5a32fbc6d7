package orphans

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// publish makes the event of an orphan, and its line of the log.
func (l *Lookout) publish(ctx context.Context, o *orphan, cluster *clusterv1.Cluster) {
	name, id, server := cloud.Clean(o.Name, maxName), cloud.Clean(o.ProviderID, maxName), cloud.Clean(o.Server, maxName)
	kind, log := cloud.Clean(o.Kind, maxName), ctrl.LoggerFrom(ctx).WithValues("cluster", o.cluster(), "providerID", id,
		"server", server, "secret", o.Secret.Name, "machine", o.Key.Name)
	reason, note := infrav1.OrphanedVMReason, fmt.Sprintf(
		"VM %q (%s) on %s (%s) was made for WindowsMachine %s, which no longer exists. The VM stays; if nothing uses it, delete it "+
			"in the cloud", name, id, server, credentials(o), o.Key.Name)
	if o.Kind != "" {
		reason, note = infrav1.OrphanedResourceReason, fmt.Sprintf(
			"The %s %q on %s (%s) was made for VM %s of WindowsMachine %s, which no longer exists. It stays; find out whose it is, and "+
				"if nothing uses it, delete it by hand", kind, name, server, credentials(o), id, o.Key.Name)
		log.Info("What a VM left has no machine", "kind", kind, "name", name)
	} else {
		log.Info("A VM has no machine", "vm", name)
	}
	l.Events.Eventf(cluster, related(o), corev1.EventTypeWarning, reason, "Look", "%s", cloud.Clean(note, maxNote))
}

// related is the machine that is gone. The recorder takes events that relate to the same object for one, so each thing that a VM
// left is a field of the machine.
func related(o *orphan) *corev1.ObjectReference {
	machine := &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "WindowsMachine", Namespace: o.Key.Namespace, Name: o.Key.Name,
	}
	if o.Kind != "" {
		machine.FieldPath = cloud.Clean(o.Kind, maxName) + "{" + cloud.Clean(o.Name, maxName) + "}"
	}
	return machine
}

// credentials names the Secret of the account that sees it. What is not the name of a Secret describes itself.
func credentials(o *orphan) string {
	if len(validation.IsDNS1123Subdomain(o.Secret.Name)) == 0 {
		return "Secret " + o.Secret.Name
	}
	return o.Secret.Name
}

// logGone writes one line for the VMs of each Cluster, and one for what VMs left, however many they were.
func logGone(ctx context.Context, gone []*orphan) {
	vms, resources := map[cloud.Key][]string{}, map[cloud.Key][]string{}
	for _, o := range gone {
		if o.Kind == "" {
			vms[o.cluster()] = append(vms[o.cluster()], cloud.Clean(o.Name, maxName))
		} else {
			resources[o.cluster()] = append(resources[o.cluster()], cloud.Clean(o.Kind+" "+o.Name, maxName))
		}
	}
	log := ctrl.LoggerFrom(ctx)
	for cluster, names := range vms {
		log.Info("VMs without a machine are no longer seen, or have one again", "cluster", cluster,
			"count", len(names), "vms", first(names))
	}
	for cluster, names := range resources {
		log.Info("What VMs left is no longer seen, or has a machine again", "cluster", cluster,
			"count", len(names), "resources", first(names))
	}
}

func first(names []string) []string {
	slices.Sort(names)
	return names[:min(AtOnce, len(names))]
}
