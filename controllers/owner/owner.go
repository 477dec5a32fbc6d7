// Package owner finds the Machine and the Cluster that an object of ours belongs to, and what they say about it. An object is not
// believed on its own word: a Machine in its ownerReferences owns it only if that Machine names it in its own spec and has the
// UID of the reference.
package owner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
)

// Owner is what an object belongs to. What is not there, or not known yet, is nil.
type Owner struct {
	Machine *clusterv1.Machine
	Cluster *clusterv1.Cluster
	// Refused is why a Machine is not the owner though the object calls it so: a person must change one of the two.
	Refused string
}

// Of reads what owns an object: the Machine that names it, and the Cluster that the Machine names. Only an object without a
// Machine belongs to the Cluster of its label, for what it waits for and what it leaves behind.
func Of(ctx context.Context, c client.Client, o client.Object) (Owner, error) {
	found, err := machineOf(ctx, c, o)
	if err != nil {
		return Owner{}, err
	}
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if found.Machine != nil {
		name = cmp.Or(found.Machine.Spec.ClusterName, name)
	}
	if name == "" {
		return found, nil
	}
	found.Cluster, err = util.GetClusterByName(ctx, c, o.GetNamespace(), name)
	if client.IgnoreNotFound(err) != nil {
		return Owner{}, fmt.Errorf("get cluster: %w", err)
	}
	return found, nil
}

// machineOf reads the Machines that the object calls its owners, and returns the one that names it. A Machine that names it and
// has another UID than the reference came back from a backup, or our cache is behind: Cluster API corrects the reference.
func machineOf(ctx context.Context, c client.Client, o client.Object) (found Owner, err error) {
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		return found, fmt.Errorf("find kind of %s: %w", o.GetName(), err)
	}
	for _, ref := range MachinesOf(o) {
		machine, err := util.GetMachineByName(ctx, c, o.GetNamespace(), ref.Name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return Owner{}, fmt.Errorf("get owner machine: %w", err)
		case caches.IsStub(machine) && machine.UID == ref.UID: // it is not known what it names
			return Owner{Machine: machine}, nil
		case !names(machine, gvk.GroupKind(), o.GetName()):
			found.Refused = Refusal(machine, gvk.GroupKind(), o.GetName())
		case machine.UID == ref.UID:
			return Owner{Machine: machine}, nil
		}
	}
	return found, nil
}

// MachinesOf are the references to the Machines that an object calls its owners.
func MachinesOf(o metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), notMachine)
}

func notMachine(ref metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return err != nil || group.Group != clusterv1.GroupVersion.Group || ref.Kind != "Machine"
}

// names reports whether the Machine's spec has the object as its infrastructure or its bootstrap config.
func names(machine *clusterv1.Machine, kind schema.GroupKind, name string) bool {
	infrastructure, config := machine.Spec.InfrastructureRef, machine.Spec.Bootstrap.ConfigRef
	return infrastructure.GroupKind() == kind && infrastructure.Name == name || config.GroupKind() == kind && config.Name == name
}

// Refusal returns why a Machine does not own an object that calls it its owner; empty if its spec names the object.
func Refusal(machine *clusterv1.Machine, kind schema.GroupKind, name string) string {
	if names(machine, kind, name) {
		return ""
	}
	infrastructure, config := machine.Spec.InfrastructureRef, machine.Spec.Bootstrap.ConfigRef
	uses := fmt.Sprintf("%s %s", infrastructure.Kind, infrastructure.Name)
	if config.IsDefined() {
		uses += fmt.Sprintf(" and %s %s", config.Kind, config.Name)
	}
	return fmt.Sprintf("ownerReferences has Machine %s, but that Machine uses %s; delete this %s, or create a Machine that uses it",
		machine.Name, uses, kind.Kind)
}

// Has reports whether the Machine owns an object that its spec names. Another Machine's object has nothing to say about this one.
func Has(machine *clusterv1.Machine, o client.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return !notMachine(ref) && ref.Name == machine.Name && ref.UID == machine.UID
	})
}

// patience is how long Cluster API may take to set the owner of a new object. It does so in a moment, unless somebody makes a
// thousand machines at once.
const patience = 30 * time.Second

// Expected is how much longer what comes at once with a new object, such as its owner, may be missing before the status reports
// it: each change is a write, for every machine that is made. It is 0 by a clock that is so far behind that nothing was made yet.
func Expected(o client.Object, now time.Time) time.Duration {
	rest := o.GetCreationTimestamp().Add(patience).Sub(now)
	if rest > 2*patience {
		return 0
	}
	return rest
}

// Joined reports whether the Machine has become a Node.
func Joined(machine *clusterv1.Machine) bool {
	return machine != nil && machine.Status.NodeRef.IsDefined()
}

// ClusterChanged passes only those changes of a Cluster that matter to what belongs to it. Cluster API counts all Machines in
// the Cluster's status: without this, each change of a Machine would wake all others.
func ClusterChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*clusterv1.Cluster)
		current, isCurrent := e.ObjectNew.(*clusterv1.Cluster)
		return !ok || !isCurrent || !equality.Semantic.DeepEqual(old.Status.Initialization, current.Status.Initialization)
	}})
}

// MachineChanged passes only those changes of a Machine that matter to what belongs to it. Cluster API writes the status of a
// Machine many times in its life, most of all while it is removed.
func MachineChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			old, ok := e.ObjectOld.(*clusterv1.Machine)
			current, isCurrent := e.ObjectNew.(*clusterv1.Machine)
			return !ok || !isCurrent || old.Status.NodeRef != current.Status.NodeRef || nodeHealth(old) != nodeHealth(current)
		}})
}

// nodeHealth is the reason of Cluster API's condition for the Node.
func nodeHealth(machine *clusterv1.Machine) string {
	return conditions.GetReason(machine, clusterv1.MachineNodeHealthyCondition)
}

// Paused reports whether the Cluster, or the object itself, is paused.
func Paused(cluster *clusterv1.Cluster, o client.Object) bool {
	return cluster != nil && annotations.IsPaused(cluster, o) || annotations.HasPaused(o)
}

// PausedCondition is true if the Cluster or the object is paused.
func PausedCondition(paused bool) metav1.Condition {
	c := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason}
	if paused {
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1.PausedReason
		c.Message = "spec.paused of the Cluster or the annotation cluster.x-k8s.io/paused is set; a deletion waits, too"
	}
	return c
}
