package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ControlPlaneNode is the name of a workload cluster's Linux node.
const ControlPlaneNode = "control-plane-0"

// A lease as kubelets keep it.
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = 10 * time.Second
)

// RegisterControlPlaneNode adds the Linux node that `kubeadm init` would have made of its machine: Ready, tainted, and with a
// lease that is renewed until Stop. It may be called twice.
func (w *Workload) RegisterControlPlaneNode(ctx context.Context) error {
	node, err := w.ensureNode(ctx)
	if err != nil {
		return err
	}
	lease := nodeLease(node)
	_, err = w.client.CoordinationV1().Leases(lease.Namespace).Create(ctx, lease, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create lease of node %s: %w", node.Name, err)
	}
	w.lease.start(w.client, lease)
	return w.patchNodeStatus(ctx)
}

func (w *Workload) ensureNode(ctx context.Context) (*corev1.Node, error) {
	nodes := w.client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, controlPlaneNode(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, ControlPlaneNode, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("create node %s: %w", ControlPlaneNode, err)
	}
	return node, nil
}

// patchNodeStatus patches, since an update would collide with the controllers that have seen the node by now.
func (w *Workload) patchNodeStatus(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"status": controlPlaneStatus(w.Version)})
	if err != nil {
		return fmt.Errorf("encode status of node %s: %w", ControlPlaneNode, err)
	}
	if _, err := w.client.CoreV1().Nodes().PatchStatus(ctx, ControlPlaneNode, patch); err != nil {
		return fmt.Errorf("patch status of node %s: %w", ControlPlaneNode, err)
	}
	return nil
}

func controlPlaneNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: ControlPlaneNode,
			Labels: map[string]string{
				corev1.LabelOSStable:                                      "linux",
				corev1.LabelArchStable:                                    runtime.GOARCH,
				corev1.LabelHostname:                                      ControlPlaneNode,
				"node-role.kubernetes.io/control-plane":                   "",
				"node.kubernetes.io/exclude-from-external-load-balancers": "",
			},
		},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
}

func controlPlaneStatus(version string) corev1.NodeStatus {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("4"),
		corev1.ResourceMemory:           resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("40Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	return corev1.NodeStatus{
		Capacity:    resources,
		Allocatable: resources,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: kubeadmAddress},
			{Type: corev1.NodeHostName, Address: ControlPlaneNode},
		},
		NodeInfo: corev1.NodeSystemInfo{
			OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: version,
			OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.0.0",
		},
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		},
	}
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
}

func nodeLease(node *corev1.Node) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: leaseOf(node.Name),
	}
}

// RenewLease does for a Node what its kubelet does every 10 seconds: a Node whose lease is not renewed for 50 is given up.
func RenewLease(ctx context.Context, client kubernetes.Interface, node string) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		meta := metav1.ObjectMeta{Name: node, Namespace: corev1.NamespaceNodeLease}
		lease, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta}, metav1.CreateOptions{})
	}
	if err == nil {
		lease.Spec = leaseOf(node)
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew lease of node %s: %w", node, err)
	}
	return nil
}

func leaseOf(node string) coordinationv1.LeaseSpec {
	return coordinationv1.LeaseSpec{
		HolderIdentity: &node, LeaseDurationSeconds: new(int32(leaseDuration.Seconds())), RenewTime: new(metav1.NowMicro()),
	}
}

// heartbeat renews a node's lease, without which the node lifecycle controller takes the node for dead.
type heartbeat struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (h *heartbeat) start(client kubernetes.Interface, lease *coordinationv1.Lease) {
	if h.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.done.Go(func() {
		tick := time.NewTicker(leaseRenewal)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				renew(ctx, client, lease)
			}
		}
	})
}

// renew ignores errors as a kubelet does: the next beat tries again, and a lease stays valid for four of them.
func renew(ctx context.Context, client kubernetes.Interface, lease *coordinationv1.Lease) {
	leases := client.CoordinationV1().Leases(lease.Namespace)
	current, err := leases.Get(ctx, lease.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	current.Spec.RenewTime = new(metav1.NowMicro())
	_, _ = leases.Update(ctx, current, metav1.UpdateOptions{})
}

func (h *heartbeat) stop() {
	if h.cancel != nil {
		h.cancel()
	}
	h.done.Wait()
}
