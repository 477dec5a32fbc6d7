package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Cluster API's topology controller makes of each class what the plain flavor of the same cloud has, with the same variables.
func TestClasses(t *testing.T) { //nolint:tparallel // because its parts change one cluster
	needsServers(t)
	t.Parallel()
	u := offline(t)
	management := u.prepared(u.components())
	t.Run("old", func(t *testing.T) { // the first in its namespace
		u := u
		u.t = t
		u.wantOldClass(management)
	})
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
			"VSPHERE_LINUX_DISK_GIB": "60", "VSPHERE_LINUX_CPUS": "4", "VSPHERE_LINUX_MEMORY_MIB": "16384",
			"WINDOWS_CPUS": "8", "WINDOWS_MEMORY_MIB": "32768", "WINDOWS_MAX_PODS": "60", "WINDOWS_SYSTEM_RESERVED_MEMORY": "3Gi",
			"WINDOWS_KUBE_RESERVED_MEMORY": "1Gi", "WINDOWS_MACHINE_COUNT": "0", "LINUX_WORKER_MACHINE_COUNT": "3",
		}},
		"sizes": {"azure", map[string]string{
			"AZURE_CONTROL_PLANE_MACHINE_TYPE": "Standard_D8s_v5", "WINDOWS_MACHINE_COUNT": "7", "AZURE_LINUX_DISK_GIB": "200",
			"AZURE_WINDOWS_GALLERY": "Gallery-1", "AZURE_WINDOWS_IMAGE": "ws2025", "AZURE_WINDOWS_IMAGE_VERSION": "1.2.3",
		}},
		"mirror":          {"vsphere", maps.Clone(mirrored)},
		"mirror-of-azure": {"azure", maps.Clone(mirrored)},
	} {
		t.Run(name, func(t *testing.T) {
			u := u
			u.t, u.variables = t, c.variables
			if u.variables == nil {
				u.variables = map[string]string{}
			}
			u.variables["WINDOWS_CLOUD"] = c.cloud
			text := u.only(c.cloud).generate(name, "--flavor", "windows")
			u.make(management, name, text)
			u.wantPluginsTopology(management, name, text)
			plain := u.kubectl(management, []byte(u.generate("plain", "--flavor", "windows-"+c.cloud)),
				"apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json")
			got := u.kubectl(management, nil, "get", madeKinds[c.cloud], "-l", "cluster.x-k8s.io/cluster-name="+name, "-o", "json")
			want := facts(t, plain)
			expect.Same(t, "what the class makes", want, facts(t, got))
			if len(want) < 9 {
				t.Errorf("compared only %d objects", len(want))
			}
			u.wantValuesOfCharts(management, name, u.atMirror(chartValues(name)[c.cloud]))
			u.kubectl(management, nil, "get", c.cloud+"cluster", name) // in Azure also the name of the resource group
		})
	}
	for name, want := range map[string]func(user, *servers.Management){
		"hollow": user.wantHollow, "refused": user.wantRefusals, "refused with its class": user.wantRefusedWithClass,
		"long names": user.wantLongNames, "rotated": user.wantRotated, "newer": user.wantNewer, "head": user.wantCommandsOfTheHead,
		"networks": user.wantNetworksRefused, "counts": user.wantCounts,
		"cloud providers": user.wantCloudProviders, "template's disk": user.wantTemplatesDisk, "one login": user.wantOneLogin,
		"agreed": user.wantAgreed,
	} {
		t.Run(name, func(t *testing.T) {
			u := u
			u.t = t
			want(u, management)
		})
	}
}

