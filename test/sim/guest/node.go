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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
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
	for last := ""; ; {
		now := clock.Now()
		if why := cni.NotReady(n.call.Machine); last != why || now.Sub(reported) >= every {
			if n.report(ctx, client) == nil {
				last, reported = why, now
			}
		}
		if now.Sub(renewed) >= beat {
			renewed = now
			if err := nodes.RenewLease(ctx, client, n.name, n.config.NodeLeaseDurationSeconds, now); err != nil {
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
	err := n.kubelet().Register(ctx, client)
	if err != nil {
		n.call.Fail("E0101 unable to register node with API server: %v", err)
	}
	return err
}

// report writes the status of a Node that is there.
func (n *node) report(ctx context.Context, client kubernetes.Interface) error {
	err := n.kubelet().Report(ctx, client)
	if err != nil {
		n.call.Fail("E0101 error updating node status, will retry: %v", err)
	}
	return err
}

// kubelet is what its flags, its configuration and Windows make of it.
func (n *node) kubelet() nodes.Kubelet {
	_, revision := n.power.guest.build()
	version := "10.0." + n.call.Machine.Hardware.OSBuild
	labels := map[string]string{corev1.LabelWindowsBuild: version}
	maps.Copy(labels, n.flags.labels)
	return nodes.Kubelet{
		Name: n.name, Labels: labels, Taints: n.config.RegisterWithTaints, ProviderID: n.config.ProviderID,
		External: n.flags.cloudProvider == "external", NodeIP: n.flags.nodeIP, Address: n.power.guest.address(),
		Info: corev1.NodeSystemInfo{
			MachineID: n.call.Machine.ComputerName(), SystemUUID: systemUUID(n.power.hardware.UUID),
			BootID: strconv.Itoa(n.call.Machine.Boots()), KernelVersion: version + "." + revision,
			OSImage:                 productName(n.call.Machine.Hardware.OSBuild),
			ContainerRuntimeVersion: "containerd://2.3.2", KubeletVersion: n.power.guest.version(),
			OperatingSystem: "windows", Architecture: "amd64",
		},
		Capacity: n.capacity(), Allocatable: allocatable(n.capacity(), n.config),
		NotReady: cni.NotReady(n.call.Machine), Now: n.call.Machine.Clock.Now(),
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
