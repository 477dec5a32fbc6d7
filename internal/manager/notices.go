package manager

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// counted is the name of a kind, and what happens beyond the limit.
type counted struct{ name, effect string }

var kinds = map[tenants.Kind]counted{
	tenants.Accounts:   {"accounts at clouds", "machines that need one more get no VM"},
	tenants.Identities: {"AzureClusterIdentities", "machines that name one more get no VM"},
	tenants.Groups:     {"resource groups in an account at Azure", "machines in one more get no VM"},
	tenants.Locations:  {"locations in an account at Azure", "machines in one more get no VM"},
	tenants.Clusters: {
		"connections to workload clusters", "one of them is closed whenever another cluster is reached, which takes time and calls",
	},
	tenants.Guests: {"workload clusters whose guests' reports are read at the same time", "those of other clusters are read later"},
}

// noticesOf publish each notice of these limits as an event in the tenant's namespace, about that namespace.
func noticesOf(limits tenants.Limits, recorder events.EventRecorder) *tenants.Notices {
	return &tenants.Notices{Limits: limits, Publish: func(n tenants.Notice) {
		// The API server takes an event only in the namespace that its object names.
		namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: n.Namespace, Name: n.Namespace}
		related := namespace.DeepCopy()
		related.FieldPath = string(n.Kind) // the recorder takes events that relate to the same object for one
		kind, reason := corev1.EventTypeNormal, infrav1.NamespaceNearLimitReason
		if n.Full {
			kind, reason = corev1.EventTypeWarning, infrav1.NamespaceAtLimitReason
		}
		recorder.Eventf(namespace, related, kind, reason, "Count", "%s", noteOf(n))
	}}
}

func noteOf(n tenants.Notice) string {
	c := kinds[n.Kind]
	return fmt.Sprintf("The namespace has %d %s, of at most %d at a time. Beyond that, %s. Use fewer, or ask the operator to allow "+
		"more by the manager's flag --tenants=%s:%s=N", n.Count, cmp.Or(c.name, string(n.Kind)), n.Limit,
		cmp.Or(c.effect, "others wait"), n.Namespace, n.Kind)
}
