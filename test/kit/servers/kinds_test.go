package servers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Each kind has the label by which Cluster API finds the version to read, and asks no webhook, which would not answer.
func TestForeignKinds(t *testing.T) {
	for _, c := range []struct {
		kinds    foreignKinds
		provider string
		contract string
		names    []string
	}{
		{kinds: capv, provider: "infrastructure-vsphere", contract: "cluster.x-k8s.io/v1beta2=v1beta2", names: []string{
			"vsphereclusteridentities", "vsphereclusters", "vsphereclustertemplates", "vspheredeploymentzones",
			"vspherefailuredomains", "vspheremachines", "vspheremachinetemplates", "vspherevms",
		}},
		{kinds: capz, provider: "infrastructure-azure", contract: "cluster.x-k8s.io/v1beta1=v1beta1", names: []string{
			"azureclusteridentities", "azureclusters", "azureclustertemplates", "azuremachines", "azuremachinetemplates",
		}},
	} {
		var names []string
		for _, crd := range expect.Got(c.kinds.definitions(t.Context()))(t) {
			name, group, _ := strings.Cut(crd.GetName(), ".")
			names = append(names, name)
			expect.Same(t, "group of "+name, "infrastructure.cluster.x-k8s.io", group)
			label, version, _ := strings.Cut(c.contract, "=")
			expect.Same(t, "contract of "+name, version, crd.GetLabels()[label])
			expect.Same(t, "provider of "+name, c.provider, crd.GetLabels()["cluster.x-k8s.io/provider"])
			if conversion, found, _ := unstructured.NestedMap(crd.Object, "spec", "conversion"); found {
				t.Errorf("%s has the conversion %v", name, conversion)
			}
		}
		slices.Sort(names)
		expect.Same(t, "kinds of "+c.provider, c.names, names)
	}
}

func TestForeignKindsThatAreNotThere(t *testing.T) {
	unknown := capz
	unknown.plurals = []string{"azureclusters", "azuremachinetemplate"}
	expect.Says(t, "a kind that is not there", expect.ErrorOf(unknown.definitions(t.Context())), "there are 1")
}

func TestChecksumOfPinnedModule(t *testing.T) {
	changed := capv.pinned
	changed.sum = "h1:0000000000000000000000000000000000000000000="
	expect.Says(t, "another source", expect.ErrorOf(changed.source(t.Context())), "checksum is "+capv.sum+" and not "+changed.sum)
}

func TestChart(t *testing.T) {
	path, version, err := Chart(t.Context(), CloudProviderChart)
	expect.OK(t, err)
	if content := expect.Got(os.ReadFile(path))(t); !strings.HasPrefix(string(content), "\x1f\x8b") {
		t.Errorf("%s is no archive", path)
	}
	if !strings.HasSuffix(path, "/charts/vsphere-cpi-"+version+".tgz") {
		t.Errorf("version %s is at %s", version, path)
	}
	_, _, err = Chart(t.Context(), "calico")
	expect.Says(t, "a chart that is not there", err, "find chart calico: there is only vsphere-cpi")
}
