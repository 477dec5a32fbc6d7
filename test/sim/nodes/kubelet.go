// Package nodes is what a kubelet does at the API server for its own Node, whoever runs the pods: it registers the Node, reports
// its status and renews its Lease. The files named in comments are those of Kubernetes v1.36.3.
package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kubelet is the part of a kubelet that keeps its Node, with what its flags, its configuration and its machine make of that.
// pods.Kubelet is the part that runs pods.
type Kubelet struct {
	Name string
	// Labels, Annotations and Taints come beside those that every kubelet writes.
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	ProviderID          string
	// External is --cloud-provider=external, NodeIP is --node-ip.
	External bool
	NodeIP   string
	// Address is that of the machine. A kubelet without NodeIP and External takes it.
	Address string
	// Info has the operating system and the architecture.
	Info                  corev1.NodeSystemInfo
	Capacity, Allocatable corev1.ResourceList
	// NotReady is why pods cannot run yet; with an empty one the Node is Ready.
	NotReady string
	// Now is the time on the machine.
	Now time.Time
}

// NoNetwork is why a kubelet is not ready to which no CNI has come.
const NoNetwork = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin " +
	"returns error: cni plugin not initialized"

// Linux is the kubelet of a Linux machine. They all have one size here.
func Linux(name, address, version string) Kubelet {
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("40Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return Kubelet{
		Name: name, Address: address, Capacity: size, Allocatable: size, Now: time.Now(), Info: corev1.NodeSystemInfo{
			OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: version, OSImage: "Linux",
			ContainerRuntimeVersion: "containerd://2.3.2",
		},
	}
}

// Register creates the Node. One that is there keeps what others wrote, and gets the labels by which every kubelet is found, as
// in tryRegisterWithAPIServer of pkg/kubelet/kubelet_node_status.go.
func (k Kubelet) Register(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Nodes().Create(ctx, k.node(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.patch(ctx, client, k.defaultLabels())
	}
	if err != nil {
		return fmt.Errorf("create node %s: %w", k.Name, err)
	}
	return nil
}

// Report writes the status of a Node that is there.
func (k Kubelet) Report(ctx context.Context, client kubernetes.Interface) error {
	return k.patch(ctx, client, nil)
}

// patch patches, since an update would collide with the controllers that have seen the Node by now.
func (k Kubelet) patch(ctx context.Context, client kubernetes.Interface, labels map[string]string) error {
	there, err := client.CoreV1().Nodes().Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node %s: %w", k.Name, err)
	}
	node := k.node()
	for i := range node.Status.Conditions {
		keepTransition(&node.Status.Conditions[i], there.Status.Conditions)
	}
	if k.External && len(there.Status.Addresses) > 0 {
		node.Status.Addresses = nil // the cloud provider wrote them
	}
	metadata := map[string]any{"annotations": node.Annotations}
	if labels != nil {
		metadata["labels"] = labels
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": node.Status})
	if err == nil {
		_, err = client.CoreV1().Nodes().PatchStatus(ctx, k.Name, patch)
	}
	if err != nil {
		return fmt.Errorf("patch status of node %s: %w", k.Name, err)
	}
	return nil
}

func keepTransition(condition *corev1.NodeCondition, there []corev1.NodeCondition) {
	for _, before := range there {
		if before.Type == condition.Type && before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
}

// defaultLabels are those of initialNode in pkg/kubelet/kubelet_node_status.go.
func (k Kubelet) defaultLabels() map[string]string {
	return map[string]string{
		corev1.LabelHostname: k.Name, corev1.LabelOSStable: k.Info.OperatingSystem, corev1.LabelArchStable: k.Info.Architecture,
		"beta.kubernetes.io/os": k.Info.OperatingSystem, "beta.kubernetes.io/arch": k.Info.Architecture,
	}
}

// node is what initialNode makes.
func (k Kubelet) node() *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: k.Name, Labels: k.defaultLabels(), Annotations: map[string]string{
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}},
		Spec: corev1.NodeSpec{ProviderID: k.ProviderID, Taints: slices.Clone(k.Taints)},
		Status: corev1.NodeStatus{
			Capacity: k.Capacity, Allocatable: k.Allocatable, NodeInfo: k.Info, Addresses: k.addresses(), Conditions: k.Conditions(),
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		},
	}
	maps.Copy(node.Labels, k.Labels)
	maps.Copy(node.Annotations, k.Annotations)
	if k.External {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
		})
		if k.NodeIP != "" {
			node.Annotations["alpha.kubernetes.io/provided-node-ip"] = k.NodeIP
		}
	}
	return node
}

// addresses are those of NodeAddress in pkg/kubelet/nodestatus/setters.go: with an external cloud provider and no --node-ip only
// the name, since the provider writes the rest.
func (k Kubelet) addresses() []corev1.NodeAddress {
	address := k.NodeIP
	if address == "" && !k.External {
		address = k.Address
	}
	list := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: k.Name}}
	if address != "" {
		list = append([]corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}, list...)
	}
	return list
}

// Conditions are those of its Node, in the words and the order of pkg/kubelet/nodestatus/setters.go: Ready is the last.
func (k Kubelet) Conditions() []corev1.NodeCondition {
	ready := k.condition(corev1.NodeReady, "KubeletReady", "kubelet is posting ready status")
	ready.Status = corev1.ConditionTrue
	if k.NotReady != "" {
		ready = k.condition(corev1.NodeReady, "KubeletNotReady", k.NotReady)
	}
	return []corev1.NodeCondition{
		k.condition(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		k.condition(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		k.condition(corev1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		ready,
	}
}

func (k Kubelet) condition(kind corev1.NodeConditionType, reason, message string) corev1.NodeCondition {
	now := metav1.NewTime(k.Now)
	return corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
	}
}
