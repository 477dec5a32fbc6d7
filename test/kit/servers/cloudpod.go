package servers

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RunsCloudController says whether a pod is one of vSphere's cloud controller manager.
func RunsCloudController(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return strings.Contains(c.Image, "/cloud-provider-vsphere:")
	})
}

// StartCloudControllerOf runs the cloud controller manager of a pod as a plain process until the cluster is stopped: with the
// pod's arguments, the ConfigMap that it mounts, and its account. Without the ConfigMap it fails, as a mount does.
func (w *Workload) StartCloudControllerOf(ctx context.Context, pod *corev1.Pod) error {
	api, err := client.New(w.Config, client.Options{})
	if err != nil {
		return err
	}
	arguments := pod.Spec.Containers[0].Args
	at := slices.IndexFunc(arguments, func(argument string) bool { return strings.HasPrefix(argument, "--cloud-config=") })
	if at < 0 {
		return fmt.Errorf("pod %s has no --cloud-config", pod.Name)
	}
	conf, err := mounted(ctx, api, pod, path.Base(arguments[at]))
	if err != nil {
		return err
	}
	manager, err := w.cloudController(ctx, api, arguments, conf, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	return w.servers.start(ctx, manager)
}

// mounted is a file of the ConfigMaps that a pod mounts.
func mounted(ctx context.Context, api client.Client, pod *corev1.Pod, file string) ([]byte, error) {
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		found := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: pod.Namespace, Name: volume.ConfigMap.Name}
		if err := api.Get(ctx, key, found); err != nil {
			return nil, fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", volume.Name, err)
		}
		if text, has := found.Data[file]; has {
			return []byte(text), nil
		}
	}
	return nil, fmt.Errorf("pod %s mounts no ConfigMap with %s", pod.Name, file)
}
