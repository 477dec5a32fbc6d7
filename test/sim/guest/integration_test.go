package guest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// cluster is a real workload cluster.
type cluster struct {
	*servers.Workload
	client kubernetes.Interface
	token  string
}

func TestJoin(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	c := startCluster(t)
	t.Run("a node joins, lives and comes back", func(t *testing.T) { testHealthyNode(t, c) })
	t.Run("a node joins by a kubeconfig", func(t *testing.T) { testDiscoveryFile(t, c) })
	t.Run("failures have their names", func(t *testing.T) { testFailures(t, c) })
	t.Run("a kubelet without a certificate has not joined", func(t *testing.T) { testNoCertificate(t, c) })
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	binaries := expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	w := expect.Got(servers.StartWorkload(t.Context(),
		servers.WorkloadOptions{Binaries: binaries, Dir: filepath.Join(t.TempDir(), "workload"), WithoutNode: true}))(t)
	t.Cleanup(func() { _ = w.Stop() })
	client := expect.Got(kubernetes.NewForConfig(w.Config))(t)
	expect.OK(t, pods.Cluster{Config: w.Config, Host: w.Host, Port: w.Port, Version: w.Version}.Apply(t.Context()))
	secrets, err := client.CoreV1().Secrets("kube-system").List(t.Context(),
		metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil || len(secrets.Items) == 0 {
		t.Fatalf("%d bootstrap tokens (%v)", len(secrets.Items), err)
	}
	data := secrets.Items[0].Data
	return &cluster{Workload: w, client: client, token: string(data["token-id"]) + "." + string(data["token-secret"])}
}

// userData is what the product renders for a machine of this name.
func (c *cluster) userData(t *testing.T, name string, changes ...func(*bootstrap.Input)) []byte {
	t.Helper()
	in := input(name, c.Version, &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384})
	in.Cluster.Spec.ControlPlaneEndpoint.Host = c.Host
	in.Cluster.Spec.ControlPlaneEndpoint.Port = int32(c.Port) //nolint:gosec // because a port fits
	in.ClusterCA, in.Token = c.CA, c.token
	in.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"example.com/pool": "a"}
	for _, change := range changes {
		change(&in)
	}
	return expect.Got(bootstrap.Render(in))(t).Bytes()
}

func (c *cluster) node(ctx context.Context, name string) (*corev1.Node, error) {
	return c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

func testHealthyNode(t *testing.T, c *cluster) {
	const name = "win-healthy"
	vm := newVM(c.userData(t, name), name)
	guest, off := c.run(t, vm, Faults{}, "")
	c.awaitReady(t, name)
	checkNode(t, c, name)
	wait.Until(t, "the node's lease", func() (any, bool) {
		lease, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), name, metav1.GetOptions{})
		return lease, err == nil && *lease.Spec.HolderIdentity == name && lease.OwnerReferences[0].Name == name
	})
	checkDisk(t, guest, c)

	// The Node goes while the guest is off, and the next start makes it again: with its certificate, not with the token.
	off()
	expect.OK(t, c.client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}))
	powerOn(t, guest, vm)
	wait.Eventually(t, "the node to be back", func(ctx context.Context) error {
		_, err := c.node(ctx, name)
		return err
	})
}

// run plays a guest until its bootstrap has ended: well where the reason is empty, failed for that reason elsewhere.
func (c *cluster) run(t *testing.T, vm *fakeVM, faults Faults, reason string) (guest *Simulated, off func()) {
	t.Helper()
	guest = &Simulated{Dir: t.TempDir(), KubernetesVersion: c.Version, Faults: faults}
	t.Cleanup(func() { showLogs(t, guest) })
	off = powerOn(t, guest, vm)
	if report := vm.awaitEnd(t); (report.State == plan.StateSucceeded) != (reason == "") || report.Reason != reason {
		t.Fatalf("the bootstrap ended %s: %s %q %v, want %q", report.State, report.Reason, report.Message, report.LastLines, reason)
	}
	return guest, off
}

