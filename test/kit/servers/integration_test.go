package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// patience is how long a test waits for what should take a second or two, on a busy machine.
const patience = time.Minute

func TestClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	binaries := expect.Got(Ensure(t.Context(), t.Output()))(t)
	management := startManagement(t, binaries)
	workload := startWorkload(t, binaries)
	key := types.NamespacedName{Namespace: "team-a", Name: "linux-first"}
	timed(t, "join", func(ctx context.Context) error {
		return JoinAsCluster(ctx, management, workload, JoinOptions{Namespace: key.Namespace, Name: key.Name})
	})

	t.Run("cluster-info is public and signed", func(t *testing.T) { testClusterInfo(t, workload) })
	t.Run("a node gets its certificate for a bootstrap token", func(t *testing.T) { testNodeCertificate(t, workload) })
	t.Run("nodes may do what their services need and no more", func(t *testing.T) { testNodeRights(t, workload, "") })
	t.Run("a refusal of nodes' rights is told", func(t *testing.T) { testRefusedRights(t, workload) })
	t.Run("guests' rights leave what is somebody else's", func(t *testing.T) { testForeignGuestRights(t, workload) })
	t.Run("a guest replaces its own report and nothing else", func(t *testing.T) { testGuestReports(t, workload) })
	t.Run("kubelets are told where certificates lie on a node", func(t *testing.T) { testKubeletConfig(t, workload) })
	t.Run("pods wait for the Linux node and are bound to it", func(t *testing.T) { testScheduling(t, workload) })
	t.Run("Cluster API waits for the control plane and then connects", func(t *testing.T) { testInitialized(t, management, key) })
	t.Run("Cluster API brings the addons of Windows nodes", func(t *testing.T) { testAddons(t, management, workload, key) })
	t.Run("a manager of ours hands over", func(t *testing.T) { testHandOver(t, management) })
	t.Run("stopping leaves no process", func(t *testing.T) { testStop(t, management, workload) })
}

func startManagement(t *testing.T, binaries Binaries) *Management {
	t.Helper()
	var m *Management
	timed(t, "management cluster", func(ctx context.Context) (err error) {
		m, err = StartManagement(ctx, ManagementOptions{Binaries: binaries, Dir: filepath.Join(t.TempDir(), "management")})
		return err
	})
	t.Cleanup(func() { _ = m.Stop() })
	timed(t, "cluster api", func(ctx context.Context) error { return InstallCAPI(ctx, m, CAPIOptions{}) })
	return m
}

func startWorkload(t *testing.T, binaries Binaries) *Workload {
	t.Helper()
	var w *Workload
	timed(t, "workload cluster", func(ctx context.Context) (err error) {
		dir := filepath.Join(t.TempDir(), "workload")
		w, err = StartWorkload(ctx, WorkloadOptions{Binaries: binaries, Dir: dir, WithoutNode: true})
		return err
	})
	t.Cleanup(func() { _ = w.Stop() })
	return w
}

func timed(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	start := time.Now()
	expect.OK(t, do(t.Context()))
	t.Logf("%s: %s", what, time.Since(start).Round(10*time.Millisecond))
}

func testClusterInfo(t *testing.T, w *Workload) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.CA)
	anonymous := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	defer anonymous.CloseIdleConnections()
	url := w.Config.Host + "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	wait.Eventually(t, "the signed cluster-info", func(ctx context.Context) error {
		info, err := getConfigMap(ctx, anonymous, url)
		if err != nil {
			return err
		}
		if !strings.Contains(info.Data["kubeconfig"], "server: "+w.Config.Host+"\n") {
			return wait.Final(fmt.Errorf("cluster-info does not lead to %s: %s", w.Config.Host, info.Data["kubeconfig"]))
		}
		for name, value := range info.Data {
			if strings.HasPrefix(name, "jws-kubeconfig-") && strings.Count(value, ".") == 2 {
				return nil
			}
		}
		return fmt.Errorf("no signature yet in %d entries", len(info.Data))
	})
}

func getConfigMap(ctx context.Context, c *http.Client, url string) (*corev1.ConfigMap, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("%s: %s", response.Status, body))
	}
	var found corev1.ConfigMap
	return &found, json.Unmarshal(body, &found)
}

