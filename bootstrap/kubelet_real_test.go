package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// refusedByTheKubelet are some of those that TestKubeletRefusals has; test/upstream/kubelet shows that the kubelet exits at each.
var refusedByTheKubelet = map[string]string{
	"exits":            `{"singleProcessOOMKill": false}`,
	"exits-too":        `{"userNamespaces": {"idsPerPod": 65536}}`,
	"run-once":         `{"runOnce": true}`,
	"unknown-gate":     `{"featureGates": {"WinDRS": true}}`,
	"locked-gate":      `{"featureGates": {"WinDSR": false}}`,
	"gate-is-needed":   `{"featureGates": {"GracefulNodeShutdown": false}}`,
	"gate-needs":       `{"featureGates": {"TopologyAwareWorkloadScheduling": true}}`,
	"wrong-type":       `{"containerLogMaxFiles": "three"}`,
	"one-log-file":     `{"containerLogMaxFiles": 1}`,
	"no-log-workers":   `{"containerLogMaxWorkers": 0}`,
	"hasty-monitor":    `{"containerLogMonitorInterval": "1s"}`,
	"image-thresholds": `{"imageGCLowThresholdPercent": 90}`,
	"image-ages":       `{"imageMaximumGCAge": "1m", "imageMinimumGCAge": "2m"}`,
	"parallel-pulls":   `{"maxParallelImagePulls": 5, "serializeImagePulls": true}`,
	"grace-periods":    `{"shutdownGracePeriod": "10s"}`,
	"grace-twice":      `{"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}]}`,
	"negative-burst":   `{"eventBurst": -1}`,
	"log-format":       `{"logging": {"format": "xml"}}`,
	"port":             `{"port": 70000}`,
	"lease":            `{"nodeLeaseDurationSeconds": -1}`,
	"hidden-metrics":   `{"showHiddenMetricsForVersion": "1.2"}`,
	"cgroups-only":     `{"enforceNodeAllocatable": ["pods"]}`,
}

func TestRefusedConfigurations(t *testing.T) {
	for name, text := range refusedByTheKubelet {
		if name != "cgroups-only" {
			if _, err := bootstrap.Render(plainInput(t, withConfig(text))); err == nil {
				t.Errorf("%s is rendered", name)
			}
		}
		var target, patch map[string]any
		expect.OK(t, json.Unmarshal(mergedText(t, render(t, plainInput(t)).Plan()), &target))
		expect.OK(t, json.Unmarshal([]byte(text), &patch))
		merge.Into(target, patch)
		got := expect.Got(json.Marshal(target))(t)
		path := "../test/upstream/kubelet/testdata/refused/" + name + ".json"
		if *update {
			expect.OK(t, os.WriteFile(path, got, 0o600))
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s (%v): go test ./bootstrap -update writes it anew", path, err)
		}
	}
}

// The command that is looked for at the end must be the one that the service step makes.
func TestKubeletCommandIsLookedAt(t *testing.T) {
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		want := windows.JoinArguments(shown(stepOf[*plan.Service](t, p, "kubelet-service").Command))
		if got := stepOf[*plan.Check](t, p, "kubelet-arguments").Is.String(); got != want {
			t.Errorf("%s: looks for\n%s\nbut the service has\n%s", golden.name, got, want)
		}
	}
}

// The configurations of all golden plans, merged as kubeadm does, are kept for the kubelet's own decoder and validation:
// see test/upstream/kubelet.
func TestMergedConfigurations(t *testing.T) {
	const folder = "../test/upstream/kubelet/testdata/configurations"
	var names []string
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		names = append(names, golden.name+".json")
		got := mergedText(t, p)
		path := filepath.Join(folder, golden.name+".json")
		if *update {
			expect.OK(t, os.WriteFile(path, got, 0o600))
		}
		want := expect.Got(os.ReadFile(path))(t)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: go test ./bootstrap -update writes it anew, make test-kubelet asks the kubelet (-want +got):\n%s",
				golden.name, diff)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(names) {
		t.Errorf("%d files for %d golden plans (%v): remove those that no case has", len(files), len(names), err)
	}
}

func mergedText(t *testing.T, p *plan.Plan) []byte {
	t.Helper()
	var facts map[string]string
	for range every[*plan.Reservations](p) {
		facts = map[string]string{"cpus": "4", "memoryMiB": "16383"}
	}
	var target, patch map[string]any
	for text, tree := range map[string]*map[string]any{linuxConfig: &target, string(patchText(t, p, facts)): &patch} {
		expect.OK(t, yaml.Unmarshal([]byte(text), tree))
	}
	merge.Into(target, patch)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", " ")
	expect.OK(t, encoder.Encode(target))
	return out.Bytes()
}

// Whatever a user writes becomes a plan that is valid, or a refusal that names a field: never a fault of ours.
func FuzzKubelet(f *testing.F) {
	f.Add("node-ip", "::", "WinDSR", `{"containerLogMaxFiles": 3}`, "1", "2Gi", "5%", int32(0))
	f.Add("vmodule", "a=1", "NodeLogQuery", `{"tracing": null, "logging": {"format": "json"}}`, "500m", "1025Mi", "1Gi", int32(2048))
	f.Add("image-credential-provider-config", `C:\a b\`, "", `{"evictionSoft": {"fact": "cpus"}}`, "0", "", "", int32(-1))
	f.Fuzz(func(t *testing.T, name, value, gate, config, cpu, memory, left string, pageFile int32) {
		in := plainInput(t, ofTemplateSize, withConfig(config))
		in.Config.Spec.Reservations = bootstrapv1.Reservations{
			System:   bootstrapv1.Reserved{CPU: bootstrapv1.Amount(cpu), Memory: bootstrapv1.Amount(memory)},
			Eviction: bootstrapv1.Eviction{MemoryAvailable: bootstrapv1.Amount(left)},
		}
		if name != "" {
			withArg(name, value)(&in)
		}
		if gate != "" {
			withGate(gate, bootstrapv1.StateEnabled)(&in)
		}
		if pageFile != 0 {
			in.Config.Spec.Windows.PageFile = bootstrapv1.PageFile{Policy: bootstrapv1.PageFileFixed, SizeMiB: pageFile}
		}
		userData, err := bootstrap.Render(in)
		refused, _ := errors.AsType[*bootstrap.InvalidError](err)
		if err != nil && refused == nil {
			t.Fatalf("a fault of ours: %v", err)
		}
		if err == nil {
			checkUserData(t, userData.Bytes())
		}
	})
}