func (c *cluster) awaitReady(t *testing.T, name string) {
	t.Helper()
	wait.Until(t, "the node to be Ready", func() (any, bool) {
		node, err := c.node(t.Context(), name)
		return []any{node, err}, err == nil && ready(node)
	})
}

// byFile is a machine whose user gives a kubeconfig, and whose Cluster has neither CA nor the right endpoint.
func (c *cluster) byFile(ca []byte) func(*bootstrap.Input) {
	return func(in *bootstrap.Input) {
		in.Config.Spec.Discovery.KubeconfigFrom.Secret = bootstrapv1.KeyReference{Name: "discovery", Key: "kubeconfig"}
		in.Cluster.Spec.ControlPlaneEndpoint.Port = 1
		in.ClusterCA = nil
		in.Sources = map[string][]byte{"secret/discovery/kubeconfig": fmt.Appendf(nil,
			"{kind: Config, clusters: [{cluster: {server: 'https://%s', certificate-authority-data: %s}}]}",
			net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), base64.StdEncoding.EncodeToString(ca))}
	}
}

// testDiscoveryFile: kubeadm finds the cluster by the file alone.
func testDiscoveryFile(t *testing.T, c *cluster) {
	const name = "win-file"
	guest, _ := c.run(t, newVM(c.userData(t, name, c.byFile(c.CA)), name), Faults{}, "")
	c.awaitReady(t, name)
	checkDisk(t, guest, c)
	if _, err := os.Stat(filepath.Join(guest.Dir, "C", "run", "kubeadm", "discovery.yaml")); !os.IsNotExist(err) {
		t.Errorf("the discovery file is left on the disk (%v)", err)
	}
}

// otherCA is of another cluster.
func otherCA(t *testing.T) []byte {
	t.Helper()
	return expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t)
}

func checkNode(t *testing.T, c *cluster, name string) {
	t.Helper()
	node := expect.Got(c.node(t.Context(), name))(t)
	for label, want := range map[string]string{
		"example.com/pool": "a", corev1.LabelOSStable: "windows", corev1.LabelWindowsBuild: "10.0.20348", corev1.LabelHostname: name,
	} {
		if node.Labels[label] != want {
			t.Errorf("label %s is %q, want %q", label, node.Labels[label], want)
		}
	}
	var taints []string
	for _, taint := range node.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	if !strings.Contains(strings.Join(taints, " "), "node.cloudprovider.kubernetes.io/uninitialized") {
		t.Errorf("taints are %v", taints)
	}
	if node.Spec.ProviderID != "vsphere://"+name || node.Status.NodeInfo.KubeletVersion != c.Version ||
		node.Status.NodeInfo.KernelVersion != "10.0.20348.2700" {
		t.Errorf("providerID %q, node info %+v", node.Spec.ProviderID, node.Status.NodeInfo)
	}
	memory := node.Status.Allocatable[corev1.ResourceMemory]
	if capacity := node.Status.Capacity[corev1.ResourceMemory]; capacity.Value() != 16384<<20 || memory.Cmp(capacity) >= 0 {
		t.Errorf("memory: capacity %v, allocatable %v", &capacity, &memory)
	}
}

// checkDisk: no secret is left where a person could find it.
func checkDisk(t *testing.T, guest *Simulated, c *cluster) {
	t.Helper()
	expect.OK(t, filepath.WalkDir(guest.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), c.token) {
			t.Errorf("%s holds the token", strings.TrimPrefix(path, guest.Dir))
		}
		return err
	}))
}

// showLogs of a guest that did not do as it should.
func showLogs(t *testing.T, guest *Simulated) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, pattern := range []string{
		"C/ProgramData/capwin/agent.log", "C/ProgramData/capwin/logs/*", "C/var/log/kubelet/*", "C/lab.log", "effects.log",
	} {
		paths := expect.Got(filepath.Glob(filepath.Join(guest.Dir, pattern)))(t)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			t.Logf("%s (%v)\n%s", path, err, text)
		}
	}
}

