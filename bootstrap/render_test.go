package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "use the golden plans anew")

// goldenCase is a machine whose whole plan is kept in testdata/golden, to be read when it changes.
type goldenCase struct {
	name, reason string
	change       change
}

var goldens = slices.Concat(plainGoldens, networkGoldens, addressGoldens, settingsGoldens)

var plainGoldens = []goldenCase{
	{"vsphere", "the plainest of machines", nil},
	{"vsphere-template-size", "the node finds its reservations", ofTemplateSize},
	{"vsphere-template-memory", "half is known, half found", func(in *bootstrap.Input) {
		in.WindowsMachine.Spec.VSphere.MemoryMiB = 0
	}},
	{"azure", "other channels, copies to erase, size by name only", onAzure},
	{"kubernetes-1.30", "kubeadm v1beta3, no log rotation", ofVersion("v1.30.14")},
	{"kubernetes-1.33", "kubeadm v1beta4, no log rotation", ofVersion("v1.33.5")},
	{"kubernetes-1.37", "the newest that is known", ofVersion("v1.37.1")},
	{"labels-and-taints", "the user's own", all(
		withLabels("example.com/pool=gpu", "example.com/batch"),
		withTaints(corev1.Taint{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoExecute}),
	)},
	{"no-taints", "only Cluster API's own is left", withTaints()},
	{"many-pods", "more pods, more memory for the kubelet", withPods(250)},
	{"many-pods-template-size", "a longer table", all(withPods(250), ofTemplateSize)},
	{"ipv6-new-ca", "brackets only where they belong, two pins, no look at the certificate", all(
		withEndpoint("fd00::10", 6443), withCA(bothCAs))},
	{"kubelet-flags", "the user's flags, log, priority and start", kubelet(`extraArgs: [
		{name: vmodule, value: kubelet_node_status=4},
		{name: image-credential-provider-bin-dir, value: 'C:\Program Files\providers\'},
		{name: image-credential-provider-config, value: 'C:\k\providers.yaml'}],
		priorityClass: High, start: AutomaticDelayed, log: {verbosity: 4, maxSizeMiB: 20, maxAgeHours: 24}`)},
	{"kubelet-log-directory", "a disk has room elsewhere", kubelet(`log: {directory: 'C:\Kubernetes Logs\kubelet'}`)},
	{"kubelet-no-cloud-provider", "nobody else makes the Node ready", all(kubelet(`cloudProvider: None`), withArg("node-ip", "::"))},
	{"kubelet-affinity", "a gate and the fields that need it", all(
		withGate("WindowsCPUAndMemoryAffinity", "Enabled"),
		withConfig(`{"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}`))},
	{"kubelet-log-query", "the gate is locked on", kubelet(`systemLogQuery: Enabled, serverCertificates: ClusterSigned`)},
	{"kubelet-log-query-1.35", "the gate must be set", at(
		"v1.35.4", kubelet(`systemLogQuery: Enabled, serverCertificates: SelfSigned`))},
	{"kubelet-configuration", "what has no field here", withConfig(`{"clusterDNS": ["10.96.0.10", "fd00::a"],
		"clusterDomain": "blue.local", "containerLogMaxSize": "20Mi", "containerLogMaxFiles": 3,
		"imageGCHighThresholdPercent": 70, "imageGCLowThresholdPercent": 60, "shutdownGracePeriod": "120s",
		"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "90s"}}`)},
	{"kubelet-1.30", "all that the oldest version takes", at("v1.30.14",
		kubelet(`systemLogQuery: Enabled, log: {verbosity: 0}`), withArg("logging-format", "json"),
		withGate("WindowsHostNetwork", "Disabled"), withConfig(`{"containerLogMaxSize": "20Mi"}`))},
	{"reservations", "all of it is said", reserved(`
		system: {cpu: '1', memory: 3Gi, ephemeralStorage: 10Gi}, kube: {cpu: 250m, memory: 1Gi, ephemeralStorage: 2Gi},
		eviction: {memoryAvailable: 5%, nodefsAvailable: 20%, imagefsAvailable: 10Gi}`)},
	{"reservations-template-size", "what is said needs no table", all(
		ofTemplateSize, reserved(`system: {cpu: '1'}, kube: {memory: 1Gi}`))},
	{"reservations-low-memory", "the user accepts it", all(
		ofSize(2, 4096), withLowMemory, reserved(`system: {memory: 1Gi}, kube: {memory: 512Mi}`))},
	{"page-file-managed", "a reboot, should it change", ofWindows(`pageFile: {policy: Managed}`)},
	{"page-file-fixed-azure", "it moves to the disk of Windows", all(
		onAzure, ofWindows(`pageFile: {policy: Fixed, sizeMiB: 8192}`))},
	{"at-a-time", "an old update is one at the time of the rendering", withNow},
	{"deadline", "the user's patience", spec(`bootstrapDeadlineSeconds: 3600`)},
}

func withNow(in *bootstrap.Input) { in.Now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) }

