package manager

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// recorded are the events of a recorder, in their parts.
type recorded []string

// Eventf is part of events.EventRecorder.
//
//nolint:revive // because the interface has so many arguments
func (r *recorded) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	about, ofKind := regarding.(*corev1.ObjectReference), related.(*corev1.ObjectReference)
	*r = append(*r, fmt.Sprintf("%s %s %s %s in %s of %s: %s %s %s", about.APIVersion, about.Kind, about.Name, ofKind.FieldPath,
		about.Namespace, kind, reason, action, fmt.Sprintf(note, args...)))
}

// TestNoticesOf: a count has an event in its namespace, which the API server takes for one about that: it is in the namespace
// that the object names. Two kinds are two events.
func TestNoticesOf(t *testing.T) {
	var r recorded
	limits := expect.Got(tenants.Parse([]string{"team:clusters=4"}))(t)
	notices, now := noticesOf(limits, &r), time.Now()
	notices.Counted("team", tenants.Accounts, 12, now)
	notices.Counted("team", tenants.Clusters, 4, now)
	notices.Counted("team", "others", 1, now)
	const end = "Use fewer, or ask the operator to allow more by the manager's flag --tenants=team:"
	expect.Same(t, "events", recorded{
		"v1 Namespace team accounts in team of Normal: NamespaceNearLimit Count The namespace has 12 accounts at clouds, of at most " +
			"16 at a time. Beyond that, machines that need one more get no VM. " + end + "accounts=N",
		"v1 Namespace team clusters in team of Warning: NamespaceAtLimit Count The namespace has 4 connections to workload clusters, " +
			"of at most 4 at a time. Beyond that, one of them is closed whenever another cluster is reached, which takes time and " +
			"calls. " + end + "clusters=N",
		"v1 Namespace team others in team of Warning: NamespaceAtLimit Count The namespace has 1 others, of at most 0 at a time. " +
			"Beyond that, others wait. " + end + "others=N",
	}, r)
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: "team", Name: "team"}
	kept := expect.Got(reference.GetReference(newScheme(), about))(t)
	expect.Same(t, "what the recorder makes of it", *about, *kept)
}
