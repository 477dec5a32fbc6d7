package cni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// cloudNodeFolder is where the DaemonSet of Azure's node manager mounts the ConfigMap kube-proxy, cloudNodeScripts where it
	// has its script.
	cloudNodeFolder  = "/var/lib/cpaw"
	cloudNodeScripts = "/scripts"

	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// cloudNodeManager is start.ps1 of Azure's node manager and the cloud-node-manager.exe that it starts
// (kubernetes-sigs/cloud-provider-azure 260618b, helm/cloud-provider-azure; 073c782, pkg/nodemanager): by the kubeconfig of
// kube-proxy and the account of its pod it tells the Node what the metadata service says to the VM, and takes the taint off.
func cloudNodeManager(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME"); err != nil {
		return err
	}
	if _, mounted := c.Mounts[cloudNodeScripts].Files["start.ps1"]; !mounted {
		return errors.New("the term '" + cloudNodeScripts + "/start.ps1' is not recognized as the name of a script file")
	}
	api, err := c.connect(cloudNodeFolder+"/kubeconfig.conf", "")
	if err != nil {
		return err
	}
	started()
	for {
		if err := initializeNode(ctx, api, c.Env["NODE_NAME"], c.HostIP); err != nil && ctx.Err() == nil {
			fmt.Fprintf(c.Log, "E0101 failed to initialize node %s: %v\n", c.Env["NODE_NAME"], err)
		}
		if c.Machine.Clock.Sleep(ctx, time.Second) != nil {
			return nil //nolint:nilerr // because the container is to end
		}
	}
}

// initializeNode is part of pkg/nodemanager/nodemanager.go: the Node of a VM is known once its taint is gone.
func initializeNode(ctx context.Context, api kubernetes.Interface, name, address string) error {
	isIt := func(t corev1.Taint) bool { return t.Key == uninitialized }
	node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || !slices.ContainsFunc(node.Spec.Taints, isIt) {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
	}}})
	if err != nil {
		return err
	}
	if node, err = api.CoreV1().Nodes().PatchStatus(ctx, name, status); err != nil {
		return err
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isIt)
	_, err = api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}
