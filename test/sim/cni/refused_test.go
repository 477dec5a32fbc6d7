package cni

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	kubeconfig = `C:\kubeconfig.conf`
	goodFlags  = `flanneld.exe --kube-subnet-mgr --kubeconfig-file=C:\kubeconfig.conf --net-config-path=C:\net-conf.json ` +
		`--subnet-file=C:\run\flannel\subnet.env --iface=10.0.0.5`
)

// What the daemons are given must be what theirs take.
func TestRefused(t *testing.T) {
	t.Parallel()
	conf := func(backend string) map[string]string {
		return map[string]string{kubeconfig: "there", `C:\net-conf.json`: `{"Network": "10.244.0.0/16", "Backend": ` + backend + `}`}
	}
	proxy := func(settings string) map[string]string {
		return map[string]string{kubeconfig: "there", `C:\config.conf`: `{"hostnameOverride": "win-1", "clientConnection": ` +
			`{"kubeconfig": "C:\\kubeconfig.conf"}, "winkernel": {` + settings + `}}`}
	}
	const proxyFlags = `kube-proxy.exe --config=C:\config.conf`
	for _, test := range []struct {
		name, line string
		files      map[string]string
		node, want string
	}{
		{"VNI 1", goodFlags, conf(`{"Type": "vxlan", "VNI": 1}`), "win-1", "VNI [1] must be greater than or equal to 4096"},
		{"Linux' port", goodFlags, conf(`{"Type": "vxlan", "Port": 8472}`), "win-1", "Port [8472] is not supported on Windows"},
		{"no NODE_NAME", goodFlags, conf(`{"Type": "vxlan"}`), "", "POD_NAME and POD_NAMESPACE must be set"},
		{"no kubeconfig", goodFlags, nil, "win-1", "fail to create kubernetes config"},
		{"no net-conf", goodFlags, map[string]string{kubeconfig: "there"}, "win-1", "failed to read net conf"},
		{"another interface", goodFlags + "9", conf(`{"Type": "vxlan"}`), "win-1", "looking up interface 10.0.0.59"},
		{"a node without pod CIDR", goodFlags, conf(`{"Type": "vxlan"}`), "win-2", "pod cidr not assigned"},
		{"an unknown flag", goodFlags + " --windows-service", conf(`{"Type": "vxlan"}`), "win-1", "flag provided but not defined"},
		{"no network name", proxyFlags, proxy(``), "", "KUBE_NETWORK and network-flag not initialized"},
		{"no source VIP", proxyFlags, proxy(`"networkName": "vxlan0"`), "", "source-vip flag not set"},
		{"no file", proxyFlags, nil, "", "failed to load kube-proxy config file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := expect.Got(windows.New(t.TempDir()))(t)
			expect.OK(t, m.Setup(func(s *windows.State) {
				s.Adapters = []windows.Adapter{{Index: 6, Name: "node"}}
				s.Addresses = []windows.Address{{Index: 6, Address: "10.0.0.5/24"}}
				s.HNS = []map[string]any{{"kind": "networks", "ID": "1", "Name": "vxlan0", "Type": "Overlay"}}
			}))
			for path, text := range test.files {
				expect.OK(t, m.Put(path, []byte(text)))
			}
			var told bytes.Buffer
			call := &windows.Call{
				Machine: m, Argv: strings.Fields(test.line), Env: map[string]string{"NODE_NAME": test.node}, Stdout: &told, Stderr: &told,
			}
			program := Flanneld(cluster(m))
			if call.Argv[0] == "kube-proxy.exe" {
				program = KubeProxy("v1.36.3", cluster(m))
			}
			if code := program(t.Context(), call); code == 0 || !strings.Contains(told.String(), test.want) {
				t.Errorf("it ends with %d: %s, want %q", code, told.String(), test.want)
			}
		})
	}
}

// kube-proxy sets no rules while HNS does not give it its source VIP, and says in its metrics when it has.
func TestSourceVIPIsTaken(t *testing.T) {
	t.Parallel()
	for gateway, want := range map[string]bool{"10.244.3.254": false, "10.244.3.1": true} {
		t.Run("gateway "+gateway, func(t *testing.T) {
			t.Parallel()
			trySourceVIP(t, gateway, want)
		})
	}
}

