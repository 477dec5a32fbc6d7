package linuxvm

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
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

// program is what the cloud's own containers do on this VM.
func (n *node) program(ctx context.Context, p *pods.Process) (is bool, err error) {
	if n.vm.cluster.vms.Program == nil {
		return false, nil
	}
	return n.vm.cluster.vms.Program(ctx, n.vm, p)
}

// Mounted is a file that a container of a pod on this VM sees, by a folder of the VM.
func (vm *VM) Mounted(p *pods.Process, file string) ([]byte, error) {
	for _, mount := range p.Container.VolumeMounts {
		below, is := strings.CutPrefix(file, strings.TrimSuffix(mount.MountPath, "/")+"/")
		for _, volume := range p.Pod.Spec.Volumes {
			if is && volume.Name == mount.Name && volume.HostPath != nil {
				return vm.File(path.Join(volume.HostPath.Path, below))
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: file, Err: syscall.ENOENT}
}
