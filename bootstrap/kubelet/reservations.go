package kubelet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// What is kept from pods, whatever the size of the machine.
const (
	systemMemory     = "2Gi" // Windows itself
	reservedStorage  = "1Gi" // each for Windows and for Kubernetes
	evictionMemory   = "500Mi"
	evictionNodeFS   = "10%"
	evictionImageFS  = "15%"
	kubeMemoryBase   = 255 // MiB
	kubeMemoryPerPod = 11  // MiB
)

// systemCPU is for Windows, which needs more on a larger machine.
func systemCPU(cpus int) string {
	switch {
	case cpus < 8:
		return "500m"
	case cpus <= 16:
		return "1"
	}
	return "2"
}

// kubeCPU is for kubelet and containerd: 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 %
// of the others.
func kubeCPU(cpus int) string {
	first, second, next, rest := min(cpus, 1), min(max(cpus-1, 0), 1), min(max(cpus-2, 0), 2), max(cpus-4, 0)
	return fmt.Sprintf("%dm", 60*first+10*second+5*next+rest*5/2)
}

// kubeMemory is for kubelet, containerd and what runs beside each pod, at most a quarter of the memory.
func kubeMemory(memoryMiB, maxPods int) string {
	return fmt.Sprintf("%dMi", min(kubeMemoryBase+kubeMemoryPerPod*maxPods, memoryMiB/4))
}

// reserve fills in what is known, and returns the rules by which the node finds the rest.
func (k *Kubelet) reserve(patch plan.Tree) []plan.ReservationRule {
	system, kube := k.reservations.system.tree(), k.reservations.kube.tree()
	patch["systemReserved"], patch["kubeReserved"] = system, kube
	patch["evictionHard"] = k.reservations.eviction.tree()
	var rules []plan.ReservationRule
	for _, open := range []struct {
		target     map[string]any
		configured string
		name, fact string
		size       int
		value      func(fact int) string
		rows       func() []plan.ReservationRow
	}{
		{
			system, k.reservations.system.cpu, "systemReserved.cpu", plan.FactCPUs, k.size.CPUs,
			systemCPU, func() []plan.ReservationRow { return cpuRows(systemCPU) },
		},
		{
			kube, k.reservations.kube.cpu, "kubeReserved.cpu", plan.FactCPUs, k.size.CPUs,
			kubeCPU, func() []plan.ReservationRow { return cpuRows(kubeCPU) },
		},
		{
			kube, k.reservations.kube.memory, "kubeReserved.memory", plan.FactMemoryMiB, k.size.MemoryMiB,
			func(memoryMiB int) string { return kubeMemory(memoryMiB, k.MaxPods) },
			func() []plan.ReservationRow { return memoryRows(k.MaxPods) },
		},
	} {
		_, resource, _ := strings.Cut(open.name, ".")
		switch {
		case open.configured != "":
		case open.size > 0:
			open.target[resource] = open.value(open.size)
		default:
			rules = append(rules, plan.ReservationRule{Set: open.name, Fact: open.fact, Rows: open.rows()})
		}
	}
	return rules
}

// cpuCounts are the first rows of the table: usual sizes of VMs, and the limits of systemCPU.
var cpuCounts = []int{
	1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 17, 20, 24, 28, 32, 40, 48, 64, 80, 96, 112, 128, 192, 256, 384, 512,
}

func cpuRows(value func(cpus int) string) []plan.ReservationRow {
	var rows []plan.ReservationRow
	for i, cpus := range cpuCounts {
		limit := ""
		if i+1 < len(cpuCounts) {
			limit = strconv.Itoa(cpuCounts[i+1])
		}
		rows = addRow(rows, limit, value(cpus))
	}
	return rows
}

// memoryStep is the distance between rows of the memory table.
const memoryStep = 256

// memoryRows give each machine what the upper limit of its row would get: Windows sees a little less than the VM was
// given, so 8191 MiB means 8192. Above the last row every machine gets the same.
func memoryRows(maxPods int) []plan.ReservationRow {
	full := kubeMemoryBase + kubeMemoryPerPod*maxPods
	var rows []plan.ReservationRow
	for edge := 2048; edge/4 < full; edge += memoryStep {
		rows = addRow(rows, strconv.Itoa(edge), kubeMemory(edge, maxPods))
	}
	return addRow(rows, "", fmt.Sprintf("%dMi", full))
}

// addRow widens the last row if the next one has the same value.
func addRow(rows []plan.ReservationRow, limit, value string) []plan.ReservationRow {
	if end := len(rows) - 1; end >= 0 && rows[end].Value == value {
		rows[end].Below = limit
		return rows
	}
	return append(rows, plan.ReservationRow{Below: limit, Value: value})
}
