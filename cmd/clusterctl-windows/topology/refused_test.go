package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// lineOfText is the line of the last one of some texts that stand behind each other.
func lineOfText(t *testing.T, text string, parts ...string) int {
	t.Helper()
	at := 0
	for _, part := range parts {
		next := strings.Index(text[at:], part)
		if next < 0 {
			t.Fatalf("there is no %q behind the others in\n%s", part, text)
		}
		at += next
	}
	return 1 + strings.Count(text[:at], "\n")
}

// A variable that is wrong is refused at its line, whether the class refuses it, or what its patches make of it.
func TestVariablesRefused(t *testing.T) {
	for _, c := range []struct{ cloud, old, new, variable, line, want string }{
		// By the class.
		{
			"vsphere", "maxPods: 110", "maxPods: many", "windows.maxPods", "maxPods",
			"must be a whole number, not a text; write a number",
		},
		{
			"vsphere", "maxPods: 110", "maxPod: 110", "windows.maxPod", "maxPod",
			`unknown field "windows.maxPod"; did you mean "windows.maxPods"?`,
		},
		{
			"vsphere", "datastore:", "datastor:", "vsphere.datastor", "datastor",
			`unknown field "vsphere.datastor"; did you mean "vsphere.datastore"?`,
		},
		{"vsphere", "          dc0", "          ", "vsphere.datacenter", "datacenter", "must not be empty"},
		{
			"vsphere", "          192.0.2.10", "          api.example.com", "vsphere.controlPlaneEndpointIP", "controlPlaneEndpointIP",
			"the text is not an IPv4 address, such as 192.0.2.10",
		},
		{
			"vsphere", "          AB:AB", "          ab:AB", "vsphere.thumbprint", "thumbprint",
			"does not have the form that it must have; the SHA-256 fingerprint of the server's certificate, as openssl prints it, " +
				"such as AB:CD:... of 32 pairs",
		},
		{
			"vsphere", "          nodes", "          team-a/nodes", "vsphere.folder", "folder",
			"a path that begins in the datacenter begins with vm/, such as vm/team-a/nodes",
		},
		{"vsphere", "linuxCPUs: 2", "linuxCPUs: 1", "vsphere.linuxCPUs", "linuxCPUs", "is 1, but must be at least 2"},
		{
			"vsphere", "- name: vsphere", "- name: vspere", "vspere", "name: vspere",
			"ClusterClass default/windows-vsphere has no variable of this name; did you mean vsphere?",
		},
		{"azure", "          westeurope", "          ", "azure.location", "location", "must not be empty"},
		{"azure", "linuxDiskGiB: 128", "linuxDiskGiB: 0", "azure.linuxDiskGiB", "linuxDiskGiB: 0", "is 0, but must be at least 1"},
		// By what the patches make of it.
		{"vsphere", "maxPods: 110", "maxPods: 0", "windows.maxPods", "maxPods", "is 0, but must be at least 1; it becomes " +
			"spec.template.spec.kubelet.maxPods of the WindowsBootstrapConfigTemplate"},
		{
			"vsphere", "          1465Mi", "          1465", "windows.kubeReservedMemory", "kubeReservedMemory",
			`is "1465", but must be an amount of memory from 1Mi to 24Ti, such as 3Gi or 1536Mi; without a unit these are bytes`,
		},
		{"vsphere", "windowsCPUs: 4", "windowsCPUs: 1", "vsphere.windowsCPUs", "windowsCPUs", "is 1, but must be at least 2"},
		{
			"azure", "windowsImage: |2-\n          capi-win-2022-containerd", "windowsImage: a b",
			"azure.windowsImage", "windowsImage: a b",
			"it becomes spec.template.spec.azure.image.communityGallery.name of the WindowsMachineTemplate",
		},
		{
			"azure", "windowsImageID: |2-\n          ", "windowsImageID: mine", "azure.windowsImageID", "windowsImageID",
			"it becomes spec.template.spec.azure.image.id of the WindowsMachineTemplate",
		},
	} {
		text := files(t, c.cloud, c.old, c.new)
		err := Admit(setOf(t, text))
		want := fmt.Sprintf("Cluster default/prod, variable %s (standard input: document 1, line %d): ", c.variable,
			lineOfText(t, text, "variables:", "name: "+strings.SplitN(c.variable, ".", 2)[0], c.line))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s becomes %s: want %s%s, got\n%v", c.old, c.new, want, c.want, err)
			continue
		}
		expect.Same(t, "sentences about "+c.new, 1, len(strings.Split(err.Error(), "\n")))
	}
}

