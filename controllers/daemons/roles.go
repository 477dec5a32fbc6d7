package daemons

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

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

// Role is the name of what the nodes of a workload cluster may do for one daemon: of its ClusterRole, and of the
// ClusterRoleBinding to system:nodes.
type Role string

// The roles.
const (
	KubeProxy Role = "capwin-kube-proxy"
	Flannel   Role = "capwin-flannel"
)

// labels say by which label the Nodes are known that have the daemon of a role. All roles are here.
var labels = map[Role]string{KubeProxy: bootstrap.LabelKubeProxy, Flannel: bootstrap.LabelFlannel}

// Of are the roles that a node of this spec needs.
func Of(spec bootstrapv1.WindowsBootstrapConfigSpec) (needs []Role) {
	on := bootstrap.ServiceLabels(spec)
	for _, role := range []Role{KubeProxy, Flannel} {
		if on[labels[role]] == bootstrap.LabelService {
			needs = append(needs, role)
		}
	}
	return needs
}

//go:embed daemons.yaml
var manifest string

const (
	fieldOwner = "capwin"
	// markLabel tells our objects from others of their names.
	markLabel, mark = "app.kubernetes.io/managed-by", "capwin"
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

// RefusedError says why nodes do not get a role, in a sentence for people. Time alone does not mend it.
type RefusedError struct {
	Role Role
	Why  string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("nodes cannot get the ClusterRole %s in the workload cluster: %s", e.Role, e.Why)
}

// objects are the ClusterRole and the ClusterRoleBinding of a role.
type objects struct {
	role    rbacv1.ClusterRole
	binding rbacv1.ClusterRoleBinding
}

// read reads what daemons.yaml has of a role.
func read(role Role) (want objects, err error) {
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		var meta metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
			return want, fmt.Errorf("read daemons.yaml: %w", err)
		}
		var into any = &want.role
		if meta.Kind == "ClusterRoleBinding" {
			into = &want.binding
		}
		if meta.Name != string(role) {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			return want, fmt.Errorf("read daemons.yaml: %w", err)
		}
	}
	return want, nil
}

// give makes the two objects what they must be. What is as it must be is not written, whoever made it: an operator may keep it.
func give(ctx context.Context, api client.Client, role Role) error {
	want, err := read(role)
	if err != nil {
		return err
	}
	var have objects
	if err := get(ctx, api, role, &have.role); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(have.role.Rules, want.role.Rules) {
		if err := put(ctx, api, &have.role, &want.role); err != nil {
			return refused(role, err)
		}
	}
	if err := get(ctx, api, role, &have.binding); err != nil {
		return err
	}
	if have.binding.RoleRef == want.binding.RoleRef && equality.Semantic.DeepEqual(have.binding.Subjects, want.binding.Subjects) {
		return nil
	}
	return refused(role, put(ctx, api, &have.binding, &want.binding))
}

// get leaves the object empty if there is none.
func get(ctx context.Context, api client.Client, role Role, into client.Object) error {
	err := api.Get(ctx, client.ObjectKey{Name: string(role)}, into)
	if client.IgnoreNotFound(err) != nil {
		return refused(role, err)
	}
	return nil
}

// put writes one object that is missing or another one, if that is ours.
func put(ctx context.Context, api client.Client, have, want client.Object) error {
	kind := want.GetObjectKind().GroupVersionKind().Kind
	if have.GetUID() != "" && !ours(have) {
		return &RefusedError{Role(want.GetName()), fmt.Sprintf("%s %s is there, has other content and no label %s=%s; "+
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

// refused tells what time does not mend in a sentence.
func refused(role Role, err error) error {
	switch known, told := errors.AsType[*RefusedError](err); {
	case err == nil:
		return nil
	case told:
		return known
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return &RefusedError{role, fmt.Sprintf("the Cluster's kubeconfig may not do that (%s); let it, or apply the two objects "+
			"yourself", cloud.Clean(err.Error(), maxCause))}
	}
	return fmt.Errorf("give nodes the ClusterRole %s: %w", role, err)
}

func ours(o client.Object) bool { return o.GetLabels()[markLabel] == mark }

// given says whether there is something of ours to take.
func given(ctx context.Context, api client.Client, role Role) (bool, error) {
	for _, object := range both(role) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("look for %s: %w", role, err)
		}
		if err == nil && ours(object) {
			return true, nil
		}
	}
	return false, nil
}

// take removes the two objects, the binding first. It removes no more than what it has just seen to be ours.
func take(ctx context.Context, api client.Client, role Role) error {
	for _, object := range both(role) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || err == nil && !ours(object) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", role, err)
		}
		uid, version := object.GetUID(), object.GetResourceVersion()
		seen := client.Preconditions{UID: &uid, ResourceVersion: &version}
		if err := api.Delete(ctx, object, seen); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove %s: %w", role, err)
		}
	}
	return nil
}

func both(role Role) []client.Object {
	meta := metav1.ObjectMeta{Name: string(role)}
	return []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: *meta.DeepCopy()}}
}
