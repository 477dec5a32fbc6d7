package bootstrap_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	testToken  = "abcdef.0123456789abcdef"
	testSecret = "0123456789abcdef"
)

// plainInput is a good Input: a machine on vSphere of known size, everything else left out.
func plainInput(tb testing.TB, changes ...change) bootstrap.Input {
	tb.Helper()
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue-win-x7k2p", UID: "0b6f2f0e-52b0-4a5c-9d53-2f1f3f7f9d10"},
			Spec:       clusterv1.MachineSpec{Version: "v1.36.3"},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec: infrav1.WindowsMachineSpec{
				ProviderID: "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11",
				VSphere:    &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384},
			},
			Status: infrav1.WindowsMachineStatus{ComputerName: "blue-win-x7k2p"},
		},
		Config:    &bootstrapv1.WindowsBootstrapConfig{},
		ClusterCA: slices.Clone(firstCA),
		Token:     testToken,
	}
	all(changes...)(&in)
	return in
}

// change makes another machine of a plain one; nil leaves it as it is.
type change func(*bootstrap.Input)

// all are several changes, one after the other.
func all(changes ...change) change {
	return func(in *bootstrap.Input) {
		for _, change := range changes {
			if change != nil {
				change(in)
			}
		}
	}
}

// The changes that the tests make to a plain Input.

func onAzure(in *bootstrap.Input) {
	in.WindowsMachine.Spec.VSphere = nil
	in.WindowsMachine.Spec.Azure = &infrav1.AzureVM{VMSize: "Standard_D4s_v5"}
	in.WindowsMachine.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/g" +
		"/providers/Microsoft.Compute/virtualMachines/blue-win-x7k2p"
}

func ofTemplateSize(in *bootstrap.Input) {
	in.WindowsMachine.Spec.VSphere.CPUs, in.WindowsMachine.Spec.VSphere.MemoryMiB = 0, 0
}

func ofVersion(version string) change {
	return func(in *bootstrap.Input) { in.Machine.Spec.Version = version }
}

// withLabels takes labels such as pool=a.
func withLabels(labels ...string) change {
	return func(in *bootstrap.Input) {
		in.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{}
		for _, label := range labels {
			name, value, _ := strings.Cut(label, "=")
			in.Config.Spec.Node.Labels[name] = bootstrapv1.LabelValue(value)
		}
	}
}