// A pool's own variable is refused at its line there, and one that the Cluster has for several pools once.
func TestOverridesRefused(t *testing.T) {
	const pool = "        name: windows\n        replicas: 1"
	text := files(t, "vsphere", pool, pool+"\n      - {class: windows, name: build, replicas: 1, variables: {overrides: [\n"+
		"          {name: windows, value: {maxPods: 0}}]}}\n      - {class: windows, name: third, replicas: 1}",
		"maxPods: 110", "maxPods: -1")
	err := Admit(setOf(t, text))
	const becomes = "; it becomes spec.template.spec.kubelet.maxPods of the WindowsBootstrapConfigTemplate\n"
	expect.Same(t, "refusals", fmt.Sprintf("Cluster default/prod, variable windows.maxPods (standard input: document 1, line %d): "+
		"is -1, but must be at least 1"+becomes+"Cluster default/prod, variable windows.maxPods of the pool build (standard input: "+
		"document 1, line %d): is 0, but must be at least 1"+becomes,
		lineOfText(t, text, "variables:\n", "maxPods: -1"), lineOfText(t, text, "maxPods: 0")), fmt.Sprintln(err))
}

// What the class refuses by itself, and what there is no telling from files, says what to do.
func TestTopologiesRefused(t *testing.T) {
	const add = "add the output of: kubectl get "
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no class": {cluster(t, "azure"), []string{
			"Cluster default/prod (standard input: document 1, line 20): ClusterClass default/windows-azure is not in standard input; " +
				add + "clusterclass windows-azure -n default -o yaml",
		}},
		"class in another namespace": {
			edited(t, cluster(t, "azure"), "namespace: \"default\"", "namespace: team-a") + "---\n" + class(t, "azure"),
			[]string{"ClusterClass team-a/windows-azure is not in standard input, which has one of this name in the namespace default; "},
		},
		"two classes": {
			files(t, "azure") + "---\n" + class(t, "azure"),
			[]string{"ClusterClass default/windows-azure exists 2 times; keep only one: standard input: document 2, line "},
		},
		"misspelt class": {files(t, "azure", `name: "windows-azure"`, `name: "windows-azur"`), []string{
			"ClusterClass default/windows-azur is not in standard input; did you mean windows-azure, which is there?",
		}},
		"misspelt pool": {files(t, "azure", "class: windows\n", "class: window\n"), []string{
			"Cluster default/prod (standard input: document 1, line 30): the pool windows is of the class window, which ClusterClass " +
				"default/windows-azure does not have; did you mean windows?",
		}},
		"no templates": {
			cluster(t, "azure") + "---\n" + strings.SplitN(class(t, "azure"), "\n---\n", 2)[0], []string{
				"Cluster default/prod: templates of its ClusterClass default/windows-azure are missing:\n",
				"AzureClusterTemplate default/windows-azure-7c1915a9 is not in standard input; " + add +
					"azureclustertemplate windows-azure-7c1915a9 -n default -o yaml\n",
				add + "kubeadmcontrolplanetemplate ", add + "azuremachinetemplate windows-azure-control-plane-",
				add + "kubeadmconfigtemplate ",
				add + "windowsmachinetemplate ", add + "windowsbootstrapconfigtemplate ",
			},
		},
		"external patch": {files(t, "azure", "  patches:\n", "  patches:\n  - name: ours\n    external: "+
			"{generatePatchesExtension: patch.ours, validateTopologyExtension: check.ours}\n"), []string{
			"Cluster default/prod: the result of its topology cannot be computed from files, because the patch ours of ClusterClass " +
				"default/windows-azure is an external extension, which only the cluster can call; give the output of: kubectl get cluster,",
		}},
		"external plan of upgrades": {files(t, "azure", "  patches:\n", "  upgrade: {external: {generateUpgradePlanExtension: "+
			"plan.ours}}\n  patches:\n"), []string{
			"because the plan of upgrades of ClusterClass default/windows-azure is an external extension",
		}},
		"another provider's class": {
			strings.ReplaceAll(files(t, "azure"), "WindowsMachineTemplate", "DockerMachineTemplate"), []string{
				"Cluster default/prod: ClusterClass default/windows-azure has no Windows machines of this provider, which are those of a " +
					"pool with a WindowsMachineTemplate; its pools are linux (AzureMachineTemplate), windows (DockerMachineTemplate)",
			},
		},
		"no Windows pool": {
			files(t, "azure", "      - class: windows\n        name: windows\n", "      - class: linux\n        name: two\n"),
			[]string{"no pool has Windows machines; ClusterClass default/windows-azure has them as the class windows; the pools here " +
				"are linux (class linux), two (class linux)"},
		},
		"a patch that fails": {files(t, "azure", `"v1.36.3"`, `"v1.37.0"`), []string{
			"Cluster default/prod (standard input: document 1, line 19): the patch windows-config of ClusterClass default/windows-azure " +
				"fails: the chart of Azure's cloud provider knows no image for Kubernetes 1.37 or later; use 1.36",
		}},
		"a patch without a place": {files(t, "azure", "/spec/template/spec/kubelet/maxPods", "/spec/template/spec/a/b/c"), []string{
			"the patch windows-config of ClusterClass default/windows-azure fails: it must add /spec/template/spec/a/b/c, but the " +
				"template has no such place",
		}},
		"a class that its webhook refuses": {
			files(t, "azure", "{variable: azure.location}", "{variable: azur.location}"),
			[]string{
				"ClusterClass default/windows-azure (standard input: document 2, line ",
				"spec.patches[0].definitions[0].jsonPatches[1]",
			},
		},
		"a version": {files(t, "azure", `"v1.36.3"`, `"1.36"`), []string{
			"Cluster default/prod (standard input: document 1, line 22): spec.topology.version: version must be a valid semantic " +
				"version",
		}},
		"templates of another version": {files(t, "vsphere",
			"kind: VSphereClusterTemplate\nmetadata", "kind: VSphereClusterTemplate\n#\nmetadata",
			"apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: VSphereClusterTemplate\n#",
			"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: VSphereClusterTemplate\n#"), []string{
			"VSphereClusterTemplate default/windows-vsphere-7c1915a9 has apiVersion infrastructure.cluster.x-k8s.io/v1beta1, but its " +
				"ClusterClass refers to it as infrastructure.cluster.x-k8s.io/v1beta2; write the same in both",
		}},
	} {
		err := Admit(setOf(t, c.text))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want %q, got\n%v", name, want, err)
			}
		}
	}
}

// A variable may be a secret. No refusal shows its value, or a name that may be one that was pasted.
func TestValuesHidden(t *testing.T) {
	const secret, key = "hunter2-hunter2", "          c3NoLXJzYSBBQUFB"
	for old, c := range map[string]struct{ new, want string }{
		"            Calico\n": {
			"            {{ .azure.sshPublicKey }}: : [\n", "what one of its templates makes of the variables is not YAML: ",
		},
		"        location: |2-": {
			"        " + secret + ": 1\n        location: |2-",
			"variable azure (standard input: document 1, line 72): " +
				"unknown field in azure; its name is not shown, because it has more than letters and may be a secret",
		},
		"sshPublicKey: {type: string, minLength: 1}": {"sshPublicKey: {type: string, maxLength: 3}", "variable azure.sshPublicKey "},
	} {
		err := Admit(setOf(t, files(t, "azure", key, "          "+secret+" {", old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s becomes %s: want %q, got\n%v", old, c.new, c.want, err)
		}
	}
}
