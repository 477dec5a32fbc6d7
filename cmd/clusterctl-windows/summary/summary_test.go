package summary

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the golden files")

// The pools of the package preview, and what is replaced in them.
const (
	vsphereFile = "../preview/testdata/vsphere.yaml"
	azureFile   = "../preview/testdata/azure.yaml"
	configLine  = "{template: {spec: {bootstrapDeadlineSeconds: 1500}}}"
	config      = `{template: {spec: {node: {labels: {example.com/b: "1", example.com/a: "2"}, taints: []},
  network: {mode: Overlay, cni: Calico}, kubelet: {maxPods: 60},
  windows: {domain: {name: example.com, credentialsRef: {name: join}}},
  reservations: {system: {cpu: "1", memory: 3Gi}}}}}`
)

func gathered(t *testing.T, file string, oldnew ...string) *preview.Machine {
	t.Helper()
	text := string(expect.Got(os.ReadFile(file))(t))
	for pair := range slices.Chunk(oldnew, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%s has no %q", file, pair[0])
		}
		text = strings.Replace(text, pair[0], pair[1], 1)
	}
	found := expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
	return expect.Got(preview.Gather(found, ""))(t)
}

// TestText has a pool with few fields in each cloud, and pools with most of them.
func TestText(t *testing.T) {
	for golden, m := range map[string]*preview.Machine{
		"vsphere.txt": gathered(t, vsphereFile),
		"azure.txt":   gathered(t, azureFile),
		"vsphere-full.txt": gathered(t, vsphereFile, configLine, config, "        datacenter: dc\n",
			"        datacenter: dc\n        cpus: 8\n        memoryMiB: 32768\n        networkInterfaces:\n"+
				"        - {name: node, network: a, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, "+
				"name: nodes}]}\n"),
		"azure-full.txt": gathered(t, azureFile, configLine, config, "        vmSize: Standard_D4s_v5\n",
			"        vmSize: Standard_D4s_v5\n        fallbackVMSizes: [Standard_D8s_v5]\n        zones: [\"1\", \"2\"]\n"),
	} {
		t.Run(golden, func(t *testing.T) {
			got, path := Text(m), "testdata/"+golden
			if *update {
				expect.OK(t, os.WriteFile(path, []byte(got), 0o600))
			}
			expect.Same(t, "go test ./cmd/clusterctl-windows/summary -update writes it", string(expect.Got(os.ReadFile(path))(t)), got)
			if lines := strings.Count(got, "\n"); lines > 12 {
				t.Errorf("%d lines are no summary", lines)
			}
		})
	}
}

// TestWaitsAreWhole: each reason to wait before there is a VM is one of the summary, but those of a few seconds within the
// controllers, and those of a machine that has its VM.
func TestWaitsAreWhole(t *testing.T) {
	others := []string{
		"WaitingForOwner", "WaitingForBootstrapData", "WaitingForGuestRights", "WaitingForMachineIdentity",
		"WaitingForMachinePlacement", // of the controllers
		"WaitingForGuest", "WaitingForVM", "WaitingForNode",
	}
	var listed []string
	for _, one := range allWaits {
		listed = append(listed, one.reasons...)
	}
	reason := regexp.MustCompile(`= "(WaitingFor\w+)"`)
	for _, group := range []string{"bootstrap", "infrastructure"} {
		text := string(expect.Got(os.ReadFile("../../../api/" + group + "/v1beta1/conditions.go"))(t))
		for _, found := range reason.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(listed, found[1]) && !slices.Contains(others, found[1]) {
				t.Errorf("%s has %s, which the summary does not have", group, found[1])
			}
		}
	}
}

// TestPlanOfAnotherRelease: what the summary does not find is not invented.
func TestPlanOfAnotherRelease(t *testing.T) {
	m := gathered(t, vsphereFile)
	m.Shown.Plan.Phases = nil
	got := Text(m)
	for _, want := range []string{
		"Pods           not known", "Reserved       not known", "Labels         not known", "Taints         not known",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nhas no %q", got, want)
		}
	}
}
