package guest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// node is a kubelet at work.
type node struct {
	power  *power
	call   *windows.Call
	flags  *kubeletFlags
	config *kubeletv1.KubeletConfiguration
	name   string
}

// live registers the node once, and then keeps its status and its lease until ctx ends. A Node that others delete is not
// made again before the next start, as with a real kubelet.
func (n *node) live(ctx context.Context, client kubernetes.Interface) error {
	clock := n.call.Machine.Clock
	for n.register(ctx, client) != nil {
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	own, end := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer end()
	work.Go(func() {
		if err := n.runPods(own); err != nil {
			n.call.Fail("E0101 failed to run pods: %v", err)
		}
	})
	beat := time.Duration(n.config.NodeLeaseDurationSeconds) * time.Second / 4
	every := cmp.Or(n.config.NodeStatusReportFrequency.Duration, 5*time.Minute)
	var renewed, reported time.Time
	for told := ""; ; {
		now := clock.Now()
		if wanted := n.readiness().Reason; told != wanted || now.Sub(reported) >= every {
			if n.report(ctx, client) == nil {
				told, reported = wanted, now
			}
		}
		if now.Sub(renewed) >= beat {
			renewed = now
			if err := n.renew(ctx, client); err != nil {
				n.call.Fail("E0101 failed to ensure lease exists, will retry: %v", err)
			}
		}
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// register creates the Node, or takes the one that is there.
func (n *node) register(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Nodes().Create(ctx, n.object(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err != nil {
		n.call.Fail("E0101 unable to register node with API server: %v", err)
	}
	return err
}

func (n *node) object() *corev1.Node {
	_, revision := n.power.guest.build()
	labels := map[string]string{
		corev1.LabelHostname: n.name, corev1.LabelOSStable: "windows", corev1.LabelArchStable: "amd64",
		"beta.kubernetes.io/os": "windows", "beta.kubernetes.io/arch": "amd64",
		corev1.LabelWindowsBuild: "10.0." + n.call.Machine.Hardware.OSBuild,
	}
	maps.Copy(labels, n.flags.labels)
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.name, Labels: labels,
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec: corev1.NodeSpec{ProviderID: n.config.ProviderID, Taints: n.config.RegisterWithTaints},
	}
	if n.flags.cloudProvider == "external" {
		object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{
			Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
		})
		if n.flags.nodeIP != "" {
			object.Annotations["alpha.kubernetes.io/provided-node-ip"] = n.flags.nodeIP
		}
	}
	n.fill(&object.Status, revision)
	return object
}

// report writes the status of a Node that is there.
func (n *node) report(ctx context.Context, client kubernetes.Interface) error {
	object, err := client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err == nil {
		_, revision := n.power.guest.build()
		n.fill(&object.Status, revision)
		_, err = client.CoreV1().Nodes().UpdateStatus(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		n.call.Fail("E0101 error updating node status, will retry: %v", err)
	}
	return err
}

func (n *node) fill(status *corev1.NodeStatus, revision string) {
	status.Capacity = n.capacity()
	status.Allocatable = allocatable(status.Capacity, n.config)
	status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: n.call.Machine.ComputerName(), SystemUUID: systemUUID(n.power.hardware.UUID),
		BootID:                  strconv.Itoa(n.call.Machine.Boots()),
		KernelVersion:           "10.0." + n.call.Machine.Hardware.OSBuild + "." + revision,
		OSImage:                 productName(n.call.Machine.Hardware.OSBuild),
		ContainerRuntimeVersion: "containerd://2.3.2", KubeletVersion: n.power.guest.version(),
		OperatingSystem: "windows", Architecture: "amd64",
	}
	status.DaemonEndpoints.KubeletEndpoint.Port = 10250
	if n.flags.cloudProvider != "external" || len(status.Addresses) == 0 {
		status.Addresses = n.addresses()
	}
	now := metav1.NewTime(n.call.Machine.Clock.Now())
	for _, one := range []corev1.NodeCondition{
		no(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		no(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		no(corev1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		n.readiness(),
	} {
		setCondition(status, one, now)
	}
}

// systemUUID is what the kubelet reads in Windows' registry: the bytes of the firmware, of which Windows takes the first three
// groups for numbers with the lowest byte first (pkg/kubelet/winstats/perfcounter_nodestats_windows.go of v1.36.3).
func systemUUID(firmware string) string {
	id, err := uuid.Parse(firmware)
	if err != nil {
		return firmware
	}
	for _, group := range [][]byte{id[0:4], id[4:6], id[6:8]} {
		slices.Reverse(group)
	}
	return strings.ToUpper(id.String())
}

func no(kind corev1.NodeConditionType, reason, message string) corev1.NodeCondition {
	return corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
}

// readiness is what the kubelet says of the node's network.
func (n *node) readiness() corev1.NodeCondition {
	if why := cni.NotReady(n.call.Machine); why != "" {
		return no(corev1.NodeReady, "KubeletNotReady", why)
	}
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status",
	}
}

// addresses: with an external cloud provider and no --node-ip, only the name; the rest is the provider's to say.
func (n *node) addresses() []corev1.NodeAddress {
	address := n.flags.nodeIP
	if address == "" && n.flags.cloudProvider != "external" {
		address = n.power.guest.address()
	}
	list := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.name}}
	if address != "" {
		list = append([]corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}, list...)
	}
	return list
}

func setCondition(status *corev1.NodeStatus, wanted corev1.NodeCondition, now metav1.Time) {
	wanted.LastHeartbeatTime, wanted.LastTransitionTime = now, now
	at := slices.IndexFunc(status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == wanted.Type })
	if at < 0 {
		status.Conditions = append(status.Conditions, wanted)
		return
	}
	if have := status.Conditions[at]; have.Status == wanted.Status {
		wanted.LastTransitionTime = have.LastTransitionTime
	}
	status.Conditions[at] = wanted
}

// diskBytes is the size of disk C: of every guest.
const diskBytes = 80 << 30

func (n *node) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(n.power.hardware.CPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(n.power.hardware.MemoryMiB<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(n.config.MaxPods), resource.DecimalSI),
	}
}