// wantRotated changes the sizes of the Linux machines in Azure: their machine templates get new names, and nothing else changes,
// so that machines roll out once. Workers have no azure.json, which is for the cloud provider. The SSH key stays: the Azure
// provider would make one up for each template without one.
func (u user) wantRotated(management *servers.Management) {
	u.t.Helper()
	stories.Begin(u.t)
	u.variables = map[string]string{"WINDOWS_CLOUD": "azure"}
	before := map[string]string{}
	for _, size := range []string{"Standard_D2s_v5", "Standard_D4s_v5"} {
		u.variables["AZURE_CONTROL_PLANE_MACHINE_TYPE"], u.variables["AZURE_NODE_MACHINE_TYPE"] = size, size
		u.kubectl(management, []byte(u.clusterAlone("rotated")), "apply", "-f", "-")
		u.reconciled(management, "rotated")
		now := map[string]string{}
		wait.Until(u.t, "templates with the size "+size, func() (any, bool) {
			now = u.machinesOf(management, "rotated")
			return now, now["control plane size"] == size && now["linux size"] == size
		})
		if !strings.Contains(now["control plane files"], "azure.json") || strings.Contains(now["control plane files"], "contentFrom") {
			u.t.Errorf("the files of the control plane are %s", now["control plane files"])
		}
		expect.Same(u.t, "files of Linux workers", "", now["linux files"])
		for who, is := range now {
			rotates := strings.HasSuffix(who, " template") || strings.HasSuffix(who, " size")
			if was, had := before[who]; had && (was == is) == rotates {
				u.t.Errorf("the %s was %s, and is %s", who, was, is)
			}
		}
		before = now
	}
	keys := strings.Fields(string(u.kubectl(management, nil, "get", "azuremachinetemplates",
		"-l", "cluster.x-k8s.io/cluster-name=rotated", "-o", `jsonpath={.items[*].spec.template.spec.sshPublicKey}`)))
	if len(keys) < 2 || slices.ContainsFunc(keys, func(key string) bool { return key != variables["AZURE_SSH_PUBLIC_KEY_B64"] }) {
		u.t.Errorf("the SSH keys of the machine templates are %q", keys)
	}
}

// machinesOf are, for the control plane and the Linux pool, the machine template with its size, the bootstrap and its files.
func (u user) machinesOf(management *servers.Management, name string) map[string]string {
	u.t.Helper()
	get := func(path string, what ...string) string {
		return string(u.kubectl(management, nil, append(append([]string{"get"}, what...), "-o", "jsonpath={"+path+"}")...))
	}
	labels := "-l=cluster.x-k8s.io/cluster-name=" + name
	const spec, kind = ".items[0].spec.template.spec.", "azuremachinetemplate"
	pool := []string{"machinedeployments", labels + ",topology.cluster.x-k8s.io/deployment-name=linux"}
	plane, linux := get(".items[0].spec.machineTemplate.spec.infrastructureRef.name", "kubeadmcontrolplanes", labels),
		get(spec+"infrastructureRef.name", pool...)
	config := get(spec+"bootstrap.configRef.name", pool...)
	return map[string]string{
		"control plane template": plane, "control plane size": get(".spec.template.spec.vmSize", kind, plane),
		"linux template": linux, "linux size": get(".spec.template.spec.vmSize", kind, linux),
		"control plane files": get(".items[0].spec.kubeadmConfigSpec.files", "kubeadmcontrolplanes", labels),
		"linux bootstrap":     config, "linux files": get(".spec.template.spec.files", "kubeadmconfigtemplate", config),
	}
}

// chartValues are those of a Cluster's charts before there is an API server.
func chartValues(name string) map[string]map[string]string {
	return map[string]map[string]string{
		"vsphere": {
			"crd.projectcalico.org.v1": "", "vsphere-cpi": "{config: {enabled: false}, daemonset: {tag: v1.36.0}}",
			"tigera-operator": fmt.Sprintf(calicoValues, ""),
		},
		"azure": {
			"crd.projectcalico.org.v1": "",
			"tigera-operator":          "dnsPolicy: Default\n" + fmt.Sprintf(calicoValues, "mtu: 1350"),
			"cloud-provider-azure": "infra: {clusterName: " + name + "}\n" +
				"cloudControllerManager: {clusterCIDR: 192.168.0.0/16}",
		},
	}
}

