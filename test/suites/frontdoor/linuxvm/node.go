package linuxvm

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// uninitialized is the taint of a kubelet that waits for a cloud provider (kubernetes v1.36.3,
// pkg/kubelet/kubelet_node_status.go).
var uninitialized = corev1.Taint{
	Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
}

var controlPlaneTaint = corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}

// node is the kubelet of a VM.
type node struct {
	vm           *VM
	name         string
	registration registration
	controlPlane bool
	// kubeconfig logs in as the kubelet.
	kubeconfig string
	client     kubernetes.Interface
	ready      bool
}

// register makes the Node as a kubelet does, with the flags that the user data gave it.
func (n *node) register(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubelet.conf: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	if n.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Create(ctx, n.object(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register node %s: %w", n.name, err)
	}
	n.vm.mu.Lock()
	n.vm.node = n.name
	n.vm.mu.Unlock()
	if !n.controlPlane {
		return nil
	}
	w, admin := n.vm.cluster.Workload()
	if err := n.vm.listen(apiServerPort, net.JoinHostPort(w.Host, strconv.Itoa(w.Port))); err != nil {
		return err
	}
	if err := markControlPlane(ctx, admin, n.name); err != nil {
		return fmt.Errorf("mark control plane %s: %w", n.name, err)
	}
	return n.vm.staticPods(ctx, admin, n.name)
}

func (n *node) object() *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, corev1.LabelHostname: n.name,
		}},
		Spec: corev1.NodeSpec{Taints: n.registration.Taints, ProviderID: n.registration.argument("provider-id")},
	}
	if n.controlPlane && n.registration.Taints == nil {
		object.Spec.Taints = []corev1.Taint{controlPlaneTaint}
	}
	if n.registration.argument("cloud-provider") == "external" {
		object.Spec.Taints = append(object.Spec.Taints, uninitialized)
	}
	object.Status = n.status()
	return object
}

// status is that of a kubelet. Where a cloud provider is to write the addresses, there are none until it has.
func (n *node) status() corev1.NodeStatus {
	w, _ := n.vm.cluster.Workload()
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("40Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	status := corev1.NodeStatus{
		Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{
			sufficient(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "memory"),
			sufficient(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "disk"),
			sufficient(corev1.NodePIDPressure, "KubeletHasSufficientPID", "PID"), n.readiness(),
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: n.vm.Name, SystemUUID: n.vm.SystemUUID, OperatingSystem: "linux", Architecture: runtime.GOARCH,
			OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.3.2",
		},
	}
	if w != nil {
		status.NodeInfo.KubeletVersion = w.Version
	}
	if n.registration.argument("cloud-provider") != "external" {
		status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.vm.Address}, {Type: corev1.NodeHostName, Address: n.name},
		}
	}
	return status
}

// sufficient is a condition of a kubelet that lacks nothing (pkg/kubelet/nodestatus/setters.go).
func sufficient(kind corev1.NodeConditionType, reason, what string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionFalse, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now,
		Message: "kubelet has no " + what + " pressure",
	}
}

func (n *node) readiness() corev1.NodeCondition {
	now := metav1.Now()
	condition := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		LastHeartbeatTime: now, LastTransitionTime: now,
		Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin " +
			"returns error: cni plugin not initialized",
	}
	if n.ready {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"
	}
	return condition
}

// live runs the node's pods and keeps its lease and its condition until ctx ends.
func (n *node) live(ctx context.Context) error {
	w, _ := n.vm.cluster.Workload()
	kubelet := pods.Linux{
		Client: n.client, Version: w.Version, Nodes: []string{}, Others: []string{n.name}, Network: n.vm.cluster.vms.Network, CA: w.CA,
		Addresses: map[string]string{n.name: n.vm.Address}, Program: n.program,
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	failed := make(chan error, 1)
	parts.Go(func() { failed <- kubelet.Run(ctx) })
	var renewed time.Time
	for tick := time.NewTicker(time.Second / 2); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case err := <-failed:
			if ctx.Err() == nil {
				return fmt.Errorf("the kubelet ends: %w", err)
			}
		case <-tick.C:
		}
		if time.Since(renewed) > 10*time.Second && servers.RenewLease(ctx, n.client, n.name) == nil {
			renewed = time.Now()
		}
		if err := n.follow(ctx); err != nil && ctx.Err() == nil {
			n.vm.cluster.vms.tell("node %s: %v", n.name, err)
		}
	}
}

// follow looks at the pods that run here.
func (n *node) follow(ctx context.Context) error {
	here, err := n.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", n.name).String(),
	})
	if err != nil {
		return err
	}
	for i := range here.Items {
		pod := &here.Items[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		if err := n.vm.cluster.runCloudController(ctx, pod); err != nil {
			return err
		}
		if pod.Labels["k8s-app"] == "calico-node" {
			if err := n.becomeReady(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// becomeReady is what the kubelet tells once a CNI has come.
func (n *node) becomeReady(ctx context.Context) error {
	if n.ready {
		return nil
	}
	n.ready = true
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{n.readiness()}}})
	if err == nil {
		_, err = n.client.CoreV1().Nodes().PatchStatus(ctx, n.name, patch)
	}
	n.ready = err == nil
	return err
}
