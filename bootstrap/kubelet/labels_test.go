package kubelet

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOwnLabels: a node says what runs on it, whatever its spec says of that, and the spec's other labels stay.
func TestOwnLabels(t *testing.T) {
	labels := map[string]bootstrapv1.LabelValue{"pool": "blue", "capwin.cluster.x-k8s.io/kube-proxy": "none"}
	own := map[string]string{"capwin.cluster.x-k8s.io/kube-proxy": "service"}
	both := map[string]string{"capwin.cluster.x-k8s.io/kube-proxy": "service", "pool": "blue"}
	expect.Same(t, "both", both, expect.Got(allLabels(labels, own, nil))(t))
	expect.Same(t, "the spec's after that", "none", string(labels["capwin.cluster.x-k8s.io/kube-proxy"]))
	expect.Same(t, "ours alone", own, expect.Got(allLabels(nil, own, nil))(t))
	expect.Same(t, "none at all", map[string]string{}, expect.Got(allLabels(nil, nil, nil))(t))
}

// TestRegistered: what kubeadm join registers is what the kubelet's flag and the JoinConfiguration of the same spec have, and
// what they refuse.
func TestRegistered(t *testing.T) {
	own := map[string]string{"capwin.cluster.x-k8s.io/kube-proxy": "service"}
	labels, taints, err := Registered(bootstrapv1.NodeRegistration{
		Labels: map[string]bootstrapv1.LabelValue{"pool": "blue"},
	}, own, nil)
	expect.OK(t, err)
	expect.Same(t, "labels", map[string]string{"pool": "blue", "capwin.cluster.x-k8s.io/kube-proxy": "service"}, labels)
	expect.Same(t, "default taints", expect.Got(readTaints(nil))(t), taints)
	_, taints, err = Registered(bootstrapv1.NodeRegistration{Taints: &[]bootstrapv1.NodeTaint{}}, nil, nil)
	expect.OK(t, err)
	expect.Same(t, "taints of the spec []", expect.Got(readTaints(&[]bootstrapv1.NodeTaint{}))(t), taints)
	_, _, err = Registered(bootstrapv1.NodeRegistration{
		Labels: map[string]bootstrapv1.LabelValue{"kubernetes.io/os": "linux"},
	}, nil, nil)
	expect.Says(t, "a label of Kubernetes", err, "spec.node.labels: a kubelet must not set the label kubernetes.io/os")
	_, _, err = Registered(bootstrapv1.NodeRegistration{Taints: &[]bootstrapv1.NodeTaint{{Key: "os", Effect: "Never"}}}, nil, nil)
	expect.Says(t, "an effect that is none", err, `spec.node.taints: effect "Never" of os is not valid`)
}
