package nodes

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// LeaseSeconds is how long a kubelet's Lease is valid unless its configuration differs. It is renewed four times meanwhile.
const LeaseSeconds = 40

// KeepLease renews the Lease of a Node until ctx ends: the node lifecycle controller gives up a Node whose Lease is 50 seconds
// old. An error is ignored, since the next renewal tries again, as a kubelet's does.
func KeepLease(ctx context.Context, client kubernetes.Interface, node string) {
	tick := time.NewTicker(LeaseSeconds * time.Second / 4)
	defer tick.Stop()
	for {
		_ = RenewLease(ctx, client, node, LeaseSeconds, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RenewLease renews the Lease of a Node, or creates it. As in pkg/kubelet/util/nodelease.go the Node owns it, and a Node that is
// not there gets none: it would never go.
func RenewLease(ctx context.Context, client kubernetes.Interface, node string, seconds int32, now time.Time) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if missing {
		lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: corev1.NamespaceNodeLease}}, nil
	}
	if err == nil && len(lease.OwnerReferences) == 0 {
		lease.OwnerReferences, err = owner(ctx, client, node)
	}
	if err != nil {
		return fmt.Errorf("get lease of node %s: %w", node, err)
	}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: new(metav1.NewMicroTime(now)),
	}
	if missing {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew lease of node %s: %w", node, err)
	}
	return nil
}

func owner(ctx context.Context, client kubernetes.Interface, name string) ([]metav1.OwnerReference, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}}, nil
}
