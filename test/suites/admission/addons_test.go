package admission

import (
	"strings"
	"testing"
)

// TestAddons: the real kubectl applies what clusterctl windows addons prints as manifests, and asks for strict reading.
func TestAddons(t *testing.T) {
	const golden = "../../../cmd/clusterctl-windows/addons/testdata/manifests-all.yaml"
	taken := runKubectl(t, "apply", "--validate=strict", "--dry-run=server", "-f", golden)
	for _, object := range []string{
		"daemonset.apps/kube-proxy-windows", "daemonset.apps/csi-proxy", "runtimeclass.node.k8s.io/windows-2019",
		"runtimeclass.node.k8s.io/windows-2022-hyperv", "runtimeclass.node.k8s.io/windows-23h2",
		"runtimeclass.node.k8s.io/windows-2025-hyperv",
	} {
		if !strings.Contains(taken, object+" created") {
			t.Errorf("no %s in\n%s", object, taken)
		}
	}
}
