package servers

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// ControlPlaneNode is the name of a workload cluster's Linux node.
const ControlPlaneNode = "control-plane-0"

// RegisterControlPlaneNode adds the Linux node that `kubeadm init` would have made of its machine: Ready, tainted, and with a
// lease that is renewed until Stop. It may be called twice.
func (w *Workload) RegisterControlPlaneNode(ctx context.Context) error {
	kubelet := nodes.Linux(ControlPlaneNode, kubeadmAddress, w.Version)
	kubelet.Labels = map[string]string{
		"node-role.kubernetes.io/control-plane":                   "",
		"node.kubernetes.io/exclude-from-external-load-balancers": "",
	}
	kubelet.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	if err := kubelet.Register(ctx, w.client); err != nil {
		return err
	}
	if w.stopLease != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		nodes.KeepLease(ctx, w.client, ControlPlaneNode)
	}()
	w.stopLease = func() { cancel(); <-ended }
	return nil
}
