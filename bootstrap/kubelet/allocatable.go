package kubelet

import (
	"cmp"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Size of a machine; 0 means not known.
type Size struct {
	CPUs      int
	MemoryMiB int
	// DiskBytes is the size of the volume that Windows, kubelet and containerd share.
	DiskBytes int64
}

// Allocatable is what a machine's Node will offer to pods, calculated as the kubelet does: capacity less both
// reservations and the hard eviction thresholds. A resource of unknown size is left out. Windows sees a few MiB less
// than the VM was given, and the Node offers that much less.
func Allocatable(spec bootstrapv1.WindowsBootstrapConfigSpec, size Size) (corev1.ResourceList, error) {
	kept, err := readReservations(spec.Reservations)
	if err != nil {
		return nil, err
	}
	return kept.allocatable(size, MaxPods(spec.Kubelet)), nil
}

func (r reservations) allocatable(size Size, maxPods int) corev1.ResourceList {
	left := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(maxPods), resource.DecimalSI)}
	if size.CPUs > 0 {
		cpus := *resource.NewQuantity(int64(size.CPUs), resource.DecimalSI)
		left[corev1.ResourceCPU] = subtract(cpus, cmp.Or(r.system.cpu, systemCPU(size.CPUs)), cmp.Or(r.kube.cpu, kubeCPU(size.CPUs)))
	}
	if size.MemoryMiB > 0 {
		left[corev1.ResourceMemory] = r.memoryLeft(size.MemoryMiB, maxPods)
	}
	if size.DiskBytes > 0 {
		disk := *resource.NewQuantity(size.DiskBytes, resource.BinarySI)
		left[corev1.ResourceEphemeralStorage] = subtract(disk, r.system.storage, r.kube.storage, r.eviction.nodefs)
	}
	return left
}

func (r reservations) memoryLeft(memoryMiB, maxPods int) resource.Quantity {
	memory := *resource.NewQuantity(int64(memoryMiB)<<20, resource.BinarySI)
	return subtract(memory, r.system.memory, cmp.Or(r.kube.memory, kubeMemory(memoryMiB, maxPods)), r.eviction.memory)
}

// subtract subtracts amounts, or percentages of the total, down to zero.
func subtract(total resource.Quantity, amounts ...string) resource.Quantity {
	left := total.DeepCopy()
	for _, amount := range amounts {
		left.Sub(amountOf(amount, total.Value()))
	}
	if left.Sign() < 0 {
		return resource.Quantity{Format: total.Format}
	}
	return left
}

// amountOf parses what has been read before. Percentages are 32-bit floats as in the kubelet, so the result may
// differ by a few bytes.
func amountOf(text string, total int64) resource.Quantity {
	percent, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		return resource.MustParse(text)
	}
	share, _ := strconv.ParseFloat(percent, 32) // its pattern is a number's
	return *resource.NewQuantity(int64(float64(total)*float64(float32(share)/100)), resource.BinarySI)
}

// leavesSomething refuses reservations that leave no CPU or too little memory to pods, if the size of the machine is
// known.
func (k *Kubelet) leavesSomething() error {
	left := k.reservations.allocatable(k.size, k.MaxPods)
	for _, resource := range []struct {
		name     corev1.ResourceName
		capacity string
	}{
		{corev1.ResourceCPU, strconv.Itoa(k.size.CPUs) + " cpus"}, {corev1.ResourceMemory, strconv.Itoa(k.size.MemoryMiB) + " MiB"},
	} {
		if amount, ok := left[resource.name]; ok && amount.IsZero() {
			return step.Invalid(reservationsField,
				"the reservations and the eviction threshold leave no %s of the VM's %s to pods; reserve less, or use a larger VM",
				resource.name, resource.capacity)
		}
	}
	memory, ok := left[corev1.ResourceMemory]
	if !ok || k.reservations.lowMemory || memory.Cmp(leastForPods) >= 0 {
		return nil
	}
	return step.Invalid(reservationsField,
		"the reservations and the eviction threshold leave %s of the VM's %d MiB of memory to pods, less than 2Gi; "+
			"use a VM of %d MiB or more, reserve less, or set lowMemoryPolicy: %s",
		&memory, k.size.MemoryMiB, k.leastMemoryMiB(), bootstrapv1.LowMemoryAllow)
}

// leastForPods is the memory below which a Windows node runs few pods.
var leastForPods = resource.MustParse("2Gi")

// leastMemoryMiB is the smallest machine, in steps of the memory table, that leaves enough to pods. A larger machine
// never leaves less: the kubelet's share is at most a quarter, and thresholds are below 100 %.
func (k *Kubelet) leastMemoryMiB() int {
	const largest = 24 << 20 // what the API takes
	return memoryStep * sort.Search(largest/memoryStep, func(steps int) bool {
		left := k.reservations.memoryLeft(steps*memoryStep, k.MaxPods)
		return left.Cmp(leastForPods) >= 0
	})
}

// hiddenMiB is at most the memory of the VM that Windows does not see.
const hiddenMiB = 64

// fewMiB is smallMemory as Windows sees it.
const fewMiB = "7680"

// MemoryChecks are leavesSomething for a machine whose size only the node knows, and a warning about a small machine.
func (k *Kubelet) MemoryChecks() []plan.Step {
	var steps []plan.Step
	if k.size.MemoryMiB == 0 && !k.reservations.lowMemory {
		minimum := strconv.Itoa(k.leastMemoryMiB() - hiddenMiB)
		steps = append(steps, &plan.Check{
			Common: plan.Common{Name: "memory-for-pods", Reason: step.ReasonMachineTooSmall},
			Test:   plan.Test{Fact: plan.FactMemoryMiB, AtLeast: plan.Text(minimum)},
			Say: plan.Say("Windows sees ", plan.FactMemoryMiB,
				" MiB of memory, "+minimum+" MiB or more are needed to leave 2 GiB to pods"),
		})
	}
	if k.size.MemoryMiB < smallMemory {
		steps = append(steps, &plan.Check{
			Common: plan.Common{Name: "memory", Reason: step.ReasonMachineTooSmall, Optional: true},
			Test:   plan.Test{Fact: plan.FactMemoryMiB, AtLeast: plan.Text(fewMiB)},
			Say:    plan.Say("Windows sees ", plan.FactMemoryMiB, " MiB of memory, "+fewMiB+" MiB or more are recommended"),
		})
	}
	return steps
}
