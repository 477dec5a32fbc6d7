package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// podWorld is a real workload cluster with Linux nodes, DaemonSets, and a Service that pods on Linux answer.
type podWorld struct {
	*servers.Workload
	client  kubernetes.Interface
	network *traffic.Cluster
	token   string
	// services are the addresses of Services, by the node that has their pods.
	services map[string]string
	// turns are those of the guests that run at a time.
	turns chan struct{}
	// lacking are the nodes whose services still have no rights, given is closed when all have.
	lacking sync.WaitGroup
	given   chan struct{}
}

// podCluster has a network in which agnhost and the API server reach others, or none.
func podCluster(t *testing.T, network *traffic.Cluster) *podWorld {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	binaries := expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	options := servers.WorkloadOptions{Binaries: binaries, Dir: filepath.Join(t.TempDir(), "workload"), WithoutNode: true}
	if network != nil {
		options.Egress = network.Socket()
	}
	cluster := expect.Got(servers.StartWorkload(t.Context(), options))(t)
	t.Cleanup(func() { _ = cluster.Stop() })
	config := *cluster.Config
	config.QPS, config.Burst = 500, 1000
	w := &podWorld{
		Workload: cluster, client: expect.Got(kubernetes.NewForConfig(&config))(t), services: map[string]string{},
		given: make(chan struct{}), network: network, turns: make(chan struct{}, side),
	}
	nodes := pods.Linux{Client: w.client, Version: w.Version}
	if network != nil {
		network.Connect(w.client)
		nodes.Network, nodes.CA, nodes.Clock = network, w.CA, windows.NewFastClock(20)
	}
	users := pods.Cluster{Config: cluster.Config, Host: w.Host, Port: w.Port, Version: w.Version}
	expect.OK(t, users.Apply(t.Context()))
	expect.OK(t, users.Addons(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- nodes.Run(ctx) }()
	t.Cleanup(func() { cancel(); expect.OK(t, <-over) })
	secrets := expect.Got(w.client.CoreV1().Secrets("kube-system").List(t.Context(),
		metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)}))(t)
	data := secrets.Items[0].Data
	w.token = string(data["token-id"]) + "." + string(data["token-secret"])
	for _, node := range pods.LinuxNodes {
		w.serve(t, node)
	}
	return w
}

// giveRights gives nodes what the controllers give them where a config has services of the node, once those have lived that are
// to lack it.
func (w *podWorld) giveRights(t *testing.T, cells []*cell) {
	t.Helper()
	for _, c := range cells {
		if c.condition == rightsMissing {
			w.lacking.Add(1)
		}
	}
	api := expect.Got(client.New(w.Config, client.Options{}))(t)
	go func() {
		defer close(w.given)
		w.lacking.Wait()
		rights := &keep.Cluster{API: api, Past: keep.Past{}}
		for _, role := range nodes.Roles() {
			if err := rights.WriteAll(t.Context(), role.Objects()); err != nil {
				t.Errorf("give nodes the role %s: %v", role, err)
			}
		}
	}()
}

// awaitRights waits for what the node of a cell needs, if it is to have it.
func (w *podWorld) awaitRights(c *cell) {
	if c.condition != rightsMissing && (c.hasRights() || c.condition == twoProxies) {
		<-w.given
	}
}

// serve has two pods on a Linux node answer a Service, and waits until the real controllers have its endpoints.
func (w *podWorld) serve(t *testing.T, node string) {
	t.Helper()
	name := "web-" + node
	labels := map[string]string{"app": name}
	expect.Got(w.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelHostname: node},
					Containers:   []corev1.Container{{Name: "web", Image: "example.com/web"}},
				},
			},
		},
	}, metav1.CreateOptions{}))(t)
	service := expect.Got(w.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	w.services[node] = service.Spec.ClusterIP
	wait.Until(t, "the endpoints of the Service", func() (any, bool) {
		list := expect.Got(w.client.DiscoveryV1().EndpointSlices("default").List(t.Context(),
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name}))(t)
		ready := 0
		for _, part := range list.Items {
			for _, one := range part.Endpoints {
				if one.Conditions.Ready != nil && *one.Conditions.Ready {
					ready++
				}
			}
		}
		return list.Items, ready == 2
	})
}

// server is the Linux node whose flanneld has the backend of the cell's: pods reach its Service.
func (c *cell) server() string {
	if c.mode == bootstrapv1.NetworkOverlay {
		return pods.LinuxNodes[0]
	}
	return pods.LinuxNodes[1]
}

func (c *cell) computer() string { return fmt.Sprintf("win-%d", c.number) }

func (c *cell) address() string {
	return fmt.Sprintf("198.51.%d.%d", 100+c.number/200, 10+c.number%200)
}

// spec of the cell's node.
func (c *cell) spec() bootstrapv1.WindowsBootstrapConfigSpec {
	spec := network(c.mode, c.cni)
	if c.pair.spec != nil {
		c.pair.spec(&spec.Network)
	}
	spec.Node.Labels = map[string]bootstrapv1.LabelValue{}
	if c.signed {
		spec.Kubelet.ServerCertificates = bootstrapv1.ServerCertificatesClusterSigned
	}
	switch {
	case c.condition == daemonMissing:
		spec.Node.Labels[pods.Daemons] = pods.NoDaemons
	case c.daemons != "":
		spec.Node.Labels[pods.Daemons] = bootstrapv1.LabelValue(c.daemons)
	}
	if c.condition == twoProxies {
		spec.Node.Labels[pods.SecondProxy] = pods.IsWanted
		spec.Network.KubeProxy.Run = bootstrapv1.KubeProxyService
	}
	if c.azure {
		spec.Network.ExceptionCIDRs = []string{"10.0.0.0/8"}
	}
	return spec
}