func trySourceVIP(t *testing.T, gateway string, want bool) {
	t.Helper()
	m := expect.Got(windows.New(t.TempDir()))(t)
	m.Clock = windows.NewFastClock(100)
	expect.OK(t, m.Setup(func(s *windows.State) {
		s.HNS = []map[string]any{{
			"kind": "networks", "ID": "1", "Name": "vxlan0", "Type": "Overlay",
			"Subnets": []any{map[string]any{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": gateway}},
		}}
	}))
	expect.OK(t, m.Put(kubeconfig, []byte("there")))
	expect.OK(t, m.Put(`C:\config.conf`, []byte(`{"hostnameOverride": "win-1", "clientConnection": `+
		`{"kubeconfig": "C:\\kubeconfig.conf"}, "winkernel": {"networkName": "vxlan0", "sourceVip": "10.244.3.254"}}`)))
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 1)
	go func() {
		var told bytes.Buffer
		call := &windows.Call{
			Machine: m, Argv: []string{"kube-proxy.exe", `--config=C:\config.conf`}, Stdout: &told, Stderr: &told,
		}
		KubeProxy("v1.36.3", cluster(m))(ctx, call)
		said <- told.String()
	}()
	page := ""
	limited, end := wait.Within(t.Context(), wait.Patience)
	defer end()
	expect.OK(t, wait.Poll(limited, func(ctx context.Context) error {
		result, err := m.Run(ctx, windows.Command{
			Argv:  []string{"curl.exe", "--silent", "--noproxy", "*", "http://127.0.0.1:10249/metrics"},
			Limit: time.Minute,
		})
		if page = result.Stdout; page == "" || want && !strings.Contains(page, "} 1") {
			return errors.Join(err, errors.New("not yet"))
		}
		return nil
	}))
	expect.OK(t, m.Clock.Sleep(t.Context(), 10*time.Second))
	cancel()
	told := <-said
	if has := strings.Contains(page, "} 1"); has != want || strings.Contains(told, "Source Vip endpoint creation failed") == want {
		t.Errorf("gateway %s: %s\n%s", gateway, page, told)
	}
}

// cluster has two nodes, of which one has no pod CIDR yet.
func cluster(m *windows.Machine) Connect {
	return func(path, _ string) (kubernetes.Interface, error) {
		if !m.FileExists(path) {
			return nil, errors.New("stat: no such file")
		}
		return fake.NewClientset(
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}, Spec: corev1.NodeSpec{PodCIDR: "10.244.3.0/24"}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-2"}}), nil
	}
}

// containerd is ready as soon as a configuration loads, whether or not its plug-in is there: an ADD fails then.
func TestNotReady(t *testing.T) {
	t.Parallel()
	m := expect.Got(windows.New(t.TempDir()))(t)
	const conf, listed = Folder + `\10-flannel.conf`, Folder + `\05-list.conflist`
	for _, step := range []struct{ path, text, log, status, add string }{
		{`C:\etc\cni\net.d\README.txt`, "text", "no network config found", "cni plugin not initialized", ""},
		{conf, "{", "failed to load CNI config file 10-flannel.conf: error parsing", "cni plugin not initialized", ""},
		{conf, `{"name": "cbr0"}`, "missing 'type'", "cni plugin not initialized", ""},
		{conf, `{"name": "cbr0", "type": "flannel"}`, "", "", `failed to find plugin "flannel" in path`},
		{listed, `{"plugins": [{"type": "antrea"}]}`, "no name", "cni plugin not initialized", ""},
		{listed, `{"name": "antrea", "plugins": [{}]}`, "plugin config 0: error parsing configuration: missing", "not initialized", ""},
		{
			listed, `{"name": "antrea", "cniVersion": "1.0.0", "plugins": [{"type": "antrea"}]}`, "", "",
			`failed to find plugin "antrea" in path`,
		},
		{
			listed, `{"name": "antrea", "cniVersion": "1.1.0", "plugins": [{"type": "antrea"}]}`, "",
			`failed to find plugin "antrea" in path`, `failed to find plugin "antrea" in path`,
		},
		{Programs + `\antrea.exe`, "a program", "", "", `\\.\pipe\`},
	} {
		expect.OK(t, m.Put(step.path, []byte(step.text)))
		_, err := load(m)
		if has(err) != (step.log != "") || !strings.Contains(fmt.Sprint(err), step.log) {
			t.Errorf("%s with %s: it loads with %v, want %q", step.path, step.text, err, step.log)
		}
		if got := NotReady(m); !strings.Contains(got, step.status) || (got == "") != (step.status == "") {
			t.Errorf("%s with %s: %q, want %q", step.path, step.text, got, step.status)
		}
		if _, err := Add(t.Context(), m, "pod"); step.add != "" && !strings.Contains(fmt.Sprint(err), step.add) {
			t.Errorf("%s with %s: ADD ends with %v, want %q", step.path, step.text, err, step.add)
		}
	}
}

func has(err error) bool { return err != nil }
