package kubelet

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// exact keeps 6 GiB of memory, whatever the size of the machine is.
func exact() bootstrapv1.Reservations {
	var r bootstrapv1.Reservations
	r.System.Memory, r.Kube.Memory, r.Eviction.MemoryAvailable = "4Gi", "1Gi", "1Gi"
	return r
}

// TestLeavesSomething: a machine has to leave 2 GiB to pods, to the MiB, if its size is known and the user wants it.
func TestLeavesSomething(t *testing.T) {
	cpu := func(of bootstrapv1.Amount) bootstrapv1.Reservations {
		return bootstrapv1.Reservations{System: bootstrapv1.Reserved{CPU: of}}
	}
	low := exact()
	low.LowMemoryPolicy = bootstrapv1.LowMemoryAllow
	for name, c := range map[string]struct {
		of    bootstrapv1.Reservations
		size  Size
		wrong string
	}{
		"enough": {exact(), Size{MemoryMiB: 8192}, ""},
		"a MiB too little": {
			exact(),
			Size{MemoryMiB: 8191},
			"leave 2047Mi of the VM's 8191 MiB of memory to pods, less than 2Gi; use a VM of 8192 MiB",
		},
		"little is accepted":   {low, Size{MemoryMiB: 6145}, ""},
		"nothing is not":       {low, Size{MemoryMiB: 6144}, "leave no memory of the VM's 6144 MiB to pods"},
		"less than nothing":    {low, Size{MemoryMiB: 1024}, "leave no memory"},
		"of a size not known":  {exact(), Size{}, ""},
		"no CPU":               {cpu("2"), Size{CPUs: 2}, "leave no cpu of the VM's 2 cpus"},
		"as good as all of it": {cpu("1"), Size{CPUs: 2}, ""},
	} {
		kept, err := readReservations(c.of)
		expect.OK(t, err)
		k := Kubelet{size: c.size, reservations: kept, MaxPods: 110}
		expect.Says(t, name, k.leavesSomething(), c.wrong)
	}
}

// TestAllocatableOfASize: what a machine offers, of each resource whose size is known.
func TestAllocatableOfASize(t *testing.T) {
	spec := bootstrapv1.WindowsBootstrapConfigSpec{Reservations: exact()}
	spec.Reservations.System.CPU, spec.Reservations.Kube.CPU = "1", "500m"
	spec.Reservations.System.EphemeralStorage, spec.Reservations.Kube.EphemeralStorage = "10Gi", "5Gi"
	spec.Reservations.Eviction.NodeFSAvailable = "1Gi"
	got, err := Allocatable(spec, Size{CPUs: 4, MemoryMiB: 16384, DiskBytes: 100 << 30})
	expect.OK(t, err)
	for name, want := range map[corev1.ResourceName]string{
		corev1.ResourcePods: "110", corev1.ResourceCPU: "2500m", corev1.ResourceMemory: "10Gi", corev1.ResourceEphemeralStorage: "84Gi",
	} {
		amount := got[name]
		expect.Same(t, string(name), 0, amount.Cmp(resource.MustParse(want)))
	}
	got, err = Allocatable(spec, Size{})
	expect.OK(t, err)
	expect.Same(t, "resources of a size not known", 1, len(got))
	spec.Reservations.System.CPU = "x"
	_, err = Allocatable(spec, Size{})
	expect.Says(t, "no amount", err, "is not an amount")
}

// TestLimitsOfAmounts: the least and the most of each amount count.
func TestLimitsOfAmounts(t *testing.T) {
	for _, c := range []struct {
		of   measure
		said string
		want string
	}{
		{cores, "768", "768"},
		{cores, "768001m", ""},
		{cores, "0", "0"},
		{cores, "-1m", ""},
		{cores, "1500m", "1500m"},
		{memory, "1Mi", "1Mi"},
		{memory, "1023Ki", ""},
		{memory, "24Ti", "24Ti"},
		{memory, "25769803777Ki", ""},
		{memory, "5%", ""},
		{storage, "64Ti", "64Ti"},
		{storage, "65Ti", ""},
		{freeMemory, "1%", "1%"},
		{freeMemory, "99%", "99%"},
		{freeMemory, "100%", ""},
		{freeMemory, "0%", ""},
	} {
		text, ok := c.of.canonical(c.said)
		expect.Same(t, c.said, c.want, text)
		expect.Same(t, c.said+" is an amount", c.want != "", ok)
	}
}