func withTaints(taints ...corev1.Taint) change {
	wanted := []bootstrapv1.NodeTaint{}
	for _, t := range taints {
		wanted = append(wanted, bootstrapv1.NodeTaint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return func(in *bootstrap.Input) { in.Config.Spec.Node.Taints = &wanted }
}

func withEndpoint(host string, port int32) change {
	return func(in *bootstrap.Input) {
		in.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: host, Port: port}
	}
}

func withCA(pem []byte) change {
	return func(in *bootstrap.Input) { in.ClusterCA = pem }
}

func withBlock(pool string, size int) change {
	return func(in *bootstrap.Input) { in.Block = bootstrap.Block{Pool: pool, Size: size} }
}

func withPods(count int32) change {
	return func(in *bootstrap.Input) { in.Config.Spec.Kubelet.MaxPods = count }
}

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

// A mistake of the user must name the field, the value and what to write; one of ours must not be told to the user.
func TestRenderRefuses(t *testing.T) {
	const version, endpoint, ca = "Machine spec.version", "Cluster spec.controlPlaneEndpoint", "Secret blue-ca, key tls.crt"
	const labels, taints = "WindowsBootstrapConfig spec.node.labels", "WindowsBootstrapConfig spec.node.taints"
	windows := taint("os", "windows", "NoSchedule")
	computer := func(name string) change {
		return func(in *bootstrap.Input) { in.WindowsMachine.Status.ComputerName = name }
	}
	token := func(text string) change { return func(in *bootstrap.Input) { in.Token = text } }
	key := "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	junk := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for _, test := range []struct {
		name, reason string
		change       change
		field, want  string // without a field it is our own fault
	}{
		{"no version", "kubeadm's configuration depends on it", ofVersion(""), version, "such as v1.36.3"},
		{
			"no version number", "nothing can be made of it", ofVersion("latest"),
			version, `"latest" is not a full version; use one such as v1.36.3`,
		},
		{
			"old version", "its kubelet does not take what we render", ofVersion("v1.29.9"),
			version, `"v1.29.9" is not supported; use v1.30.0 or a later v1`,
		},
		{"version 2", "nobody knows what it will be", ofVersion("v2.40.0"), version, "is not supported"},
		{"no endpoint", "there is nothing to join", withEndpoint("", 0), endpoint, "host or port is missing"},
		{"no port", "half an endpoint is not valid", withEndpoint("api", 0), endpoint, "host or port is missing"},
		{"URL as host", "kubeadm wants a host", withEndpoint("https://api", 6443), endpoint, `"https://api" is neither`},
		{"brackets", "we add them ourselves", withEndpoint("[fd00::1]", 6443), endpoint, "without scheme, port and brackets"},
		{"large port", "there is none such", withEndpoint("api", 70000), endpoint, "port 70000 is not valid"},
		{"negative port", "there is none such", withEndpoint("api", -1), endpoint, "port -1 is not valid"},
		{"no CA", "a node trusts nobody blindly", withCA(nil), ca, "there is no certificate"},
		{"text as CA", "it pins nothing", withCA([]byte("hello")), ca, "there is no certificate"},
		{
			"key as CA", "somebody mixed up the keys of the Secret", withCA([]byte(key)),
			ca, "a private key does not belong here; use certificates only",
		},
		{"broken CA", "a pin of nothing would trust nobody", withCA([]byte(junk)), ca, "cannot be read"},
		{"label without name", "the kubelet exits", withLabels("=x"), labels, `name ""`},
		{"label with comma", "it would become two", withLabels("a=b,c=d"), labels, `value "b,c=d" of a`},
		{
			"label of Kubernetes", "the kubelet exits", withLabels("node-role.kubernetes.io/worker"),
			labels, "metadata.labels of the Machine",
		},
		{
			"label for os", "the node would call itself Linux",
			withLabels("kubernetes.io/os=linux"),
			labels, "must not set the label kubernetes.io/os",
		},
		{"taint without key", "the API server refuses the Node", withTaints(taint("", "", "NoSchedule")), taints, `key ""`},
		{
			"taint with odd value", "the API server refuses the Node",
			withTaints(taint("a", "b c", "NoSchedule")),
			taints, `value "b c" of a`,
		},
		{
			"taint with odd effect", "the API server refuses the Node", withTaints(taint("a", "", "Never")),
			taints, `effect "Never" of a is not valid; use NoSchedule`,
		},
		{"taint twice", "the API server refuses the Node", withTaints(windows, windows), taints, "os:NoSchedule is listed twice"},
		{
			"taint of Cluster API", "it is always there", withTaints(clusterv1.NodeUninitializedTaint),
			taints, "is always added; remove it",
		},

		{"no Cluster", "the caller was too early", func(in *bootstrap.Input) { in.Cluster = nil }, "", "are required"},
		{"no UID", "the node's reports could not be told apart", func(in *bootstrap.Input) { in.Machine.UID = "" }, "", "no UID"},
		{"no computer name", "our machine controller writes it", computer(""), "", "status.computerName"},
		{"long computer name", "Windows would cut it", computer("blue-win-x7k2pqq"), "", "status.computerName"},
		{"upper case", "the Node would have another name", computer("BLUE"), "", "status.computerName"},
		{
			"no provider ID", "our machine controller writes it", func(in *bootstrap.Input) { in.WindowsMachine.Spec.ProviderID = "" },
			"", "spec.providerID",
		},
		{
			"a cloud of a newer API", "it is no other cloud", func(in *bootstrap.Input) { in.WindowsMachine.Spec.VSphere = nil },
			"WindowsMachine spec", "does not support the cloud; upgrade the manager",
		},
		{
			"two clouds", "the API forbids it", func(in *bootstrap.Input) { in.WindowsMachine.Spec.Azure = &infrav1.AzureVM{} }, "",
			"has both",
		},
		{
			"no placement", "our machine controller writes it", all(onAzure, node(`cloudConfigFile: Managed`)), "", "status.azure",
		},
		{"no token", "our bootstrap controller makes it", token(""), "", "id.secret"},
		{"odd token", "it would end in a command line", token("abcdef.0123456789abcde\n"), "", "id.secret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			userData, err := bootstrap.Render(plainInput(t, test.change))
			if err == nil {
				t.Fatalf("rendered, though %s", test.reason)
			}
			if len(userData.Bytes()) > 0 || userData.Plan() != nil {
				t.Error("there is user data beside the error")
			}
			refused, _ := errors.AsType[*bootstrap.InvalidError](err)
			if (refused != nil) != (test.field != "") || refused != nil && refused.Field != test.field {
				t.Errorf("field of %v, want %q", err, test.field)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), testSecret) {
				t.Errorf("%q, want %q and no secret", err, test.want)
			}
		})
	}
}

// Whatever a user may write must be taken.
func TestRenderTakes(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		change       change
	}{
		{"version without v", "kubeadm's own form", ofVersion("1.36.3")},
		{"version with build", "distributions add one", ofVersion("v1.34.2+vmware.1")},
		{"version as image tag", "the same as a tag", ofVersion("v1.34.2_vmware.1")},
		{"pre-release", "CI tests them", ofVersion("v1.37.0-alpha.1")},
		{"IPv6 endpoint", "dual-stack clusters have one", withEndpoint("fd00::10", 6443)},
		{"name with capitals", "DNS does not mind", withEndpoint("API.example.com", 443)},
		{"two CAs", "the CA is being replaced", withCA(bothCAs)},
		{"text around the CA", "openssl writes it", withCA(append([]byte("subject=CN = kubernetes\n"), firstCA...))},
		{"label without value", "it marks", withLabels("example.com/gpu")},
		{"label below node.kubernetes.io", "kubelets may", withLabels("node.kubernetes.io/pool=a")},
		{"zone", "kubelets may", withLabels("topology.kubernetes.io/zone=z1")},
		{"same taint, other effect", "that is another taint", withTaints(taint("a", "", "NoSchedule"), taint("a", "", "NoExecute"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, test.change))
			expect.Says(t, test.reason, err, "")
		})
	}
}
