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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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
		withEndpoint("fd00::10", 6443),
		func(in *bootstrap.Input) { in.ClusterCA = append(in.ClusterCA, secondCA...) },
	)},
	{"kubelet-flags", "the user's flags, log, priority and start", withKubelet(bootstrapv1.Kubelet{
		ExtraArgs: []bootstrapv1.KubeletArg{
			arg("vmodule", "kubelet_node_status=4"), arg("image-credential-provider-bin-dir", `C:\Program Files\providers\`),
			arg("image-credential-provider-config", `C:\k\providers.yaml`),
		},
		PriorityClass: bootstrapv1.PriorityHigh, Start: bootstrapv1.ServiceStartAutomaticDelayed,
		Log: bootstrapv1.KubeletLog{Verbosity: new(int32(4)), MaxSizeMiB: 20, MaxAgeHours: 24},
	})},
	{"kubelet-log-directory", "a disk has room elsewhere", withKubelet(bootstrapv1.Kubelet{
		Log: bootstrapv1.KubeletLog{Directory: `C:\Kubernetes Logs\kubelet`},
	})},
	{"kubelet-no-cloud-provider", "nobody else makes the Node ready", withKubelet(bootstrapv1.Kubelet{
		CloudProvider: bootstrapv1.CloudProviderNone, ExtraArgs: []bootstrapv1.KubeletArg{arg("node-ip", "::")},
	})},
	{"kubelet-affinity", "a gate and the fields that need it", withKubelet(bootstrapv1.Kubelet{
		FeatureGates:  []bootstrapv1.FeatureGate{{Name: "WindowsCPUAndMemoryAffinity", State: bootstrapv1.StateEnabled}},
		Configuration: raw(`{"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}`),
	})},
	{"kubelet-log-query", "the gate is locked on", withKubelet(bootstrapv1.Kubelet{
		SystemLogQuery: bootstrapv1.StateEnabled, ServerCertificates: bootstrapv1.ServerCertificatesClusterSigned,
	})},
	{"kubelet-log-query-1.35", "the gate must be set", all(ofVersion("v1.35.4"), withKubelet(bootstrapv1.Kubelet{
		SystemLogQuery: bootstrapv1.StateEnabled, ServerCertificates: bootstrapv1.ServerCertificatesSelfSigned,
	}))},
	{"kubelet-configuration", "what has no field here", withKubelet(bootstrapv1.Kubelet{
		Configuration: raw(`{"clusterDNS": ["10.96.0.10", "fd00::a"], "clusterDomain": "blue.local",
		  "containerLogMaxSize": "20Mi", "containerLogMaxFiles": 3, "imageGCHighThresholdPercent": 70,
		  "imageGCLowThresholdPercent": 60,
		  "shutdownGracePeriod": "120s", "evictionSoft": {"memory.available": "1Gi"},
		  "evictionSoftGracePeriod": {"memory.available": "90s"}}`),
	})},
	{"kubelet-1.30", "all that the oldest version takes", all(ofVersion("v1.30.14"), withKubelet(bootstrapv1.Kubelet{
		ExtraArgs: []bootstrapv1.KubeletArg{arg("logging-format", "json")}, SystemLogQuery: bootstrapv1.StateEnabled,
		FeatureGates: []bootstrapv1.FeatureGate{{Name: "WindowsHostNetwork", State: bootstrapv1.StateDisabled}},
		Log:          bootstrapv1.KubeletLog{Verbosity: new(int32(0))}, Configuration: raw(`{"containerLogMaxSize": "20Mi"}`),
	}))},
	{"reservations", "all of it is said", withReservations(bootstrapv1.Reservations{
		System:   bootstrapv1.Reserved{CPU: "1", Memory: "3Gi", EphemeralStorage: "10Gi"},
		Kube:     bootstrapv1.Reserved{CPU: "250m", Memory: "1Gi", EphemeralStorage: "2Gi"},
		Eviction: bootstrapv1.Eviction{MemoryAvailable: "5%", NodeFSAvailable: "20%", ImageFSAvailable: "10Gi"},
	})},
	{"reservations-template-size", "what is said needs no table", all(ofTemplateSize, withReservations(bootstrapv1.Reservations{
		System: bootstrapv1.Reserved{CPU: "1"}, Kube: bootstrapv1.Reserved{Memory: "1Gi"},
	}))},
	{"reservations-low-memory", "the user accepts it", all(ofSize(2, 4096), withReservations(bootstrapv1.Reservations{
		System: bootstrapv1.Reserved{Memory: "1Gi"}, Kube: bootstrapv1.Reserved{Memory: "512Mi"},
		LowMemory: bootstrapv1.LowMemoryAccepted,
	}))},
	{"page-file-managed", "a reboot, should it change", withPageFile(bootstrapv1.PageFile{Policy: bootstrapv1.PageFileManaged})},
	{"page-file-fixed-azure", "it moves to the disk of Windows", all(
		onAzure, withPageFile(bootstrapv1.PageFile{Policy: bootstrapv1.PageFileFixed, SizeMiB: 8192}),
	)},
	{"deadline", "the user's patience", func(in *bootstrap.Input) { in.Config.Spec.DeadlineSeconds = 3600 }},
}

var firstCA, secondCA = mustRead("testdata/ca.crt"), mustRead("testdata/ca-next.crt")

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
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s; go test ./bootstrap -update writes it anew (-want +got):\n%s", golden.reason, diff)
			}
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
		data, err := scripts.Plan(userData.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", golden.name, err)
		}
		carried, err := plan.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", golden.name, err)
		}
		want, _ := userData.Plan().Encode()
		got, _ := carried.Encode()
		if !bytes.Equal(want, got) {
			t.Errorf("%s: another plan arrives", golden.name)
		}
		if n := len(userData.Bytes()); n > 40_000 {
			t.Errorf("%s: %d bytes of user data: what made it so large?", golden.name, n)
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
		listed[reason.Name] = true
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
	if file.Access != plan.AccessAdmin {
		t.Errorf("%s writes the token into a file that everybody reads", where)
	}
	erased := false
	for _, pattern := range p.Erase {
		erased = erased || pattern.String() == file.Path.String()
	}
	if !erased {
		t.Errorf("%s writes the token into %s, which is not erased", where, file.Path)
	}
}
