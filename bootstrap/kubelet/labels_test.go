package kubelet

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestOwnLabels: a node says what runs on it, whatever its spec says of that, and the spec's other labels stay.
func TestOwnLabels(t *testing.T) {
	labels := map[string]bootstrapv1.LabelValue{"pool": "blue", "capwin.cluster.x-k8s.io/kube-proxy": "none"}
	own := map[string]string{"capwin.cluster.x-k8s.io/kube-proxy": "service"}
	both := []string{"capwin.cluster.x-k8s.io/kube-proxy=service", "pool=blue"}
	expect.Same(t, "both", both, expect.Got(readLabels(withOwn(labels, own)))(t))
	expect.Same(t, "the spec's after that", "none", string(labels["capwin.cluster.x-k8s.io/kube-proxy"]))
	expect.Same(t, "none of ours", []string{"pool=blue"}, expect.Got(readLabels(withOwn(
		map[string]bootstrapv1.LabelValue{"pool": "blue"}, nil)))(t))
	expect.Same(t, "ours alone", both[:1], expect.Got(readLabels(withOwn(nil, own)))(t))
	var none []string
	expect.Same(t, "none at all", none, expect.Got(readLabels(withOwn(nil, nil)))(t))
}