// short makes kubeadm and the plan impatient: what must fail shall not take minutes.
func short(t *testing.T, userData []byte, replace ...string) []byte {
	t.Helper()
	return repack(t, userData, append(replace,
		`"timeoutSeconds":600`, `"timeoutSeconds":5`, `"timeoutSeconds":60,`, `"timeoutSeconds":5,`,
		`"reason":"ApiServerCaMismatch","timeoutSeconds":180`, `"reason":"ApiServerCaMismatch","timeoutSeconds":5`,
		`"attempts":3`, `"attempts":1`,
		`\"discovery\":{`, `\"timeouts\":{\"discovery\":\"2s\",\"kubeletHealthCheck\":\"3s\",\"tlsBootstrap\":\"3s\"},`+
			`\"discovery\":{`)...)
}

func testFailures(t *testing.T, c *cluster) {
	closed := closedPort(t)
	authorities := expect.Got(cert.ParseCertsPEM(c.CA))(t)
	pin, other := publicKeyHash(authorities[0]), "sha256:"+strings.Repeat("0", 64)
	for _, one := range []struct {
		name   string
		faults Faults
		render func(in *bootstrap.Input)
		// replace in the plan what Render would not write.
		replace []string
		reason  string
	}{
		{
			"win-port",
			Faults{},
			func(in *bootstrap.Input) { in.Cluster.Spec.ControlPlaneEndpoint.Port = closed }, nil,
			step.ReasonAPIServerUnreachable,
		},
		{"win-cut", Faults{Unreachable: true}, nil, nil, step.ReasonAPIServerUnreachable},
		{"win-token", Faults{}, func(in *bootstrap.Input) { in.Token = "zzzzzz.0123456789abcdef" }, nil, step.ReasonTokenRejected},
		{
			"win-secret",
			Faults{},
			func(in *bootstrap.Input) { in.Token = c.token[:7] + "0123456789abcdef" }, nil,
			step.ReasonTokenRejected,
		},
		{"win-pin", Faults{}, nil, []string{pin, other}, step.ReasonAPIServerCAMismatch},
		{"win-file-ca", Faults{}, c.byFile(otherCA(t)), nil, step.ReasonAPIServerCAMismatch},
		{"win-file-token", Faults{}, func(in *bootstrap.Input) {
			c.byFile(c.CA)(in)
			in.Token = "zzzzzz.0123456789abcdef"
		}, nil, step.ReasonTokenRejected},
		{"win-sick", Faults{KubeletSick: true}, nil, nil, step.ReasonKubeletNotHealthy},
		{
			"win-bad",
			Faults{},
			nil,
			[]string{`\"singleProcessOOMKill\":null`, `\"singleProcessOOMKill\":true`},
			step.ReasonKubeletNotHealthy,
		},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			change := func(in *bootstrap.Input) {
				if one.render != nil {
					one.render(in)
				}
			}
			vm := newVM(short(t, c.userData(t, one.name, change), one.replace...), one.name)
			c.run(t, vm, one.faults, one.reason)
			if _, err := c.node(t.Context(), one.name); !apierrors.IsNotFound(err) {
				t.Errorf("there is a node, or none can be asked for: %v", err)
			}
		})
	}
}

// No one approves the request. kubelet.conf is there since the first attempt, and the kubelet is well.
func testNoCertificate(t *testing.T, c *cluster) {
	expect.OK(t, c.client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "kubeadm:node-autoapprove-bootstrap",
		metav1.DeleteOptions{}))
	vm := newVM(short(t, c.userData(t, "win-unsigned"), `"attempts":3,"delaySeconds":15`, `"attempts":2,"delaySeconds":0`),
		"win-unsigned")
	c.run(t, vm, Faults{}, step.ReasonTLSBootstrapFailed)
}

// closedPort is one on which no server listens.
func closedPort(t *testing.T) int32 {
	t.Helper()
	listener := expect.Got(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	return int32(listener.Addr().(*net.TCPAddr).Port) //nolint:gosec // because a port fits
}
