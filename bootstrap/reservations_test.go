package bootstrap_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// lookUp does what a node does with a reservations step.
func lookUp(t *testing.T, step *plan.Reservations, facts map[string]string) []byte {
	t.Helper()
	var patch map[string]any // a copy
	expect.OK(t, json.Unmarshal(expect.Got(json.Marshal(step.Patch))(t), &patch))
	for _, rule := range step.Rules {
		have, err := strconv.Atoi(facts[rule.Fact])
		if err != nil {
			t.Fatalf("no fact %s", rule.Fact)
		}
		node, keys := patch, strings.Split(rule.Set, ".")
		for _, key := range keys[:len(keys)-1] {
			node = node[key].(map[string]any)
		}
		node[keys[len(keys)-1]] = firstRow(t, rule, have)
	}
	return expect.Got(json.Marshal(patch))(t)
}

func firstRow(t *testing.T, rule plan.ReservationRule, have int) any {
	t.Helper()
	for _, row := range rule.Rows {
		below, err := strconv.Atoi(row.Below)
		if row.Below == "" || err == nil && have < below {
			return row.Value
		}
	}
	t.Fatalf("no row of %s fits %d", rule.Set, have)
	return nil
}

func ofSize(cpus, memoryMiB int32) change {
	return func(in *bootstrap.Input) {
		in.WindowsMachine.Spec.VSphere.CPUs, in.WindowsMachine.Spec.VSphere.MemoryMiB = cpus, memoryMiB
	}
}

// withLowMemory is the word of a user who wants small machines.
func withLowMemory(in *bootstrap.Input) {
	in.Config.Spec.Reservations.LowMemoryPolicy = bootstrapv1.LowMemoryAllow
}

// The documented formula, size by size.
func TestReservations(t *testing.T) {
	for _, test := range []struct {
		cpus, memoryMiB, pods          int32
		systemCPU, kubeCPU, kubeMemory string
		reason                         string
	}{
		{2, 4096, 110, "500m", "70m", "1024Mi", "the smallest: no more than a quarter"},
		{2, 8192, 110, "500m", "70m", "1465Mi", "255 + 110 x 11"},
		{4, 16384, 110, "500m", "80m", "1465Mi", "memory does not grow with the machine"},
		{7, 16384, 110, "500m", "87m", "1465Mi", "the last with half a core for Windows"},
		{8, 32768, 110, "1", "90m", "1465Mi", "a whole core from 8 on"},
		{16, 65536, 110, "1", "110m", "1465Mi", "still one at 16"},
		{17, 65536, 110, "2", "112m", "1465Mi", "two above 16"},
		{64, 262144, 110, "2", "230m", "1465Mi", "a quarter of a percent for each core"},
		{4, 16384, 30, "500m", "80m", "585Mi", "few pods, little memory"},
		{4, 16384, 250, "500m", "80m", "3005Mi", "many pods, much memory"},
		{4, 8192, 500, "500m", "80m", "2048Mi", "many pods on a small machine: no more than a quarter"},
	} {
		name := fmt.Sprintf("%d cpus %d MiB %d pods", test.cpus, test.memoryMiB, test.pods)
		t.Run(name, func(t *testing.T) {
			got := merged(t, render(t, plainInput(t, ofSize(test.cpus, test.memoryMiB), withPods(test.pods), withLowMemory)).Plan(), nil)
			if got.SystemReserved["cpu"] != test.systemCPU || got.SystemReserved["memory"] != "2Gi" {
				t.Errorf("system %v, want cpu %s: %s", got.SystemReserved, test.systemCPU, test.reason)
			}
			if got.KubeReserved["cpu"] != test.kubeCPU || got.KubeReserved["memory"] != test.kubeMemory {
				t.Errorf("kube %v, want cpu %s, memory %s: %s", got.KubeReserved, test.kubeCPU, test.kubeMemory, test.reason)
			}
		})
	}
}

// A node that looks itself up must find what we would have said of its VM, though Windows sees some MiB less of it.
func TestNodeFindsTheSameReservations(t *testing.T) {
	for _, pods := range []int32{30, 110, 500} {
		table := render(t, plainInput(t, ofTemplateSize, withPods(pods))).Plan()
		for _, cpus := range []int32{2, 7, 8, 16, 17, 32, 128} {
			for memory := int32(4096); memory <= 32768; memory += 2048 {
				known := merged(t, render(t, plainInput(t, ofSize(cpus, memory), withPods(pods), withLowMemory)).Plan(), nil)
				for _, hidden := range []int32{1, 3, 64} {
					found := merged(t, table, map[string]string{"cpus": fmt.Sprint(cpus), "memoryMiB": fmt.Sprint(memory - hidden)})
					if fmt.Sprint(known.KubeReserved, known.SystemReserved) != fmt.Sprint(found.KubeReserved, found.SystemReserved) {
						t.Fatalf("%d cpus, %d-%d MiB, %d pods: we say %v %v, the node finds %v %v", cpus, memory, hidden, pods,
							known.KubeReserved, known.SystemReserved, found.KubeReserved, found.SystemReserved)
					}
				}
			}
		}
	}
}

