package pods

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsv1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// What each container uses, and the node besides: a lab measures nothing.
const (
	nanoCoresEach = 5_000_000
	bytesEach     = 40 << 20
	nanoCoresNode = 120_000_000
	bytesNode     = 1200 << 20
)

// stats is the summary of the node and of its pods.
func (p *Port) stats(w http.ResponseWriter, k *Kubelet) {
	if p.Cluster.Faults(k.Node).StatsRefused {
		http.Error(w, "Internal Error: failed to list pod stats: failed to list all container stats: rpc error: code = "+
			"DeadlineExceeded desc = context deadline exceeded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p.summary(k)) // whom it is for is gone
}

func (p *Port) summary(k *Kubelet) *statsv1.Summary {
	k.mu.Lock()
	lives := make([]*life, 0, len(k.lives))
	for _, one := range k.lives {
		lives = append(lives, one)
	}
	k.mu.Unlock()
	slices.SortFunc(lives, func(a, b *life) int {
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	summary, containers, now := &statsv1.Summary{Pods: []statsv1.PodStats{}}, uint64(0), k.now()
	for _, one := range lives {
		pod := one.podStats(now)
		containers += uint64(len(pod.Containers))
		summary.Pods = append(summary.Pods, pod)
	}
	disk := uint64(p.Capacity.StorageEphemeral().Value()) //nolint:gosec // because capacities are not negative
	summary.Node = statsv1.NodeStats{
		NodeName: k.Node, StartTime: now, CPU: cpuStats(now, nanoCoresNode+containers*nanoCoresEach),
		Memory: memoryStats(now, bytesNode+containers*bytesEach),
		Fs:     &statsv1.FsStats{Time: now, CapacityBytes: &disk, AvailableBytes: new(disk / 2), UsedBytes: new(disk / 2)},
	}
	total := uint64(p.Capacity.Memory().Value()) //nolint:gosec // because capacities are not negative
	if used := *summary.Node.Memory.WorkingSetBytes; total > used {
		summary.Node.Memory.AvailableBytes = new(total - used)
	}
	return summary
}

// podStats are those of the containers that run.
func (l *life) podStats(now metav1.Time) statsv1.PodStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := statsv1.PodStats{
		PodRef:     statsv1.PodReference{Name: l.pod.Name, Namespace: l.pod.Namespace, UID: string(l.pod.UID)},
		StartTime:  l.status.started,
		Containers: []statsv1.ContainerStats{},
	}
	for _, c := range l.pod.Spec.Containers {
		if running := l.status.containers[c.Name].State.Running; running != nil {
			stats.Containers = append(stats.Containers, statsv1.ContainerStats{
				Name: c.Name, StartTime: running.StartedAt, CPU: cpuStats(now, nanoCoresEach), Memory: memoryStats(now, bytesEach),
			})
		}
	}
	count := uint64(len(stats.Containers))
	stats.CPU, stats.Memory = cpuStats(now, count*nanoCoresEach), memoryStats(now, count*bytesEach)
	return stats
}

func cpuStats(now metav1.Time, nanoCores uint64) *statsv1.CPUStats {
	const seconds = uint64(time.Minute / time.Second)
	return &statsv1.CPUStats{Time: now, UsageNanoCores: &nanoCores, UsageCoreNanoSeconds: new(nanoCores * seconds)}
}

func memoryStats(now metav1.Time, bytes uint64) *statsv1.MemoryStats {
	return &statsv1.MemoryStats{Time: now, UsageBytes: &bytes, WorkingSetBytes: &bytes}
}