var (
	firstCA, secondCA = mustRead("testdata/ca.crt"), mustRead("testdata/ca-next.crt")
	bothCAs           = slices.Concat(firstCA, secondCA)
)

func mustRead(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return data
}

func render(tb testing.TB, in bootstrap.Input) bootstrap.UserData {
	tb.Helper()
	return expect.Got(bootstrap.Render(in))(tb)
}

func TestGoldenPlans(t *testing.T) {
	for _, golden := range goldens {
		t.Run(golden.name, func(t *testing.T) {
			encoded := expect.Got(render(t, plainInput(t, golden.change)).Plan().Encode())(t)
			var got bytes.Buffer
			expect.OK(t, json.Indent(&got, encoded, "", "  "))
			got.WriteByte('\n')
			path := filepath.Join("testdata", "golden", golden.name+".json")
			if *update {
				expect.OK(t, os.WriteFile(path, got.Bytes(), 0o600))
			}
			want := expect.Got(os.ReadFile(path))(t)
			expect.Same(t, golden.reason+"; go test ./bootstrap -update writes it anew", string(want), got.String())
		})
	}
}

func TestGoldenFilesAllUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) != len(goldens) {
		t.Errorf("%d files for %d golden plans (%v): remove those that no case has", len(files), len(goldens), err)
	}
}

// The node gets the plan that Render made, and nothing else that differs from node to node.
func TestUserDataCarriesThePlan(t *testing.T) {
	for _, golden := range goldens {
		userData := render(t, plainInput(t, golden.change))
		carried := expect.Got(plan.Decode(expect.Got(scripts.Plan(userData.Bytes()))(t)))(t)
		want, _ := userData.Plan().Encode()
		got, _ := carried.Encode()
		if !bytes.Equal(want, got) {
			t.Errorf("%s: another plan arrives", golden.name)
		}
	}
}

func TestRenderIsPure(t *testing.T) {
	in := plainInput(t, withLabels("b", "a"))
	before := plainInput(t, withLabels("b", "a"))
	first := render(t, in)
	expect.Same(t, "the input after Render", before, in)
	if second := render(t, in); !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same input gives other bytes")
	}
}

// The token must not reach a log by accident.
func TestUserDataHidesItself(t *testing.T) {
	userData := render(t, plainInput(t))
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", userData, userData, userData, userData),
		fmt.Sprintf("%v %+v %#v %s", userData.Plan(), userData.Plan(), userData.Plan(), userData.Plan()),
		fmt.Sprint(userData.MarshalLog()),
		fmt.Sprint(userData.Plan().MarshalLog()),
	} {
		if strings.Trim(text, " ") == "" || strings.Trim(strings.ReplaceAll(text, "[hidden]", ""), " ") != "" {
			t.Errorf("printed as %q", text)
		}
	}
}

// What holds for the plan of every machine.
func TestPlansKeepTheirPromises(t *testing.T) {
	listed := map[string]bool{}
	for _, reason := range bootstrap.Reasons() {
		listed[reason] = true
	}
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", golden.name, err)
		}
		if len(p.Redact) < 2 || p.Redact[0] != testToken || p.Redact[1] != testSecret {
			t.Errorf("%s: redact %q does not begin with the token and its secret", golden.name, p.Redact)
		}
		if len(p.Redact) > 2 && golden.change == nil {
			t.Errorf("%s: %q is hidden, and nobody has written it", golden.name, p.Redact[2:])
		}
		for _, phase := range p.Phases {
			for _, step := range phase.Steps {
				checkPromises(t, p, phase, step, listed)
			}
		}
	}
}

// erased tells whether a file is gone from the node in the end.
func erased(p *plan.Plan, file *plan.File) bool {
	patterns := slices.Clone(p.Erase)
	for _, channel := range p.Report {
		patterns = append(patterns, channel.Erase...)
	}
	return slices.ContainsFunc(patterns, func(pattern plan.Value) bool { return pattern.String() == file.Path.String() })
}

func checkPromises(t *testing.T, p *plan.Plan, phase plan.Phase, step plan.Step, listed map[string]bool) {
	t.Helper()
	where := phase.Name + "/" + step.Base().Name
	if !listed[step.Base().Reason] {
		t.Errorf("%s fails for reason %q, which Reasons does not explain", where, step.Base().Reason)
	}
	if run, ok := step.(*plan.Run); ok {
		for _, rule := range run.Diagnose {
			if !listed[rule.Reason] {
				t.Errorf("%s is diagnosed as %q, which Reasons does not explain", where, rule.Reason)
			}
		}
	}
	file, ok := step.(*plan.File)
	if !ok || !strings.Contains(file.Text.String(), testSecret) {
		return
	}
	if file.Access != plan.FileAdmin {
		t.Errorf("%s writes the token into a file that everybody reads", where)
	}
	if !erased(p, file) {
		t.Errorf("%s writes the token into %s, which is not erased", where, file.Path)
	}
}
