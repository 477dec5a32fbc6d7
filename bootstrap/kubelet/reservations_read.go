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

// measure is what an amount counts, with the limits that the API has as well.
type measure struct {
	low, high resource.Quantity
	// integral is set if it has no thousandths, percent if it may be a percentage.
	integral, percent bool
	write             string
}

var (
	cores = measure{
		high: resource.MustParse("768"), write: "cores such as 2, or thousandths of them such as 500m",
	}
	memory = measure{
		low: resource.MustParse("1Mi"), high: resource.MustParse("24Ti"), integral: true,
		write: "1Mi to 24Ti, such as 2Gi or 1536Mi",
	}
	storage = measure{
		low: memory.low, high: resource.MustParse("64Ti"), integral: true, write: "1Mi to 64Ti, such as 10Gi",
	}
	freeMemory = measure{
		low: memory.low, high: memory.high, integral: true, percent: true, write: "one such as 500Mi, or a percentage such as 5%",
	}
	freeStorage = measure{
		low: memory.low, high: storage.high, integral: true, percent: true, write: "one such as 10Gi, or a percentage such as 10%",
	}
	percentage = regexp.MustCompile(`^[1-9]\d?%$`)
)

// canonical is the text by which the kubelet and other tools show an amount.
func (m measure) canonical(value string) (text string, ok bool) {
	if m.percent && percentage.MatchString(value) {
		return value, true
	}
	amount, err := resource.ParseQuantity(value)
	switch {
	case err != nil || amount.Cmp(m.low) < 0 || amount.Cmp(m.high) > 0:
		return "", false
	case m.integral:
		return resource.NewQuantity(amount.Value(), resource.BinarySI).String(), true
	}
	return resource.NewMilliQuantity(amount.MilliValue(), resource.DecimalSI).String(), true
}

// leastMemory is what Windows, the kubelet and containerd need.
var leastMemory = resource.MustParse("2Gi")

func readReservations(spec bootstrapv1.Reservations) (reservations, error) {
	var r reservations
	for _, entry := range []struct {
		field   string
		value   bootstrapv1.Amount
		target  *string
		measure measure
	}{
		{"system.cpu", spec.System.CPU, &r.system.cpu, cores},
		{"system.memory", spec.System.Memory, &r.system.memory, memory},
		{"system.ephemeralStorage", spec.System.EphemeralStorage, &r.system.storage, storage},
		{"kube.cpu", spec.Kube.CPU, &r.kube.cpu, cores},
		{"kube.memory", spec.Kube.Memory, &r.kube.memory, memory},
		{"kube.ephemeralStorage", spec.Kube.EphemeralStorage, &r.kube.storage, storage},
		{"eviction.memoryAvailable", spec.Eviction.MemoryAvailable, &r.eviction.memory, freeMemory},
		{"eviction.nodefsAvailable", spec.Eviction.NodeFSAvailable, &r.eviction.nodefs, freeStorage},
		{"eviction.imagefsAvailable", spec.Eviction.ImageFSAvailable, &r.eviction.imagefs, freeStorage},
	} {
		if entry.value == "" {
			continue
		}
		text, ok := entry.measure.canonical(string(entry.value))
		if !ok {
			return r, step.Invalid(reservationsField+"."+entry.field, "%q is not an amount; use %s", entry.value, entry.measure.write)
		}
		*entry.target = text
	}
	if policy := spec.LowMemoryPolicy; policy != "" && policy != bootstrapv1.LowMemoryAllow {
		return r, step.Invalid(reservationsField+".lowMemoryPolicy", "%q is not valid; use %s, or remove it",
			policy, bootstrapv1.LowMemoryAllow)
	}
	r.lowMemory = spec.LowMemoryPolicy == bootstrapv1.LowMemoryAllow
	if err := r.enoughForWindows(); err != nil {
		return r, err
	}
	return r.withDefaults(), nil
}

// enoughForWindows checks only what the user wrote: what we calculate is enough.
func (r reservations) enoughForWindows() error {
	if r.system.memory == "" || r.lowMemory {
		return nil
	}
	kept := resource.MustParse(r.system.memory)
	if r.kube.memory != "" {
		kept.Add(resource.MustParse(r.kube.memory))
	}
	if kept.Cmp(leastMemory) >= 0 {
		return nil
	}
	return step.Invalid(reservationsField,
		"system.memory %q and kube.memory %q keep %s, less than the 2Gi that Windows and Kubernetes need; "+
			"reserve more, remove system.memory, or set lowMemoryPolicy: %s",
		r.system.memory, r.kube.memory, &kept, bootstrapv1.LowMemoryAllow)
}

func (r reservations) withDefaults() reservations {
	r.system.memory = cmp.Or(r.system.memory, systemMemory)
	r.system.storage, r.kube.storage = cmp.Or(r.system.storage, reservedStorage), cmp.Or(r.kube.storage, reservedStorage)
	r.eviction = thresholds{
		memory:  cmp.Or(r.eviction.memory, evictionMemory),
		nodefs:  cmp.Or(r.eviction.nodefs, evictionNodeFS),
		imagefs: cmp.Or(r.eviction.imagefs, evictionImageFS),
	}
	return r
}