func (w *podWorld) userData(c *cell) ([]byte, error) {
	name := c.computer()
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue"},
			Spec: clusterv1.ClusterSpec{
				ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: w.Host, Port: int32(w.Port)}, //nolint:gosec // because a port fits
				ClusterNetwork: clusterv1.ClusterNetwork{
					Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
					Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
				},
			},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name)},
			Spec:       clusterv1.MachineSpec{Version: w.Version},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec: infrav1.WindowsMachineSpec{
				ProviderID: "vsphere://" + name, VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384},
			},
			Status: infrav1.WindowsMachineStatus{ComputerName: name},
		},
		Config: &bootstrapv1.WindowsBootstrapConfig{Spec: c.spec()}, ClusterCA: w.CA, Token: w.token,
	}
	if c.azure {
		in.WindowsMachine.Spec = infrav1.WindowsMachineSpec{ProviderID: "azure:///" + name, Azure: &infrav1.AzureVM{}}
	}
	if c.condition == rebootedPools {
		c.fromPool(in.WindowsMachine)
	}
	rendered, err := bootstrap.Render(in)
	if err != nil {
		return nil, err
	}
	return rendered.Bytes(), nil
}

// image is the cell's Windows, with what its condition takes away.
func (c *cell) image(dir, version string) {
	c.guest = &guest.Simulated{
		Dir: filepath.Join(dir, c.computer()), Address: c.address(), Build: builds[c.year], KubernetesVersion: version, Clock: c.clock,
		Files: map[string]string{}, Pulls: map[string]time.Duration{}, PolicyTakes: c.policyTakes,
	}
	bring(c.guest, c.plugins...)
	isProgram := strings.HasPrefix(c.missing, `C:\`)
	switch {
	case c.condition == programMissing && isProgram:
		c.guest.Without = []string{c.missing}
	case c.condition == programMissing:
		c.guest.Pulls[c.missing] = never
	case c.condition == daemonMissing && c.hasService():
		c.guest.Faults.Instead = c.lateProgram(never)
	case c.condition == daemonLate && c.hasService():
		c.guest.Faults.Instead = c.lateProgram(lateness)
	case c.condition == daemonLate:
		c.guest.Pulls[c.late] = lateness
	case c.condition == rebootedPools:
		c.guest.Image = withoutDHCP
	case c.condition == rebooted && c.late == flanneldProgram:
		c.guest.Faults.Instead = c.lateProgram(latenessOfStart)
	case c.condition == rebooted && !c.hasService():
		c.guest.Pulls[c.late], c.guest.PullsAgain = latenessOfStart, true
	case c.condition == addressLate:
		c.guest.Image = func(s *windows.State) {
			for i := range s.Addresses {
				s.Addresses[i].Preferred = c.clock.Now().Add(30 * time.Second)
			}
		}
	}
}

// lateProgram ends at once with an error until its time has come: the API server, say, lets it in no earlier. Its time begins
// with its first call in each start of Windows.
func (c *cell) lateProgram(by time.Duration) func(*windows.Call) windows.Program {
	var starts sync.Map
	return func(call *windows.Call) windows.Program {
		isIt := strings.EqualFold(call.Argv[0], c.late) && !slices.Contains(call.Argv, "--version")
		if !isIt {
			return nil
		}
		first, _ := starts.LoadOrStore(call.Machine.Boots(), c.clock.Now())
		if c.clock.Now().Sub(first.(time.Time)) >= by {
			return nil
		}
		return func(_ context.Context, call *windows.Call) int {
			return call.Fail("E0101 connectex: No connection could be made")
		}
	}
}

// reportOf is the last one that the cell's guest has sent.
func (c *cell) reportOf() (*plan.Report, error) {
	text, err := os.ReadFile(filepath.Join(c.guest.Dir, "report.json"))
	if err != nil {
		return nil, err
	}
	return plan.DecodeReport(text)
}

func (w *podWorld) node(ctx context.Context, c *cell) *corev1.Node {
	node, err := w.client.CoreV1().Nodes().Get(ctx, c.computer(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return node
}

// initialize is what a cloud controller and Cluster API do with a Node of theirs.
func (w *podWorld) initialize(ctx context.Context, c *cell, node *corev1.Node) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: c.address()}, {Type: corev1.NodeHostName, Address: node.Name},
	}}})
	if err == nil {
		_, err = w.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		return err
	}
	isOurs := func(t corev1.Taint) bool {
		return t.Key == "node.cloudprovider.kubernetes.io/uninitialized" || t.Key == clusterv1.NodeUninitializedTaint.Key
	}
	if !slices.ContainsFunc(node.Spec.Taints, isOurs) {
		return nil
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isOurs)
	_, err = w.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// makePod is what a user puts on the cell's node.
func (w *podWorld) makePod(ctx context.Context, c *cell) error {
	_, err := w.client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: c.computer()},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: c.computer()},
			Tolerations:  []corev1.Toleration{{Key: "os", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "iis", Image: "example.com/iis", ReadinessProbe: &corev1.Probe{
					PeriodSeconds: 5,
					ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{guest.ReachProbe, w.services[c.server()]}}},
				},
			}},
		},
	}, metav1.CreateOptions{})
	return err
}
