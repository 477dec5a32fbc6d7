package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

const flannelDomain = "flannel.alpha.coreos.com/"

// LinuxNodes are those that take pods, beside the control plane's.
var LinuxNodes = []string{"linux-0", "linux-1"}

// backends are what flanneld of each Linux node writes into its annotations (flannel-io/flannel cdf76059,
// pkg/subnet/kube/annotations.go). A cluster has one backend; the lab has a node for each.
var backends = []map[string]string{
	{"backend-type": "vxlan", "backend-data": `{"VNI":4096,"VtepMAC":"0a:58:0a:f4:00:01"}`},
	{"backend-type": "host-gw", "backend-data": "null"},
}

// linux is a Linux node with a CNI that never fails.
type linux struct {
	name, version, address string
	// flannel is what its flanneld says of it.
	flannel map[string]string
	client  kubernetes.Interface

	mu   sync.Mutex
	next netip.Addr
}

// RunLinux registers the Linux nodes and runs their pods, and those of others without a kubelet, until ctx ends.
func RunLinux(ctx context.Context, client kubernetes.Interface, version string, others ...string) error {
	var nodes []*linux
	for i, name := range slices.Concat(LinuxNodes, others) {
		node := &linux{name: name, version: version, address: fmt.Sprintf("192.0.2.%d", 11+i), client: client}
		if nodes = append(nodes, node); i >= len(LinuxNodes) {
			continue
		}
		node.flannel = backends[i]
		if err := node.register(ctx); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	for _, node := range nodes {
		k := &Kubelet{Node: node.name, HostIP: node.address, Client: client, Runtime: node, Clock: windows.RealClock{}}
		all.Go(func() { k.Run(ctx) })
		if node.flannel != nil {
			all.Go(func() { node.beat(ctx) })
		}
	}
	all.Wait()
	return nil
}

// register makes the Node as a kubelet does. Its status is patched: controllers have seen the node by then.
func (n *linux) register(ctx context.Context) error {
	annotations := map[string]string{flannelDomain + "kube-subnet-manager": "true", flannelDomain + "public-ip": n.address}
	for name, value := range n.flannel {
		annotations[flannelDomain+name] = value
	}
	_, err := n.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.name, Annotations: annotations, Labels: map[string]string{
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, corev1.LabelHostname: n.name,
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create node %s: %w", n.name, err)
	}
	patch, err := json.Marshal(map[string]any{"status": n.status()})
	if err == nil {
		_, err = n.client.CoreV1().Nodes().PatchStatus(ctx, n.name, patch)
	}
	if err != nil {
		return fmt.Errorf("patch status of node %s: %w", n.name, err)
	}
	return n.renew(ctx)
}

func (n *linux) status() corev1.NodeStatus {
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("40Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	now := metav1.Now()
	return corev1.NodeStatus{
		Capacity: size, Allocatable: size, Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.address}, {Type: corev1.NodeHostName, Address: n.name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: n.version, OSImage: "Linux",
			ContainerRuntimeVersion: "containerd://2.3.2",
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
}

// leaseSeconds is how long a kubelet's lease is valid; it is renewed four times meanwhile.
const leaseSeconds = 40

func (n *linux) beat(ctx context.Context) {
	for (windows.RealClock{}).Sleep(ctx, leaseSeconds*time.Second/4) == nil {
		_ = n.renew(ctx) // the next beat tries again, as a kubelet's
	}
}

func (n *linux) renew(ctx context.Context) error {
	leases, seconds := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease), int32(leaseSeconds)
	lease, err := leases.Get(ctx, n.name, metav1.GetOptions{})
	spec := coordinationv1.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: new(metav1.NowMicro())}
	if apierrors.IsNotFound(err) {
		meta := metav1.ObjectMeta{Name: n.name, Namespace: corev1.NamespaceNodeLease}
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta, Spec: spec}, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec = spec
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew lease of node %s: %w", n.name, err)
	}
	return nil
}

// Connect is part of Runtime: the next address of the node's pod CIDR.
func (n *linux) Connect(ctx context.Context, _ *corev1.Pod) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.next.IsValid() {
		node, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		prefix, err := netip.ParsePrefix(node.Spec.PodCIDR)
		if err != nil {
			return "", errors.New("plugin type=\"flannel\" failed (add): the node has no pod CIDR")
		}
		n.next = prefix.Addr().Next()
	}
	n.next = n.next.Next()
	return n.next.String(), nil
}

// Disconnect is part of Runtime.
func (*linux) Disconnect(*corev1.Pod) {}

// Run is part of Runtime: every image is there, and every container runs for ever.
func (*linux) Run(ctx context.Context, _ *corev1.Pod, _ *corev1.Container, started func()) error {
	started()
	<-ctx.Done()
	return nil
}

// Probe is part of Runtime.
func (*linux) Probe(context.Context, *corev1.Pod, *corev1.Container) error { return nil }