// TestLogOfOldKubelets: one that does not rotate its log takes neither limit, and no limit is negative.
func TestLogOfOldKubelets(t *testing.T) {
	for name, c := range map[string]struct {
		size, age int32
		minor     uint64
		flags     int
		wrong     string
	}{
		"old, no limits":   {0, 0, rotatingMinor - 1, 0, ""},
		"old, a size":      {1, 0, rotatingMinor - 1, 0, "does not rotate its log"},
		"old, an age":      {0, 1, rotatingMinor - 1, 0, "does not rotate its log"},
		"first, no limits": {0, 0, rotatingMinor, 2, ""},
		"negative size":    {-1, 0, rotatingMinor, 0, "must not be negative"},
		"negative age":     {0, -1, rotatingMinor, 0, "must not be negative"},
	} {
		flags, err := readLog(bootstrapv1.KubeletLog{MaxSizeMiB: c.size, MaxAgeHours: c.age}, c.minor)
		expect.Says(t, name, err, c.wrong)
		expect.Same(t, name+": flags", c.flags, len(flags))
	}
}

// TestLogQuery: the switch needs its gate, which is on from a version on, and which the user may not switch off.
func TestLogQuery(t *testing.T) {
	gate := func(on bool) map[string]bool { return map[string]bool{logQueryGate: on} }
	for name, c := range map[string]struct {
		query bootstrapv1.State
		gates map[string]bool
		minor uint64
		want  map[string]bool
		wrong string
	}{
		"not said":            {"", map[string]bool{}, 34, map[string]bool{}, ""},
		"off":                 {bootstrapv1.StateDisabled, map[string]bool{}, 34, map[string]bool{}, ""},
		"on":                  {bootstrapv1.StateEnabled, map[string]bool{}, 34, gate(true), ""},
		"on, and its gate":    {bootstrapv1.StateEnabled, gate(true), 34, gate(true), ""},
		"on, without a need":  {bootstrapv1.StateEnabled, map[string]bool{}, 36, map[string]bool{}, ""},
		"on, its gate is off": {bootstrapv1.StateEnabled, gate(false), 34, gate(false), "needs it"},
	} {
		k := Kubelet{gates: c.gates, minor: c.minor}
		expect.Says(t, name, k.readSwitches(bootstrapv1.Kubelet{SystemLogQuery: c.query}), c.wrong)
		expect.Same(t, name+": gates", c.want, k.gates)
		expect.Same(t, name+": its handler", c.query == bootstrapv1.StateEnabled, k.fields["enableSystemLogHandler"] == true)
	}
}

// TestMinors: a version that the table does not have yet is like the last one, and one before it knows nothing.
func TestMinors(t *testing.T) {
	line := "-fnT---F"
	for minor, want := range map[uint64]byte{
		29: unknownThere, 30: unknownThere, 31: freeThere, 32: onThere, 33: lockedOn, 37: lockedOff, 38: lockedOff, 0: unknownThere,
	} {
		expect.Same(t, fmt.Sprint("1.", minor), string(want), string(inMinor(line, minor)))
	}
	expect.Same(t, "a name that is not known", string(rune(unknownThere)), string(inMinor("", 33)))
	for line, want := range map[string]string{
		"--------": "", "-f------": "1.31 only", "-ff-----": "1.31 to 1.32", "-------f": "1.37 and later", "f-------": "1.30 only",
	} {
		expect.Same(t, line, want, knownMinors(line))
	}
}

// TestLabelsOfANode: one thing that is wrong with a label is enough.
func TestLabelsOfANode(t *testing.T) {
	for _, c := range []struct{ name, value, wrong string }{
		{"example.com/pool", "a", ""},
		{"a b", "", "is not valid"},
		{"pool", "a b", "is not valid"},
		{"kubernetes.io/arch", "amd64", "must not set the label"},
		{"node.kubernetes.io/pool", "a", ""},
	} {
		expect.Says(t, c.name+"="+c.value, checkLabels(map[string]string{c.name: c.value}), c.wrong)
	}
}
