package linuxvm

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// runCloudController runs the real cloud controller manager of a pod that runs on a node, once for a cluster: there is one
// leader.
func (c *Cluster) runCloudController(ctx context.Context, pod *corev1.Pod) error {
	if !servers.RunsCloudController(pod) {
		return nil
	}
	w, _ := c.Workload()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cloudPod != "" || w == nil {
		return nil
	}
	if err := w.StartCloudControllerOf(ctx, pod); err != nil {
		return err
	}
	c.cloudPod = pod.Name
	return nil
}
