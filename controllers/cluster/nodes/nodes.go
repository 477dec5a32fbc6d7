// Package nodes decides about the rights of kube-proxy and flanneld, which run on the nodes of a workload cluster as Windows
// services with their kubelet's login. roles.yaml has the rights. A reader may rely on this:
//
//   - A role is granted while a WindowsBootstrapConfig of the Cluster has its program run as a service, or a Node has the label
//     that the join of such a node writes. It is revoked when neither has been there for revokeAfter.
//   - No user data is made for a node that would not get its rights: the config's condition has the reason. What is refused
//     later, or when a role is to be revoked, an event about the Cluster has, again and again while that lasts.
package nodes

import (
	_ "embed"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// Recheck is how soon the rights of a cluster are looked at again: a person may have changed or removed them.
	Recheck = 10 * time.Minute
	// revokeAfter is how long nobody must need a role before it is revoked. It MUST NOT be shorter than Recheck: whoever made user
	// data may have relied on a check of that age.
	revokeAfter = 10 * time.Minute
	// retryDelay is how soon a role is looked at again that nobody needs, or that could not be granted or revoked.
	retryDelay = time.Minute
	// retryRefused is how soon a refusal is tried again when a config asks. All machines of the cluster wait for the same.
	retryRefused = 15 * time.Second
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

// Role is the name of what the nodes of a workload cluster may do for one program: of its ClusterRole, and of the
// ClusterRoleBinding to system:nodes.
type Role string

// The roles.
const (
	KubeProxy Role = "capwin-kube-proxy"
	Flannel   Role = "capwin-flannel"
)

// Roles are all.
func Roles() []Role { return []Role{KubeProxy, Flannel} }

// Label is the one by which the Nodes are known that run the program of a role as a service.
func (r Role) Label() string {
	return map[Role]string{KubeProxy: bootstrap.LabelKubeProxy, Flannel: bootstrap.LabelFlannel}[r]
}

// NeededBy are the roles that a node of this spec needs.
func NeededBy(spec bootstrapv1.WindowsBootstrapConfigSpec) (needs []Role) {
	services := bootstrap.ServiceLabels(spec)
	return slices.DeleteFunc(Roles(), func(r Role) bool { return services[r.Label()] != bootstrap.LabelService })
}

//go:embed roles.yaml
var manifest string

var objects = keep.Must(manifest)

// Objects are the ClusterRole and the ClusterRoleBinding of a role, in the order in which they are written.
func (r Role) Objects() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetName() != string(r) })
}

// Unneeded is for a role that is there and that nobody needs, since when; zero if that was not seen before. It returns whether to
// revoke the role, when to look again, and what to remember.
func Unneeded(unneededSince, now time.Time) (revoke bool, delay time.Duration, remember time.Time) {
	switch {
	case unneededSince.IsZero():
		return false, retryDelay, now
	case now.Sub(unneededSince) < revokeAfter:
		return false, retryDelay, unneededSince
	}
	return true, Recheck, time.Time{}
}

// Answer is for configs that need a role: without an error their nodes have it. It serves for a while.
func Answer(role Role, err error) (serves time.Duration, answer error) {
	if err == nil {
		return Recheck, nil
	}
	if refusal := Refusal(role, false, err); refusal != nil {
		return retryRefused, refusal
	}
	return 0, fmt.Errorf("give nodes the ClusterRole %s: %w", role, err)
}

// RefusedError is why nodes do not get a role, or keep one, in a sentence for people. Time alone does not mend it.
type RefusedError struct{ sentence string }

// Error implements error.
func (e *RefusedError) Error() string { return e.sentence }

// Refusal is a RefusedError about a role that could not be granted, or revoked; nil if that may end by itself.
func Refusal(role Role, revoke bool, err error) error {
	consequence, byHand := "nodes cannot get the ClusterRole %s in the workload cluster: ", "apply"
	if revoke {
		consequence, byHand = "nodes keep the ClusterRole %s in the workload cluster, which none of them needs: ", "remove"
	}
	var reason, mend string
	switch keep.ClassOf(err) {
	case keep.Foreign:
		return &RefusedError{fmt.Sprintf(consequence+"%s exists, has other content and no label %s=%s; rename or remove it", role,
			keep.Taken(err), keep.Label, keep.Mark)}
	case keep.Forbidden:
		reason, mend = "the Cluster's kubeconfig may not do that", "let it"
	case keep.TurnedDown:
		reason, mend = "a rule of the workload cluster does not allow what is written there", "exempt that from its admission policies"
	default:
		return nil
	}
	return &RefusedError{fmt.Sprintf(consequence+"%s (%s); %s, or %s the two objects yourself", role, reason,
		cloud.Clean(err.Error(), maxCause), mend, byHand)}
}
