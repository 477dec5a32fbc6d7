package linuxvm

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

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
	if err := n.kubelet().Register(ctx, n.client); err != nil {
		return err
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

// kubelet is what its flags, which the user data gave it, and the VM make of it.
func (n *node) kubelet() nodes.Kubelet {
	version := ""
	if w, _ := n.vm.cluster.Workload(); w != nil {
		version = w.Version
	}
	kubelet := nodes.Linux(n.name, n.vm.Address, version)
	kubelet.Info.MachineID, kubelet.Info.SystemUUID = n.vm.Name, n.vm.SystemUUID
	kubelet.Taints, kubelet.ProviderID = n.registration.Taints, n.registration.argument("provider-id")
	if n.controlPlane && n.registration.Taints == nil {
		kubelet.Taints = []corev1.Taint{controlPlaneTaint}
	}
	kubelet.External = n.registration.argument("cloud-provider") == "external"
	if !n.ready {
		kubelet.NotReady = nodes.NoNetwork
	}
	return kubelet
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
	parts.Go(func() { nodes.KeepLease(ctx, n.client, n.name) })
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
		if err := n.follow(ctx); err != nil && ctx.Err() == nil {
			n.vm.cluster.vms.tell("node %s: %v", n.name, err)
		}
	}
}

// follow looks at the pods that run here.
func (n *node) follow(ctx context.Context) error {
	pods, err := n.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", n.name).String(),
	})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
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
	err := n.kubelet().Report(ctx, n.client)
	n.ready = err == nil
	return err
}
