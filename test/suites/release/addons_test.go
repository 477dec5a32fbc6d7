package release

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// What a flavor brings for its Windows nodes is, byte for byte, what the plugin prints for the flavor's pool.
func TestAddonsOfThePlugin(t *testing.T) {
	t.Parallel()
	u := offline(t)
	plugin := program(t, "clusterctl-windows")
	u.variables = map[string]string{"AZURE_WINDOWS_IMAGE_VERSION": "1.35.2"} // which has nothing behind a +
	for _, kubernetes := range []string{"v1.36.3", "v1.35.2"} {
		for _, flavor := range []string{"windows-vsphere", "windows-azure"} {
			cluster := u.generate("demo", "--flavor", flavor, "--kubernetes-version", kubernetes)
			printed := string(run(t, []byte(cluster), plugin, "addons", "-f", "-"))
			expect.Same(t, "add-ons of "+flavor, named(objectsIn(t, printed)), addonsOf(t, cluster))
			// The plugin refuses a vendor's build, of which kube-proxy has no image, and names the release that flavors take.
			vendor := u.generate("demo", "--flavor", flavor, "--kubernetes-version", kubernetes+"+vendor.1")
			expect.Same(t, "add-ons of "+flavor+" for a vendor's build", addonsOf(t, cluster), addonsOf(t, vendor))
		}
		// Its pool is not there before Cluster API has made it.
		plain, topology := u.generate("demo", "--flavor", "windows-azure", "--kubernetes-version", kubernetes),
			u.generate("demo", "--flavor", "windows", "--kubernetes-version", kubernetes)
		expect.Same(t, "add-ons of windows", addonsOf(t, plain), addonsOf(t, topology))
	}
}

// The flavor windows and the plain flavors have the same add-ons, letter by letter, but for the variables that only one of two
// clouds needs.
func TestAddonsOfTheFlavors(t *testing.T) {
	t.Parallel()
	both := addonsIn(t, "windows")
	for _, cloud := range []string{"vsphere", "azure"} {
		want := maps.Clone(both)
		for name, text := range want {
			_, label, found := strings.Cut(text, "capwin.io/cloud: ")
			ofAnother := found && !strings.HasPrefix(label, cloud+"\n")
			if ofAnother || cloud == "azure" && strings.HasSuffix(name, "-vsphere-cloud-config") {
				delete(want, name)
			}
		}
		if len(want) < 7 {
			t.Errorf("%s has only %d add-ons", cloud, len(want))
		}
		expect.Same(t, "add-ons of windows-"+cloud, want, addonsIn(t, "windows-"+cloud))
	}
}

// addonsIn is the text of a template's add-ons, with the comments above them.
func addonsIn(t *testing.T, flavor string) map[string]string {
	t.Helper()
	all := map[string]string{}
	text := string(expect.Got(os.ReadFile("../../../templates/cluster-template-" + flavor + ".yaml"))(t))
	for object := range strings.SplitSeq(strings.ReplaceAll(text, ":=${REQUIRED_ON_VSPHERE}", ""), "\n---\n") {
		kind := regexp.MustCompile(`(?m)^kind: (ClusterResourceSet|HelmChartProxy|ConfigMap)$`).FindStringSubmatch(object)
		name := regexp.MustCompile(`(?m)^ {2}name: "(.*)"$`).FindStringSubmatch(object)
		if kind != nil && name != nil {
			all[kind[1]+"/"+name[1]] = strings.TrimSuffix(object, "\n") + "\n"
		}
	}
	return all
}

func addonsOf(t *testing.T, cluster string) map[string]tree {
	t.Helper()
	all := named(objectsIn(t, cluster))
	for name := range all {
		if !strings.HasSuffix(name, "/demo-windows-addons") {
			delete(all, name)
		}
	}
	return all
}

// named has objects by kind and name.
func named(objects []tree) map[string]tree {
	all := map[string]tree{}
	for _, object := range objects {
		all[object["kind"].(string)+"/"+object["metadata"].(tree)["name"].(string)] = object
	}
	return all
}

// The next release of the add-on provider takes charts over TLS only, and has no functions that read its environment or ask the
// network.
func TestChartsArePinned(t *testing.T) {
	t.Parallel()
	charts := 0
	for _, file := range expect.Got(filepath.Glob("../../../templates/*.yaml"))(t) {
		for name, object := range named(objectsIn(t, string(expect.Got(os.ReadFile(file))(t)))) {
			if object["kind"] != servers.HelmChartProxy.Kind {
				continue
			}
			charts++
			spec := object["spec"].(tree)
			url, _ := spec["repoURL"].(string)
			url, isDefault := strings.CutPrefix(url, "${CHART_REPOSITORY:=")
			if !isDefault || !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "oci://") {
				t.Errorf("%s of %s comes from %q", name, file, url)
			}
			if version, _ := spec["version"].(string); !regexp.MustCompile(`^v?\d+\.\d+\.\d+$`).MatchString(version) {
				t.Errorf("%s of %s has the version %q, which is not one alone", name, file, version)
			}
			values, _ := spec["valuesTemplate"].(string)
			if found := regexp.MustCompile(`\b(env|expandenv|getHostByName)\b`).FindString(values); found != "" {
				t.Errorf("%s of %s calls %s", name, file, found)
			}
		}
	}
	if charts != 10 {
		t.Errorf("%d charts, want those of 3 flavors", charts)
	}
}