// Where a size is given, there must be nothing left to find, and where none is, nothing must be guessed.
func TestWhoReserves(t *testing.T) {
	for _, test := range []struct {
		name, reason    string
		cpus, memoryMiB int32
		rules           int
	}{
		{"all known", "Go knows best", 4, 8192, 0},
		{"memory unknown", "one table", 4, 0, 1},
		{"cpus unknown", "Windows' and Kubernetes' share of them", 0, 8192, 2},
		{"nothing known", "three tables", 0, 0, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := render(t, plainInput(t, ofSize(test.cpus, test.memoryMiB))).Plan()
			if test.rules == 0 {
				stepOf[*plan.File](t, p, "kubelet-patch")
				return
			}
			if got := len(stepOf[*plan.Reservations](t, p, "kubelet-patch").Rules); got != test.rules {
				t.Errorf("%d rules, want %d: %s", got, test.rules, test.reason)
			}
		})
	}
}

// No machine is bought that leaves pods next to nothing, unless somebody says so.
func TestMemoryForPods(t *testing.T) {
	const noMemory = "leave no memory of the VM's "
	accepted, more := withLowMemory, reserved(`system: {memory: 4Gi}`)
	left := func(share string) change { return reserved("eviction: {memoryAvailable: " + share + "}") }
	for _, test := range []struct {
		memoryMiB int32
		kept      change
		want      string
	}{
		{4096, nil, "leave 524Mi of the VM's 4096 MiB of memory to pods, less than 2Gi; " +
			"use a VM of 6144 MiB or more, reserve less, or set lowMemoryPolicy: Allow"},
		{6060, nil, "leave 2047Mi of the VM's 6060 MiB"},
		{6064, nil, ""},
		{4096, accepted, ""},
		{8000, more, "use a VM of 8192 MiB or more"},
		{8000, all(more, accepted), ""},
		{8192, left("90%"), noMemory + "8192 MiB to pods"},
		{2048, accepted, noMemory + "2048 MiB to pods"},
		{65536, left("99%"), noMemory + "65536 MiB to pods"},
		{600000, left("99%"), ""},
	} {
		_, err := bootstrap.Render(plainInput(t, ofSize(2, test.memoryMiB), test.kept))
		expect.Says(t, fmt.Sprint(test.memoryMiB, " MiB"), err, test.want)
	}
}

// Where only the node knows its memory, it keeps to the same edge; Windows sees some MiB less.
func TestNodeLooksAtMemoryForPods(t *testing.T) {
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"known":        {nil, ""},
		"unknown":      {ofTemplateSize, "6080"},
		"on Azure":     {onAzure, "6080"},
		"few pods":     {all(ofTemplateSize, withPods(30)), "5312"},
		"accepted":     {all(ofTemplateSize, withLowMemory), ""},
		"much is kept": {all(ofTemplateSize, reserved(`system: {memory: 8Gi}`)), "12224"},
	} {
		got := ""
		for _, check := range every[*plan.Check](render(t, plainInput(t, test.change)).Plan()) {
			if check.Name == "memory-for-pods" && !check.Optional {
				got = check.AtLeast.String()
			}
		}
		if got != test.want {
			t.Errorf("%s: at least %q, want %q", name, got, test.want)
		}
	}
}

// Of two faults the same one is told each time.
func TestRefusalsAreInOrder(t *testing.T) {
	for range 20 {
		_, err := bootstrap.Render(plainInput(t, reserved(`system: {cpu: '4', memory: 16Gi}`)))
		expect.Says(t, "neither cpu nor memory", err, "leave no cpu")
	}
}

// However odd a machine is, some row must fit, or it never joins.
func TestTableHasNoHoles(t *testing.T) {
	p := render(t, plainInput(t, ofTemplateSize)).Plan()
	for _, cpus := range []string{"1", "9", "511", "1000"} {
		for _, memory := range []string{"512", "2047", "2048", "5859", "5860", "5861", "24000000"} {
			merged(t, p, map[string]string{"cpus": cpus, "memoryMiB": memory})
		}
	}
}

// One amount can be written in many ways, also as a number; the kubelet gets the shortest.
func TestAmountsAreCanonical(t *testing.T) {
	for _, test := range []struct{ written, cpu, memory, storage, left string }{
		{"cpu: 2, memory: 3221225472, ephemeralStorage: 10737418240", "2", "3Gi", "10Gi", "1Gi"},
		{"cpu: '2', memory: '3221225472', ephemeralStorage: 10Gi", "2", "3Gi", "10Gi", "1024Mi"},
		{"cpu: 2000m, memory: 3072Mi, ephemeralStorage: 10240Mi", "2", "3Gi", "10Gi", "'1073741824'"},
		{"cpu: '1.5', memory: 2560Mi, ephemeralStorage: 1.5Gi", "1500m", "2560Mi", "1536Mi", "1Gi"},
		{"cpu: 0.5m, memory: 4G, ephemeralStorage: 1Ti", "1m", "3906250Ki", "1Ti", "1Gi"},
		{"cpu: 0, memory: 2.5Gi, ephemeralStorage: 2e9", "0", "2560Mi", "1953125Ki", "1073741824"},
	} {
		in := plainInput(t, reserved("system: {"+test.written+"}, eviction: {memoryAvailable: "+test.left+"}"))
		got := merged(t, render(t, in).Plan(), nil)
		want := map[string]string{"cpu": test.cpu, "memory": test.memory, "ephemeral-storage": test.storage}
		expect.Same(t, test.written, want, got.SystemReserved)
		expect.Same(t, test.left, "1Gi", got.EvictionHard["memory.available"])
	}
}
