package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// Cluster API's topology controller makes of each class what the plain flavor of the same cloud has, with the same variables.
func TestClasses(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	u := user{t: t, binaries: binaries, config: filepath.Join(writeRelease(t), "clusterctl.yaml"), home: t.TempDir()}
	management := u.prepared(u.components())
	const odd = `a "b": #c {d} 'e' größe, [f]` // of which no part may become YAML
	for name, c := range map[string]struct {
		cloud     string
		variables map[string]string
	}{
		"vsphere": {"vsphere", nil},
		"azure":   {"azure", nil},
		"odd": {"vsphere", map[string]string{
			"VSPHERE_DATASTORE": odd, "VSPHERE_NETWORK": odd, "VSPHERE_TEMPLATE": odd, "VSPHERE_WINDOWS_TEMPLATE": odd,
			"VSPHERE_SSH_AUTHORIZED_KEY": odd, "VIP_NETWORK_INTERFACE": odd, "CONTROL_PLANE_ENDPOINT_PORT": "8443",
			"WINDOWS_CPUS": "8", "WINDOWS_MEMORY_MIB": "32768", "WINDOWS_MAX_PODS": "60", "WINDOWS_SYSTEM_RESERVED_MEMORY": "3Gi",
			"WINDOWS_KUBE_RESERVED_MEMORY": "1Gi", "WINDOWS_MACHINE_COUNT": "0", "LINUX_WORKER_MACHINE_COUNT": "3",
		}},
		"key": {"azure", map[string]string{
			"AZURE_SSH_PUBLIC_KEY_B64": "c3NoLWVkMjU1MTk=", "AZURE_CONTROL_PLANE_MACHINE_TYPE": "Standard_D8s_v5",
			"AZURE_WINDOWS_GALLERY": "Gallery-1", "AZURE_WINDOWS_IMAGE": "ws2025", "AZURE_WINDOWS_IMAGE_VERSION": "1.2.3",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := u
			u.t, u.variables = t, c.variables
			if u.variables == nil {
				u.variables = map[string]string{}
			}
			u.variables["WINDOWS_CLOUD"] = c.cloud
			u.make(management, name, u.generate(name, "--flavor", "windows"))
			plain := u.kubectl(management, []byte(u.generate("plain", "--flavor", "windows-"+c.cloud)),
				"apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json")
			got := u.kubectl(management, nil, "get", madeKinds[c.cloud], "-l", "cluster.x-k8s.io/cluster-name="+name, "-o", "json")
			want := facts(t, plain)
			expect.Same(t, "what the class makes", want, facts(t, got))
			if len(want) < 9 {
				t.Errorf("compared only %d objects", len(want))
			}
		})
	}
}

var madeKinds = map[string]string{
	"vsphere": "vsphereclusters,vspheremachinetemplates," + kubeadmAndOurs,
	"azure":   "azureclusters,azuremachinetemplates," + kubeadmAndOurs,
}

const kubeadmAndOurs = "kubeadmcontrolplanes,kubeadmconfigtemplates,machinedeployments,machinehealthchecks," +
	"windowsmachinetemplates,windowsbootstrapconfigtemplates"

// make applies a Cluster with its class, the class first: the webhook warns of a Cluster whose class was not looked at yet.
func (u user) make(management *servers.Management, name, cluster string) {
	u.t.Helper()
	class, rest, found := strings.Cut(cluster, clusterBegins)
	if !found {
		u.t.Fatalf("no Cluster in\n%s", cluster)
	}
	apply := []string{"apply", "--validate=strict", "--warnings-as-errors", "-f", "-"}
	if class != "" {
		u.kubectl(management, []byte(class), apply...)
	}
	u.kubectl(management, nil, "wait", "--for=condition=VariablesReady", "clusterclass", "--all", "--timeout=60s")
	u.kubectl(management, []byte(clusterBegins+rest), apply...)
	u.reconciled(management, name)
}

const clusterBegins = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n"

// facts are the specs of a list of objects, by kind and role, without what must differ between a class and a plain flavor: names, and
// the order of files.
func facts(t *testing.T, list []byte) tree {
	t.Helper()
	var objects struct{ Items []tree }
	expect.OK(t, json.Unmarshal(list, &objects))
	all := tree{}
	for _, object := range objects.Items {
		kind := object["kind"].(string)
		spec, _ := object["spec"].(tree)
		switch kind {
		case "ClusterResourceSet", "HelmChartProxy", "ConfigMap", "Secret", "Cluster":
			continue
		case "KubeadmControlPlane":
			spec = tree{"kubeadm": kubeadmFacts(t, spec["kubeadmConfigSpec"].(tree)), "replicas": spec["replicas"]}
		case "MachineDeployment":
			spec = tree{"replicas": spec["replicas"], "remediation": spec["remediation"]}
		case "MachineHealthCheck":
			spec = tree{"checks": spec["checks"], "remediation": spec["remediation"]}
		}
		if template, ok := spec["template"].(tree); ok {
			spec = template["spec"].(tree)
		}
		if kind == "KubeadmConfigTemplate" {
			spec = kubeadmFacts(t, spec)
		}
		if identity, ok := spec["identityRef"].(tree); ok && identity["kind"] == "Secret" {
			identity["name"] = "of the cloud" // one Secret for both providers, or one for each
		}
		delete(spec, "resourceGroup") // no field of an AzureClusterTemplate: the Azure provider takes the Cluster's name
		all[kind+" "+role(object)] = spec
	}
	return all
}

func role(object tree) string {
	name := object["metadata"].(tree)["name"].(string)
	for _, role := range []string{"linux", "windows"} {
		if strings.Contains(name, "-"+role) {
			return role
		}
	}
	return "control plane"
}

// kubeadmFacts has files by path, and of those that are YAML what they say.
func kubeadmFacts(t *testing.T, spec tree) tree {
	t.Helper()
	files := tree{}
	listed, _ := spec["files"].([]any)
	for _, one := range listed {
		file := one.(tree)
		text, _ := file["content"].(string)
		if content := (tree{}); strings.Contains(text, "\n") {
			expect.OK(t, yaml.Unmarshal([]byte(text), &content))
			file["content"] = content
		}
		if from, ok := file["contentFrom"].(tree); ok {
			secret := from["secret"].(tree)
			if !strings.HasSuffix(secret["name"].(string), "-azure-json") {
				t.Errorf("Secret %s is not one that the Azure provider makes of a template", secret["name"])
			}
			secret["name"] = "of the machine template"
		}
		files[file["path"].(string)] = file
	}
	spec["files"] = files
	return spec
}