// wantValuesOfCharts waits until the add-on provider has written the values of a Cluster's charts. With the address of the API
// server they are written again.
func (u user) wantValuesOfCharts(management *servers.Management, name string, want map[string]string) {
	u.t.Helper()
	u.wantNoOperator(management, name)
	u.wantCharts(management, name, want, "")
	u.kubectl(management, nil, "patch", "cluster", name, "--type", "merge", "-p",
		`{"spec": {"controlPlaneEndpoint": {"host": "cp.example.com", "port": 8443}}}`)
	u.wantCharts(management, name, want, "kubernetesServiceEndpoint: {host: cp.example.com, port: '8443'}\n")
}

// wantNoOperator looks whether Calico's operator waits for a control plane, and says then that there is one.
func (u user) wantNoOperator(management *servers.Management, name string) {
	u.t.Helper()
	wait.Until(u.t, "the other charts", func() (any, bool) {
		got := u.charts(management, name)
		return got, len(got) > 0
	})
	if got := u.charts(management, name)["tigera-operator"]; got != nil {
		u.t.Errorf("the chart of Calico's operator is tried before there is a control plane: %v", got)
	}
	u.kubectl(management, nil, "patch", "cluster", name, "--subresource", "status", "--type", "merge", "-p",
		`{"status": {"initialization": {"controlPlaneInitialized": true}}}`)
}

// wantHollow looks at the values of the charts for a Cluster that says nothing of its networks.
func (u user) wantHollow(management *servers.Management) {
	u.t.Helper()
	u.variables = nil
	for name, object := range named(objectsIn(u.t, u.generate("hollow", "--flavor", "windows-azure"))) {
		kind, _, _ := strings.Cut(name, "/")
		switch kind {
		case "Cluster":
			delete(object["spec"].(tree), "clusterNetwork")
		case "AzureCluster", "KubeadmControlPlane", servers.HelmChartProxy.Kind:
		default:
			continue
		}
		u.kubectl(management, expect.Got(json.Marshal(object))(u.t), "apply", "--validate=strict", "--warnings-as-errors", "-f", "-")
	}
	u.wantValuesOfCharts(management, "hollow", map[string]string{
		"crd.projectcalico.org.v1": "", "cloud-provider-azure": "infra: {clusterName: hollow}",
		"tigera-operator": strings.NewReplacer("    ipPools: [{cidr: 192.168.0.0/16, encapsulation: VXLAN, blockSize: 25}]\n", "",
			"  serviceCIDRs: [10.96.0.0/12]\n", "").Replace(chartValues("hollow")["azure"]["tigera-operator"]),
	})
}

func (u user) wantCharts(management *servers.Management, name string, want map[string]string, more string) {
	u.t.Helper()
	expected := map[string]tree{}
	for chart, text := range want {
		values := tree{}
		if chart == "tigera-operator" {
			text += more
		}
		expect.OK(u.t, yaml.Unmarshal([]byte(text), &values))
		expected[chart] = values
	}
	wait.Until(u.t, "the charts' values", func() (any, bool) {
		got := u.charts(management, name)
		written := len(got) == len(expected) && (more == "" || got["tigera-operator"]["kubernetesServiceEndpoint"] != nil)
		provider := got[servers.CloudProviderChart] // written again when there is a control plane
		return got, written && (provider == nil || provider["daemonset"] != nil)
	})
	expect.Same(u.t, "values of the charts", expected, u.charts(management, name))
}

// charts are the values of each, as the add-on provider hands them to Helm.
func (u user) charts(management *servers.Management, name string) map[string]tree {
	u.t.Helper()
	list := &unstructured.UnstructuredList{}
	expect.OK(u.t, json.Unmarshal(u.kubectl(management, nil, "get", "helmreleaseproxies",
		"-l", "cluster.x-k8s.io/cluster-name="+name, "-o", "json"), list))
	all := map[string]tree{}
	for _, release := range list.Items {
		spec := release.Object["spec"].(tree)
		text, _ := spec["values"].(string)
		if strings.Contains(text, "no value") {
			u.t.Errorf("values of %v have one that is not there:\n%s", spec["chartName"], text)
		}
		values := tree{}
		expect.OK(u.t, yaml.Unmarshal([]byte(text), &values))
		all[spec["chartName"].(string)] = values
	}
	return all
}
