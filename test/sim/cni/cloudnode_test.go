package cni

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// kubeProxyConfig is what kubeadm writes into the ConfigMap kube-proxy.
const kubeProxyConfig = `apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: "https://10.0.0.1:6443"}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
users: [{name: default, user: {tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}]
current-context: default
`

// Azure's node manager gives a Node its address and takes the taint off; without what its DaemonSet mounts it does nothing.
func TestCloudNodeManager(t *testing.T) {
	t.Parallel()
	whole := func() map[string]Mount {
		return map[string]Mount{
			"/scripts":      {Files: map[string]string{"start.ps1": "#"}},
			"/var/lib/cpaw": {Files: map[string]string{"kubeconfig.conf": kubeProxyConfig}},
		}
	}
	for name, test := range map[string]struct {
		without, node, want string
	}{
		"whole":             {"", "win-1", ""},
		"no node's name":    {"", "", "the environment variable NODE_NAME is not set"},
		"no scripts":        {"/scripts", "win-1", "'/scripts/start.ps1' is not recognized"},
		"no kubeconfig":     {"/var/lib/cpaw", "win-1", "Cannot find path '/var/lib/cpaw/kubeconfig.conf'"},
		"the taint of none": {"", "win-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := fake.NewClientset(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "win-1"},
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{
					{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule},
					{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
				}},
			}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-2"}})
			mounts := whole()
			delete(mounts, test.without)
			var told bytes.Buffer
			c := &Container{
				Machine: expect.Got(windows.New(t.TempDir()))(t), Name: "cloud-node-manager", Mounts: mounts, Log: &told,
				Command: []string{"powershell.exe", "$env:CONTAINER_SANDBOX_MOUNT_POINT/scripts/start.ps1"}, HostIP: "10.1.0.4",
				Env: map[string]string{"NODE_NAME": test.node}, Account: func() (kubernetes.Interface, error) { return api, nil },
			}
			ctx, end := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- c.Run(ctx, func() {}) }()
			if test.want == "" {
				wait.Until(t, "an initialized Node", func() (any, bool) {
					node := expect.Got(api.CoreV1().Nodes().Get(t.Context(), test.node, metav1.GetOptions{}))(t)
					known := len(node.Status.Addresses) == 2 && node.Status.Addresses[0].Address == "10.1.0.4"
					return node, len(node.Spec.Taints) < 2 && (known || test.node == "win-2")
				})
				end()
			}
			err := <-over
			end()
			if said := told.String(); test.want == "" && (err != nil || said != "") {
				t.Errorf("it ends with %v: %s", err, said)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("it ends with %v, want %q", err, test.want)
			}
		})
	}
}
