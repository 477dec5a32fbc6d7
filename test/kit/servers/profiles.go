package servers

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// ProfileLabel of a Node has the name of a profile of the scheduler. A pod with this name as its spec.schedulerName is bound to
// such Nodes only. So one cluster answers at a time where pods would go in several clusters.
const ProfileLabel = "test.capwin.io/profile"

// scheduler is the one of kubeadm's static pod. With profiles it reads a file.
func (w *Workload) scheduler(port int) (server, error) {
	kubeconfig := w.kubeadm.kubeconfig("scheduler")
	if len(w.options.Profiles) == 0 {
		return scheduler(w.binaries, kubeconfig, port), nil
	}
	text, err := yaml.Marshal(schedulerConfiguration(kubeconfig, w.options.Profiles))
	if err != nil {
		return server{}, fmt.Errorf("write configuration of kube-scheduler: %w", err)
	}
	file := filepath.Join(w.servers.dir, "scheduler.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return server{}, fmt.Errorf("write configuration of kube-scheduler: %w", err)
	}
	return scheduler(w.binaries, kubeconfig, port, "--config="+file), nil
}

// schedulerConfiguration has the default profile and the others. Who has profiles has many pods: the scheduler may bind them
// faster than 50 a second, its default.
func schedulerConfiguration(kubeconfig string, profiles []string) map[string]any {
	all := []any{map[string]any{"schedulerName": "default-scheduler"}}
	for _, name := range profiles {
		all = append(all, map[string]any{"schedulerName": name, "pluginConfig": []any{map[string]any{
			"name": "NodeAffinity", "args": map[string]any{"addedAffinity": map[string]any{
				"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{map[string]any{
					"matchExpressions": []any{map[string]any{"key": ProfileLabel, "operator": "In", "values": []any{name}}},
				}}},
			}},
		}}})
	}
	return map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": all,
		"leaderElection":   map[string]any{"leaderElect": false},
		"clientConnection": map[string]any{"kubeconfig": kubeconfig, "qps": 500, "burst": 500},
	}
}