func testKubeletConfig(t *testing.T, w *Workload) {
	found := expect.Got(w.client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kubelet-config", metav1.GetOptions{}))(t)
	if want := "clientCAFile: /etc/kubernetes/pki/ca.crt"; !strings.Contains(found.Data["kubelet"], want) {
		t.Errorf("kubelet-config has no %q:\n%s", want, found.Data["kubelet"])
	}
}

func testScheduling(t *testing.T, w *Workload) {
	pods := func(ctx context.Context) ([]corev1.Pod, error) {
		list, err := w.client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
		if err == nil && len(list.Items) != 2 {
			err = fmt.Errorf("%d pods of CoreDNS, want 2", len(list.Items))
		}
		return list.Items, err
	}
	wait.Eventually(t, "the pods of CoreDNS", func(ctx context.Context) error {
		found, err := pods(ctx)
		for _, pod := range found {
			if pod.Spec.NodeName != "" {
				return wait.Final(fmt.Errorf("pod %s is bound to %s before there is a node", pod.Name, pod.Spec.NodeName))
			}
		}
		return err
	})
	timed(t, "register node", w.RegisterControlPlaneNode)
	timed(t, "register node again", w.RegisterControlPlaneNode)
	wait.Eventually(t, "the pods of CoreDNS", func(ctx context.Context) error {
		found, err := pods(ctx)
		for _, pod := range found {
			if pod.Spec.NodeName != ControlPlaneNode {
				err = errors.Join(err, fmt.Errorf("pod %s is bound to %q", pod.Name, pod.Spec.NodeName))
			}
		}
		return err
	})
	wait.Eventually(t, "the node", func(ctx context.Context) error { return nodeIsReady(ctx, w.client) })
}

// nodeIsReady also wants what only real controllers do: a pod network, and no taint but the control plane's.
func nodeIsReady(ctx context.Context, c kubernetes.Interface) error {
	node, err := c.CoreV1().Nodes().Get(ctx, ControlPlaneNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.PodCIDR == "" || len(node.Spec.Taints) != 1 {
		return fmt.Errorf("node has pod network %q and taints %v", node.Spec.PodCIDR, node.Spec.Taints)
	}
	return nil
}

func testInitialized(t *testing.T, m *Management, key types.NamespacedName) {
	api := expect.Got(m.client())(t)
	status := func(want metav1.ConditionStatus, kinds ...string) probe {
		return func(ctx context.Context) error {
			var cluster clusterv1.Cluster
			if err := api.Get(ctx, key, &cluster); err != nil {
				return err
			}
			return allAre(want, cluster.Status.Conditions, kinds)
		}
	}
	wait.Eventually(t, "the condition", status(metav1.ConditionFalse, clusterv1.ClusterControlPlaneInitializedCondition))
	timed(t, "mark initialized", func(ctx context.Context) error { return MarkInitialized(ctx, m, key) })
	timed(t, "control plane available", func(context.Context) error {
		wait.Eventually(t, "the conditions", status(metav1.ConditionTrue,
			clusterv1.ClusterControlPlaneInitializedCondition,
			clusterv1.ClusterControlPlaneAvailableCondition,
			clusterv1.ClusterRemoteConnectionProbeCondition,
		))
		return nil
	})
}

func allAre(want metav1.ConditionStatus, conditions []metav1.Condition, kinds []string) error {
	found := map[string]metav1.Condition{}
	for _, c := range conditions {
		found[c.Type] = c
	}
	for _, kind := range kinds {
		if found[kind].Status != want {
			return fmt.Errorf("condition %s is %q, want %s: %s", kind, found[kind].Status, want, found[kind].Message)
		}
	}
	return nil
}

// testStop stops twice, as a test's cleanup will.
func testStop(t *testing.T, m *Management, w *Workload) {
	var pids []int
	for _, g := range []*group{m.servers, w.servers} {
		for _, tier := range g.tiers {
			for _, p := range tier {
				pids = append(pids, p.pid)
			}
		}
	}
	for range 2 {
		timed(t, "stop", func(context.Context) error { return errors.Join(m.Stop(), w.Stop()) })
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if want := 13; len(pids) != want { // with three managers of ours
		t.Errorf("%d processes were running, want %d", len(pids), want)
	}
}