// allocatable is capacity less both reservations and the hard eviction thresholds.
func allocatable(capacity corev1.ResourceList, config *kubeletv1.KubeletConfiguration) corev1.ResourceList {
	left := capacity.DeepCopy()
	take := func(name corev1.ResourceName, amount resource.Quantity) {
		have, ok := left[name]
		if !ok {
			return
		}
		if have.Sub(amount); have.Sign() < 0 {
			have = resource.Quantity{}
		}
		left[name] = have
	}
	for _, reserved := range []map[string]string{config.KubeReserved, config.SystemReserved} {
		for name, text := range reserved {
			if amount, err := quantity(text); err == nil {
				take(corev1.ResourceName(name), amount)
			}
		}
	}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		whole := capacity[name]
		if amount, err := threshold(config.EvictionHard[signal], whole.Value()); err == nil {
			take(name, amount)
		}
	}
	return left
}

func quantity(text string) (resource.Quantity, error) {
	amount, err := resource.ParseQuantity(text)
	if err == nil && amount.Sign() < 0 {
		err = fmt.Errorf("resource quantity cannot be negative: %s", text)
	}
	return amount, err
}

// threshold is an amount, or a percentage of the whole.
func threshold(text string, whole int64) (resource.Quantity, error) {
	percent, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		return quantity(text)
	}
	share, err := strconv.ParseFloat(percent, 32)
	if err != nil || share < 0 || share > 100 {
		return resource.Quantity{}, fmt.Errorf("eviction percentage threshold %q must be 0 to 100%%", text)
	}
	// The kubelet keeps a percentage in 32 bits, which is some bytes more or less.
	return *resource.NewQuantity(int64(float64(whole)*float64(float32(share)/100)), resource.BinarySI), nil
}

// renew keeps the lease by which the cluster knows that the node lives.
func (n *node) renew(ctx context.Context, client kubernetes.Interface) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NewMicroTime(n.call.Machine.Clock.Now()), n.config.NodeLeaseDurationSeconds
	lease, err := leases.Get(ctx, n.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		owner, err := client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err // a lease without its node would never go
		}
		lease = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: n.name, Namespace: corev1.NamespaceNodeLease,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: owner.UID}},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds, lease.Spec.HolderIdentity = &now, &seconds, &n.name
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
