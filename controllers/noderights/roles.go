package noderights

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Role is the name of what the nodes of a workload cluster may do for one program: of its ClusterRole, and of the
// ClusterRoleBinding to system:nodes.
type Role string

// The roles.
const (
	KubeProxy Role = "capwin-kube-proxy"
	Flannel   Role = "capwin-flannel"
)

// labels say by which label the Nodes are known that run the program of a role as a service. All roles are here.
var labels = map[Role]string{KubeProxy: bootstrap.LabelKubeProxy, Flannel: bootstrap.LabelFlannel}

// NeededBy are the roles that a node of this spec needs.
func NeededBy(spec bootstrapv1.WindowsBootstrapConfigSpec) (needs []Role) {
	on := bootstrap.ServiceLabels(spec)
	for _, role := range []Role{KubeProxy, Flannel} {
		if on[labels[role]] == bootstrap.LabelService {
			needs = append(needs, role)
		}
	}
	return needs
}

//go:embed roles.yaml
var manifest string

const (
	fieldOwner = "capwin"
	// markLabel tells our objects from others of their names.
	markLabel, mark = "app.kubernetes.io/managed-by", "capwin"
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

// RefusedError says why nodes do not get a role, or keep one, in a sentence for people. Time alone does not mend it.
type RefusedError struct {
	Role Role
	// Kept says that nodes have the role, and no node needs it.
	Kept bool
	Why  string
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.Kept {
		return fmt.Sprintf("nodes keep the ClusterRole %s in the workload cluster, which none of them needs: %s", e.Role, e.Why)
	}
	return fmt.Sprintf("nodes cannot get the ClusterRole %s in the workload cluster: %s", e.Role, e.Why)
}

// objects are the ClusterRole and the ClusterRoleBinding of a role.
type objects struct {
	role    rbacv1.ClusterRole
	binding rbacv1.ClusterRoleBinding
}

// wanted is what roles.yaml has of each role.
var wanted = sync.OnceValues(func() (map[Role]*objects, error) { return read(manifest) })

func read(manifest string) (map[Role]*objects, error) {
	all := map[Role]*objects{}
	for role := range labels {
		all[role] = &objects{}
	}
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		var meta metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
			return nil, fmt.Errorf("read roles.yaml: %w", err)
		}
		of := all[Role(meta.Name)]
		if of == nil {
			return nil, fmt.Errorf("read roles.yaml: no role is called %q", meta.Name)
		}
		var into any = &of.role
		if meta.Kind == "ClusterRoleBinding" {
			into = &of.binding
		}
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			return nil, fmt.Errorf("read roles.yaml: %w", err)
		}
	}
	return all, nil
}

// write makes the two objects what they must be. What is as it must be is not written, whoever made it: an operator may keep it.
func write(ctx context.Context, api client.Client, role Role) error {
	all, err := wanted()
	if err != nil {
		return err
	}
	want := all[role]
	var have objects
	if err := get(ctx, api, role, &have.role); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(have.role.Rules, want.role.Rules) {
		if err := apply(ctx, api, &have.role, &want.role); err != nil {
			return refused(role, err)
		}
	}
	if err := get(ctx, api, role, &have.binding); err != nil {
		return err
	}
	if have.binding.RoleRef == want.binding.RoleRef && equality.Semantic.DeepEqual(have.binding.Subjects, want.binding.Subjects) {
		return nil
	}
	return refused(role, rebind(ctx, api, &have.binding, &want.binding))
}

// rebind makes a binding anew that is ours and binds another role: no API server takes a change of that (kubernetes v1.36.3,
// ValidateClusterRoleBindingUpdate of pkg/apis/rbac/validation).
func rebind(ctx context.Context, api client.Client, have, want *rbacv1.ClusterRoleBinding) error {
	if have.UID != "" && isOurs(have) && have.RoleRef != want.RoleRef {
		if err := removeSeen(ctx, api, have); err != nil {
			return err
		}
		have = &rbacv1.ClusterRoleBinding{}
	}
	return apply(ctx, api, have, want)
}

// get leaves the object empty if there is none.
func get(ctx context.Context, api client.Client, role Role, into client.Object) error {
	err := api.Get(ctx, client.ObjectKey{Name: string(role)}, into)
	if client.IgnoreNotFound(err) != nil {
		return refused(role, err)
	}
	return nil
}

// apply writes one object that is missing or another one, if that is ours.
func apply(ctx context.Context, api client.Client, have, want client.Object) error {
	kind := want.GetObjectKind().GroupVersionKind().Kind
	if have.GetUID() != "" && !isOurs(have) {
		return &RefusedError{Role: Role(want.GetName()), Why: fmt.Sprintf("%s %s is there, has other content and no label %s=%s; "+
			"rename or remove it", kind, want.GetName(), markLabel, mark)}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	wanted := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields})
	if err := api.Apply(ctx, wanted, client.ForceOwnership, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}

// refused tells in a sentence what keeps nodes from getting a role, if time does not mend that.
func refused(role Role, err error) error {
	switch known, told := errors.AsType[*RefusedError](err); {
	case err == nil:
		return nil
	case told:
		return known
	}
	if why := whyRefused(err, "apply"); why != "" {
		return &RefusedError{Role: role, Why: why}
	}
	return fmt.Errorf("give nodes the ClusterRole %s: %w", role, err)
}

// kept tells in a sentence what keeps nodes from losing a role, if time does not mend that.
func kept(role Role, err error) error {
	if why := whyRefused(err, "remove"); why != "" {
		return &RefusedError{Role: role, Kept: true, Why: why}
	}
	return err
}

// whyRefused is empty for an error that may end by itself. Otherwise a person may do by hand what was refused.
func whyRefused(err error, byHand string) string {
	why, mend := "the Cluster's kubeconfig may not do that", "let it"
	switch {
	case apierrors.IsInvalid(err):
		why, mend = "a rule of the workload cluster does not allow what is written there", "let that pass its admission policies"
	case !apierrors.IsForbidden(err):
		return ""
	}
	return fmt.Sprintf("%s (%s); %s, or %s the two objects yourself", why, cloud.Clean(err.Error(), maxCause), mend, byHand)
}

func isOurs(o client.Object) bool { return o.GetLabels()[markLabel] == mark }

// isThere says whether there is something of ours to remove.
func isThere(ctx context.Context, api client.Client, role Role) (bool, error) {
	for _, object := range both(role) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("look for %s: %w", role, err)
		}
		if err == nil && isOurs(object) {
			return true, nil
		}
	}
	return false, nil
}

// remove removes the two objects, the binding first.
func remove(ctx context.Context, api client.Client, role Role) error {
	for _, object := range both(role) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || err == nil && !isOurs(object) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", role, err)
		}
		if err := removeSeen(ctx, api, object); err != nil {
			return err
		}
	}
	return nil
}

// removeSeen removes no more than the object that was just seen to be ours.
func removeSeen(ctx context.Context, api client.Client, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	seen := client.Preconditions{UID: &uid, ResourceVersion: &version}
	if err := api.Delete(ctx, object, seen); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove %s: %w", object.GetName(), err)
	}
	return nil
}

func both(role Role) []client.Object {
	meta := metav1.ObjectMeta{Name: string(role)}
	return []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: *meta.DeepCopy()}}
}
