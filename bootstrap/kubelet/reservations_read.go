package kubelet

import (
	"cmp"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const reservationsField = "WindowsBootstrapConfig spec.reservations"

// reservations are what was read of spec.reservations. What is empty depends on the size of the machine.
type reservations struct {
	system, kube amounts
	eviction     thresholds
	// lowMemory: the user accepts less memory for Windows or for pods than we recommend.
	lowMemory bool
}

// amounts are what is kept from pods.
type amounts struct{ cpu, memory, storage string }

// thresholds are what must stay free.
type thresholds struct{ memory, nodefs, imagefs string }

// tree has the amounts that are known.
func (a amounts) tree() map[string]any {
	tree := map[string]any{"ephemeral-storage": a.storage}
	if a.cpu != "" {
		tree["cpu"] = a.cpu
	}
	if a.memory != "" {
		tree["memory"] = a.memory
	}
	return tree
}

// tree has all three, because naming one drops the defaults of the others.
func (t thresholds) tree() map[string]any {
	return map[string]any{"memory.available": t.memory, "nodefs.available": t.nodefs, "imagefs.available": t.imagefs}
}

// The API has the same patterns.
var (
	cpuText       = regexp.MustCompile(`^(0|[1-9]\d{0,6})m?$`)
	sizeText      = regexp.MustCompile(`^[1-9]\d{0,9}(Mi|Gi)$`)
	thresholdText = regexp.MustCompile(`^([1-9]\d{0,9}(Mi|Gi)|[1-9]\d?%)$`)
)

// leastMemory is what Windows, the kubelet and containerd need.
var leastMemory = resource.MustParse("2Gi")

func readReservations(spec bootstrapv1.Reservations) (reservations, error) {
	for _, one := range []struct {
		field, value string
		pattern      *regexp.Regexp
		write        string
	}{
		{"system.cpu", spec.System.CPU, cpuText, "cores such as 2, or thousandths of them such as 500m"},
		{"system.memory", spec.System.Memory, sizeText, "Mi or Gi, such as 2Gi"},
		{"system.ephemeralStorage", spec.System.EphemeralStorage, sizeText, "Mi or Gi, such as 10Gi"},
		{"kube.cpu", spec.Kube.CPU, cpuText, "cores such as 1, or thousandths of them such as 100m"},
		{"kube.memory", spec.Kube.Memory, sizeText, "Mi or Gi, such as 1Gi"},
		{"kube.ephemeralStorage", spec.Kube.EphemeralStorage, sizeText, "Mi or Gi, such as 10Gi"},
		{"eviction.memoryAvailable", spec.Eviction.MemoryAvailable, thresholdText, "Mi, Gi or a percentage, such as 500Mi or 5%"},
		{"eviction.nodefsAvailable", spec.Eviction.NodeFSAvailable, thresholdText, "Mi, Gi or a percentage, such as 10%"},
		{"eviction.imagefsAvailable", spec.Eviction.ImageFSAvailable, thresholdText, "Mi, Gi or a percentage, such as 15%"},
	} {
		if one.value != "" && !one.pattern.MatchString(one.value) {
			return reservations{}, step.Invalid(reservationsField+"."+one.field, "%q is not an amount; use %s", one.value, one.write)
		}
	}
	if spec.LowMemory != "" && spec.LowMemory != bootstrapv1.LowMemoryAccepted {
		return reservations{}, step.Invalid(reservationsField+".lowMemory", "%q is not valid; use %s, or remove it",
			spec.LowMemory, bootstrapv1.LowMemoryAccepted)
	}
	if err := enoughForWindows(spec); err != nil {
		return reservations{}, err
	}
	return withDefaults(spec), nil
}

// enoughForWindows checks only what the user wrote: what we calculate is enough.
func enoughForWindows(spec bootstrapv1.Reservations) error {
	if spec.System.Memory == "" || spec.LowMemory == bootstrapv1.LowMemoryAccepted {
		return nil
	}
	kept := resource.MustParse(spec.System.Memory)
	if spec.Kube.Memory != "" {
		kept.Add(resource.MustParse(spec.Kube.Memory))
	}
	if kept.Cmp(leastMemory) >= 0 {
		return nil
	}
	return step.Invalid(reservationsField,
		"system.memory %q and kube.memory %q keep %s, less than the 2Gi that Windows and Kubernetes need; "+
			"reserve more, remove system.memory, or set lowMemory: %s",
		spec.System.Memory, spec.Kube.Memory, &kept, bootstrapv1.LowMemoryAccepted)
}

func withDefaults(spec bootstrapv1.Reservations) reservations {
	return reservations{
		system: amounts{
			spec.System.CPU, cmp.Or(spec.System.Memory, systemMemory), cmp.Or(spec.System.EphemeralStorage, reservedStorage),
		},
		kube: amounts{spec.Kube.CPU, spec.Kube.Memory, cmp.Or(spec.Kube.EphemeralStorage, reservedStorage)},
		eviction: thresholds{
			memory:  cmp.Or(spec.Eviction.MemoryAvailable, evictionMemory),
			nodefs:  cmp.Or(spec.Eviction.NodeFSAvailable, evictionNodeFS),
			imagefs: cmp.Or(spec.Eviction.ImageFSAvailable, evictionImageFS),
		},
		lowMemory: spec.LowMemory == bootstrapv1.LowMemoryAccepted,
	}
}
