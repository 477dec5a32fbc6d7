package admission

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/management"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// calicoKinds are the fields that matter here of Calico's kinds: names, types and values are those of tigera/operator 40788b9b,
// pkg/imports/crds. An API server drops all other fields.
var calicoKinds = []struct{ kind, plural, group, version, spec string }{
	{"Installation", "installations", "operator.tigera.io", "v1", `
  serviceCIDRs: {type: array, items: {type: string}}
  calicoNetwork:
    type: object
    properties:
      bgp: {type: string, enum: [Enabled, Disabled]}
      windowsDataplane: {type: string, enum: [HNS, Disabled]}
      ipPools:
        type: array
        items:
          type: object
          properties:
            cidr: {type: string}
            encapsulation: {type: string, enum: [IPIPCrossSubnet, IPIP, VXLAN, VXLANCrossSubnet, None]}
            blockSize: {type: integer}
            natOutgoing: {type: string}
`},
	{"IPAMConfig", "ipamconfigs", "crd.projectcalico.org", "v1", `
  autoAllocateBlocks: {type: boolean}
  strictAffinity: {type: boolean}
`},
	{"IPAMConfiguration", "ipamconfigurations", "projectcalico.org", "v3", `
  autoAllocateBlocks: {type: boolean, default: true}
  strictAffinity: {type: boolean, default: false}
`},
	{"IPPool", "ippools", "crd.projectcalico.org", "v1", `
  cidr: {type: string}
  blockSize: {type: integer}
  nodeSelector: {type: string}
`},
}

// shortNames are those of Calico's API for its kinds.
var shortNames = map[string]string{"IPAMConfiguration": "[ipamconfig, ipamconfigs]"}

func defineCalico(t *testing.T) {
	t.Helper()
	for _, one := range calicoKinds {
		definition := parse(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + one.plural + "." + one.group + `}
spec:
  group: ` + one.group + `
  scope: Cluster
  names: {kind: ` + one.kind + `, listKind: ` + one.kind + `List, plural: ` + one.plural +
			`, shortNames: ` + cmp.Or(shortNames[one.kind], "[]") + `}
  versions:
  - name: ` + one.version + `
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
`)
		versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
		expect.OK(t, err)
		first, _ := versions[0].(map[string]any)
		spec := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}
		expect.OK(t, unstructured.SetNestedMap(first, parse(one.spec), spec...))
		expect.OK(t, unstructured.SetNestedSlice(definition, versions, "spec", "versions"))
		var typed apiextensionsv1.CustomResourceDefinition
		expect.OK(t, runtime.DefaultUnstructuredConverter.FromUnstructured(definition, &typed))
		expect.OK(t, api.Create(t.Context(), &typed))
		t.Cleanup(func() { _ = api.Delete(t.Context(), &typed) })
		expect.OK(t, served(t.Context(), &typed))
	}
}

// TestCalicoSettings: the commands that addons prints for Calico's operator, run by a shell with the real kubectl against a stock
// Calico, leave nothing to do. The pools keep what they had, and of two kinds the right one is changed.
func TestCalicoSettings(t *testing.T) {
	defineCalico(t)
	for _, text := range []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: tigera-operator}}",
		"{apiVersion: projectcalico.org/v3, kind: IPAMConfiguration, metadata: {name: default}, spec: {}}",
		"{apiVersion: operator.tigera.io/v1, kind: Installation, metadata: {name: default}, spec: {calicoNetwork: {bgp: Enabled, " +
			"ipPools: [{cidr: 10.244.0.0/16, encapsulation: IPIP, natOutgoing: Enabled}]}}}",
		"{apiVersion: crd.projectcalico.org/v1, kind: IPPool, metadata: {name: default-ipv4-ippool}, spec: {cidr: 10.244.0.0/16, " +
			"blockSize: 26, nodeSelector: all()}}",
	} {
		expect.OK(t, api.Create(t.Context(), &unstructured.Unstructured{Object: parse(text)}))
	}
	config := expect.Got(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)
	server := expect.Got(remote.New(config, "--kubeconfig "+kubeconfig))(t)
	cluster := addons.Cluster{Host: "10.0.0.10", Port: 6443, Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"}}
	for _, c := range []struct {
		mode  bootstrapv1.NetworkMode
		asked bool
		want  string
	}{
		{bootstrapv1.NetworkOverlay, false, "VXLAN, NAT Enabled, BGP Disabled"},
		{bootstrapv1.NetworkL2Bridge, true, "None, NAT Enabled, BGP Enabled"}, // what the first has given is there
	} {
		pools := []addons.Pool{{Network: bootstrapv1.Network{Mode: c.mode, CNI: bootstrapv1.CNICalico}}}
		var there *addons.Calico
		if c.asked {
			there = expect.Got(management.Calico(t.Context(), server))(t)
		}
		runScript(t, expect.Got(addons.Settings(pools, cluster, there))(t))
		now := expect.Got(management.Calico(t.Context(), server))(t)
		const full = "WindowsMachines: Calico gives a Windows node one block of addresses, which has 60 for pods in the pool " +
			"default-ipv4-ippool with blockSize 26, and spec.kubelet.maxPods is 61: a pod without an address does not start; set " +
			"maxPods to 60"
		pools[0].Name, pools[0].MaxPods = "WindowsMachines", 61
		expect.Same(t, "addresses", []string{full}, addons.Addresses(pools, now))
		pools[0].MaxPods = 60
		expect.Same(t, "addresses for 60 pods", 0, len(addons.Addresses(pools, now)))
		if left := expect.Got(addons.Settings(pools, cluster, now))(t); !strings.Contains(left, "Nothing is missing") {
			t.Errorf("%s: the commands leave these:\n%s", c.mode, left)
		}
		const pool = "jsonpath={.spec.calicoNetwork.ipPools[0].encapsulation}, NAT {.spec.calicoNetwork.ipPools[0].natOutgoing}"
		const bgp = ", BGP {.spec.calicoNetwork.bgp}"
		got := runKubectl(t, "get", "installations.operator.tigera.io", "default", "-o", pool+bgp)
		expect.Same(t, string(c.mode), c.want, got)
	}
	ownKindIsPatched(t)
}

// ownKindIsPatched: the command for Calico's own kind changes that one, also where its API has a kind of which that name is a
// short one.
func ownKindIsPatched(t *testing.T) {
	t.Helper()
	own := "{apiVersion: crd.projectcalico.org/v1, kind: IPAMConfig, metadata: {name: default}, spec: {strictAffinity: false}}"
	expect.OK(t, api.Create(t.Context(), &unstructured.Unstructured{Object: parse(own)}))
	there := &addons.Calico{
		OwnKinds: true, Configured: true, Endpoint: true, Installation: &addons.Installation{ServiceCIDRs: []string{"10.96.0.0/12"}},
	}
	there.Installation.CalicoNetwork.WindowsDataplane, there.Installation.CalicoNetwork.BGP = "HNS", "Disabled"
	pools := []addons.Pool{{Network: bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}}}
	runScript(t, expect.Got(addons.Settings(pools, addons.Cluster{}, there))(t))
	const path = "/apis/crd.projectcalico.org/v1/ipamconfigs/default"
	if got := runKubectl(t, "get", "--raw", path); !strings.Contains(got, `"strictAffinity":true`) {
		t.Errorf("the command has not changed %s: %s", path, got)
	}
}

// runScript runs what a person would paste.
func runScript(t *testing.T, script string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-e")
	shell.Stdin = strings.NewReader(script)
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig)
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\nof the script\n%s", err, output, script)
	}
}
