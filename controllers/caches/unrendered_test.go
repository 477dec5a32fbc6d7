package caches

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestKeepUnrendered: what a manager that renders nothing keeps of a config answers all that is asked there, and is small.
func TestKeepUnrendered(t *testing.T) {
	config := &bootstrapv1.WindowsBootstrapConfig{}
	expect.OK(t, yaml.UnmarshalStrict([]byte(largeConfig), config))
	config.Spec.Kubelet.Configuration.Raw = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", 60<<10))
	kept := expect.Got(KeepUnrendered(config.DeepCopy()))(t).(*bootstrapv1.WindowsBootstrapConfig)
	windows := &infrav1.WindowsMachine{}
	for what, of := range map[string]func(bootstrapv1.WindowsBootstrapConfigSpec) any{
		"the Node": func(s bootstrapv1.WindowsBootstrapConfigSpec) any {
			labels, taints, err := bootstrap.Registered(s, windows)
			return []any{labels, taints, err}
		},
		"its room": func(s bootstrapv1.WindowsBootstrapConfigSpec) any {
			return fmt.Sprint(bootstrap.Allocatable(s, bootstrap.Size{CPUs: 4, MemoryMiB: 8192}))
		},
		"the CNI": func(s bootstrapv1.WindowsBootstrapConfigSpec) any {
			return []any{bootstrap.CNISource(s), bootstrap.WantsCNIDaemonSet(s), bootstrap.ServiceLabels(s)}
		},
		"its deadline": func(s bootstrapv1.WindowsBootstrapConfigSpec) any { return bootstrap.Deadline(s) },
		"discovery":    func(s bootstrapv1.WindowsBootstrapConfigSpec) any { return s.Discovery },
	} {
		if diff := cmp.Diff(of(config.Spec), of(kept.Spec)); diff != "" {
			t.Errorf("%s (-config +kept):\n%s", what, diff)
		}
	}
	if text := expect.Got(json.Marshal(kept))(t); len(text) > 1<<10 {
		t.Errorf("%d bytes are kept: %.300s", len(text), text)
	}
}

const largeConfig = `
metadata: {name: win-0, namespace: team-a}
spec:
  node: {labels: {example.com/pool: build}, taints: [{key: os, value: windows, effect: NoSchedule}]}
  discovery: {kubeconfigFrom: {secret: {name: discovery, key: value}}}
  kubelet: {maxPods: 60}
  reservations: {system: {memory: 3Gi}}
  network: {mode: Overlay, cni: Flannel}
  containerd: {hyperVIsolation: Enabled}
  windows: {timeZone: UTC}
  custom: {files: [{path: 'C:\app\x', content: x}]}
  bootstrapDeadlineSeconds: 900
`
