// Package owner finds the Machine and the Cluster that an object of ours belongs to, and what they say about it.
package owner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Of reads the Machine and the Cluster of an object. Either is nil if it is not there or not known yet.
func Of(ctx context.Context, c client.Client, o client.Object) (*clusterv1.Machine, *clusterv1.Cluster, error) {
	meta := metav1.ObjectMeta{Namespace: o.GetNamespace(), OwnerReferences: o.GetOwnerReferences()}
	machine, err := util.GetOwnerMachine(ctx, c, meta)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("get owner machine: %w", err)
	}
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if machine != nil {
		name = machine.Spec.ClusterName
	}
	if name == "" {
		return machine, nil, nil
	}
	cluster, err := util.GetClusterByName(ctx, c, o.GetNamespace(), name)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("get cluster: %w", err)
	}
	return machine, cluster, nil
}

// patience is how long Cluster API may take to set the owner of a new object, which it does in a moment.
const patience = 5 * time.Second

// Expected is how much longer the owner of an object may be missing without anybody being told: each word is a write, for every
// machine that is made.
func Expected(o client.Object, now time.Time) time.Duration {
	return o.GetCreationTimestamp().Add(patience).Sub(now)
}

// Joined says whether the Machine has become a Node.
func Joined(machine *clusterv1.Machine) bool {
	return machine != nil && machine.Status.NodeRef.IsDefined()
}

// ClusterChanged passes only those changes of a Cluster that matter to what belongs to it. Cluster API counts all Machines in
// the Cluster's status: without this, each change of a Machine would wake all others.
func ClusterChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.Cluster)
		now, same := e.ObjectNew.(*clusterv1.Cluster)
		return !ok || !same || !equality.Semantic.DeepEqual(before.Status.Initialization, now.Status.Initialization)
	}})
}

// Paused says whether the Cluster, or the object itself, is paused.
func Paused(cluster *clusterv1.Cluster, o client.Object) bool {
	return cluster != nil && annotations.IsPaused(cluster, o) || annotations.HasPaused(o)
}

// PausedCondition tells people whether it is.
func PausedCondition(paused bool) metav1.Condition {
	c := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason}
	if paused {
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1.PausedReason
		c.Message = "spec.paused of the Cluster or the annotation cluster.x-k8s.io/paused is set"
	}
	return c
}
