package bootstrap_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// No input may change a byte of the scripts or escape its place in the plan: what differs between two machines is the
// plan's blob, and in the plan, text inside of values.
func FuzzRender(f *testing.F) {
	f.Add("blue", "blue-win", "uid-1", "vsphere://1", "10.0.0.10", "a", "b", "os", "windows", int32(110), int32(4))
	f.Add(`'@`, "\n'@\nRemove-Item C:\\", `"`, `$(calc)`, `"; calc`, `{"fact":"cpus"}`, "@@PLAN@@", "`r`n", "<powershell>", int32(1), int32(0))
	f.Add("\u2028", "Content-Type: multipart", "#>", "{{ x }}", "api.example.com", "kubernetes.io/os", ",", "=", "'", int32(500), int32(2))
	plain := plainInput(f)
	shape := skeleton(f, render(f, plain).Plan())
	f.Fuzz(func(t *testing.T, cluster, machine, uid, provider, host, label, labelValue, taint, taintValue string, pods, cpus int32) {
		in := plainInput(t, withEndpoint(host, 6443), withPods(min(max(pods, 1), 500)),
			withLabels(bootstrapv1.NodeLabel{Name: label, Value: labelValue}),
			withTaints(corev1.Taint{Key: taint, Value: taintValue, Effect: corev1.TaintEffectNoSchedule}))
		in.Cluster.Name, in.Machine.Name, in.Machine.UID = cluster, machine, types.UID(uid)
		in.WindowsMachine.Spec.ProviderID = provider
		in.WindowsMachine.Spec.VSphere.CPUs = min(max(cpus, 1), 768)
		userData, err := bootstrap.Render(in)
		if err != nil {
			if strings.Contains(err.Error(), testSecret) {
				t.Fatal("the error tells the token")
			}
			return
		}
		checkUserData(t, userData.Bytes())
		data, err := scripts.Plan(userData.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		carried, err := plan.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(cluster+machine+uid) && (carried.Machine.Cluster != cluster || carried.Machine.UID != uid) {
			t.Errorf("machine arrives as %+v", carried.Machine)
		}
		if got := skeleton(t, carried); got != shape {
			t.Errorf("input changes the plan's shape:\n%s\n%s", shape, got)
		}
	})
}

// skeleton is all of a plan that no input may change.
func skeleton(tb testing.TB, p *plan.Plan) string {
	tb.Helper()
	var shape strings.Builder
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			shape.WriteString(phase.Name + "/" + step.Base().Name + ":" + string(step.Kind()) + " ")
			switch step := step.(type) {
			case *plan.File:
				shape.WriteString(step.Path.String() + " ")
			case *plan.Run:
				for _, arg := range append(step.Argv, step.Undo...) {
					shape.WriteString(arg.String() + " ")
				}
			}
		}
	}
	return shape.String()
}

// checkUserData holds user data against what cloudbase-init would make of it.
func checkUserData(t *testing.T, data []byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("#ps1_sysnative\n")) {
		t.Fatal("cloudbase-init would not know it for PowerShell")
	}
	for i, b := range data {
		if b != '\n' && (b < ' ' || b > '~') {
			t.Fatalf("byte %d is %#x: PowerShell 5.1 would read it in the code page of the machine", i, b)
		}
	}
	head, _, _ := bytes.Cut(data, []byte("\n\n"))
	for word, consequence := range map[string]string{
		"Content-Type: multipart": "cloudbase-init would take it for MIME, and all of it would vanish",
		"## template: jinja":      "cloudbase-init would fill it in",
	} {
		if bytes.Contains(head, []byte(word)) {
			t.Errorf("%q in the head: %s", word, consequence)
		}
	}
	for _, tag := range []string{"<powershell>", "<script>"} {
		if bytes.Contains(bytes.ToLower(data), []byte(tag)) {
			t.Errorf("%q: cloudbase-init would look for EC2Config", tag)
		}
	}
}

func TestUserDataIsTakenByCloudbaseInit(t *testing.T) {
	for _, golden := range goldens {
		checkUserData(t, render(t, plainInput(t, golden.changes...)).Bytes())
	}
}

func BenchmarkRender(b *testing.B) {
	for _, golden := range goldens {
		b.Run(golden.name, func(b *testing.B) {
			in := plainInput(b, golden.changes...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bootstrap.Render(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