// atMirror are these values with the images of the user's mirror, if there is one.
func (u user) atMirror(values map[string]string) map[string]string {
	mirror := u.variables["IMAGE_REGISTRY"]
	if mirror == "" {
		return values
	}
	azure := mirror + "/oss/v2/kubernetes"
	change := strings.NewReplacer(
		"installation:\n", "tigeraOperator: {registry: '"+mirror+"'}\ninstallation:\n  registry: '"+mirror+"/'\n",
		"{tag:", "{image: '"+mirror+"/cloud-pv-vsphere/cloud-provider-vsphere', tag:",
		"cloudControllerManager: {",
		"cloudNodeManager: {imageRepository: '"+azure+"'}\ncloudControllerManager: {imageRepository: '"+azure+"', ",
	)
	changed := map[string]string{}
	for chart, text := range values {
		changed[chart] = change.Replace(text)
	}
	return changed
}

const calicoValues = `
installation:
  serviceCIDRs: [10.96.0.0/12]
  calicoNetwork:
    bgp: Disabled
    windowsDataplane: HNS
    %s
    ipPools: [{cidr: 192.168.0.0/16, encapsulation: VXLAN, blockSize: 25}]
  windowsNodes: {cniBinDir: /opt/cni/bin, cniConfigDir: /etc/cni/net.d}
  typhaDeployment:
    spec:
      template:
        spec:
          tolerations:
          - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
          - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule}
          - {operator: Exists, effect: NoExecute}
`

var madeKinds = map[string]string{
	"vsphere": "vsphereclusters,vspheremachinetemplates," + kubeadmAndOurs,
	"azure":   "azureclusters,azuremachinetemplates," + kubeadmAndOurs,
}

const kubeadmAndOurs = "kubeadmcontrolplanes,kubeadmconfigtemplates,machinedeployments,machinehealthchecks," +
	"windowsmachinetemplates,windowsbootstrapconfigtemplates"

// only is a user who has set nothing for the other cloud.
func (u user) only(cloud string) user {
	set := maps.Clone(u.variables)
	for name := range variables {
		of := map[bool]string{true: "azure", false: "vsphere"}[strings.HasPrefix(name, "AZURE") || name == "CLUSTER_IDENTITY_NAME"]
		if of != cloud && name != "WINDOWS_CLOUD" {
			set[name] = ""
		}
	}
	u.variables = set
	return u
}

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

// facts are the specs of a list of objects, by kind and role, without what must differ between a class and a plain flavor: names,
// and the order of files.
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

// kubeadmFacts has files by path, and of those that are YAML what they say. azure.json is the Azure provider's Secret of the
// machine template in a plain flavor; a class has what that says, see docs/decisions/020-azure-json-in-the-class.md.
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
		if file["path"] == "/etc/kubernetes/azure.json" {
			wantAzureJSON(t, file)
			delete(file, "contentFrom")
			file["content"] = "what the Azure provider says"
		}
		files[file["path"].(string)] = file
	}
	spec["files"] = files
	return spec
}

func wantAzureJSON(t *testing.T, file tree) {
	t.Helper()
	if from, ok := file["contentFrom"].(tree); ok {
		if secret := from["secret"].(tree)["name"].(string); !strings.HasSuffix(secret, "-azure-json") {
			t.Errorf("Secret %s is not one that the Azure provider makes of a template", secret)
		}
		return
	}
	content := file["content"].(tree)
	group, _ := content["resourceGroup"].(string)
	if !strings.HasSuffix(t.Name(), "/"+group) {
		t.Errorf("the resource group is %q, and not the Cluster's name", group)
	}
	expect.Same(t, "azure.json", tree{
		"cloud": "AzurePublicCloud", "subscriptionId": variables["AZURE_SUBSCRIPTION_ID"], "location": variables["AZURE_LOCATION"],
		"resourceGroup": group, "vmType": "vmss", "vnetName": group + "-vnet", "vnetResourceGroup": group,
		"subnetName": "node-subnet", "securityGroupName": group + "-node-nsg", "securityGroupResourceGroup": group,
		"routeTableName": group + "-node-routetable", "loadBalancerSku": "Standard", "maximumLoadBalancerRuleCount": 250.0,
		"useManagedIdentityExtension": true, "userAssignedIdentityID": variables["AZURE_NODE_IDENTITY"], "useInstanceMetadata": true,
		"enableVmssFlexNodes": true,
	}, content)
}
