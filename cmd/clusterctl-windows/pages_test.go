package main

import (
	"regexp"
	"strings"
	"testing"
)

const (
	migrationPage = "../../docs/migration.md"
	limitsPage    = "../../docs/limits.md"
)

// pageBlock is a block of YAML on a page, whose lines may stand below a number of a list.
var pageBlock = regexp.MustCompile("(?s)\n( *)```yaml\n(.*?)\n *```")

func yamlBlocks(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, found := range pageBlock.FindAllStringSubmatch(readText(t, page), -1) {
		all = append(all, strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n")[1:]+"\n")
	}
	return all
}

// clusterOf is a Cluster of another provider, to which a pool of ours comes.
func clusterOf(kind, spec string) string {
	return `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod, namespace: default}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneEndpoint: {host: prod.example.com, port: 6443}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: prod}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ` + kind + `, name: prod}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ` + kind + `
metadata: {name: prod, namespace: default}
spec: ` + spec + `
---
`
}

var (
	clusterOfCAPV = clusterOf("VSphereCluster", "{server: vcenter.example.com, "+
		"controlPlaneEndpoint: {host: prod.example.com, port: 6443}}")
	clusterOfCAPZ = clusterOf("AzureCluster", "{location: westeurope, resourceGroup: prod, "+
		"subscriptionID: 00000000-0000-0000-0000-000000000000}")
)

// migrated are the pools of the page: that on vSphere, and the same with what the page has for Azure.
func migrated(t *testing.T) (vSphere, azure string) {
	t.Helper()
	blocks := yamlBlocks(t, migrationPage)
	if len(blocks) != 3 {
		t.Fatalf("docs/migration.md has %d blocks of YAML, want the affinity, a pool and what is another in Azure", len(blocks))
	}
	vSphere = blocks[1]
	head, rest, _ := strings.Cut(vSphere, "      identityRef:")
	_, rest, _ = strings.Cut(rest, "\n---\n")
	return vSphere, head + "      " + strings.ReplaceAll(strings.TrimSuffix(blocks[2], "\n"), "\n", "\n      ") + "\n---\n" + rest
}

// TestMigratedPools: the pools of docs/migration.md are those that the plugin plans in clusters of CAPV and CAPZ.
func TestMigratedPools(t *testing.T) {
	vSphere, azure := migrated(t)
	for file, node := range map[string]string{
		clusterOfCAPV + vSphere: "vSphere",
		clusterOfCAPZ + azure:   "Azure",
	} {
		got := call(t, "", "plan", "-f", inFile(t, file))
		if got.Code != exitDone || !strings.Contains(got.Out, "run-folder") ||
			!strings.Contains(got.Out, "vmodule=kubelet_node_status=4") {
			t.Errorf("on %s: exit code %d\n%s\n%s", node, got.Code, got.Err, got.Out)
		}
	}
}

// TestExampleOfKubeletFlags: what docs/names.md has as an example of a kubelet's flag is accepted.
func TestExampleOfKubeletFlags(t *testing.T) {
	example := regexp.MustCompile("kubeletExtraArgs` \\| `kubelet.extraArgs` \\| - ({[^}]*})")
	row := example.FindStringSubmatch(readText(t, "../../docs/names.md"))
	if row == nil {
		t.Fatal("docs/names.md has no example of a kubelet's flag")
	}
	pool, _ := migrated(t)
	file := clusterOfCAPV + regexp.MustCompile(`extraArgs: .*`).ReplaceAllLiteralString(pool, "extraArgs: ["+row[1]+"]")
	if got := call(t, "", "plan", "-f", inFile(t, file)); got.Code != exitDone {
		t.Errorf("%s is refused: %s", row[1], got.Err)
	}
}

// oldPool is a pool of CAPZ with the kinds of ours, as docs/migration.md has the reader write it.
const oldPool = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: old, namespace: default}
spec: {template: {spec: {vmSize: Standard_D4s_v3, osDisk: {osType: Windows}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: old, namespace: default}
spec: {template: {spec: {preKubeadmCommands: [powershell C:/create-temp-folder.ps1]}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: old, namespace: default}
spec:
  clusterName: prod
  selector: {}
  template:
    spec:
      clusterName: prod
      version: v1.36.3
      bootstrap:
        configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: old}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureMachineTemplate, name: old}
`

// TestSentencesOfPages: a page that shows what a command prints of a wrong value shows what it does print.
func TestSentencesOfPages(t *testing.T) {
	vSphere, _ := migrated(t)
	wrong := func(old, value string) string {
		if !strings.Contains(vSphere, old) {
			t.Fatalf("the pool has no %s", old)
		}
		return clusterOfCAPV + strings.Replace(vSphere, old, value, 1)
	}
	ours := strings.NewReplacer("AzureMachineTemplate", "WindowsMachineTemplate",
		"KubeadmConfigTemplate", "WindowsBootstrapConfigTemplate").Replace(oldPool)
	for _, c := range []struct{ page, file, says string }{
		{
			migrationPage, clusterOfCAPZ + ours,
			`unknown field "spec.template.spec.vmSize"; the field of this name is spec.template.spec.azure.vmSize; ` +
				`look at the indentation`,
		},
		{migrationPage, clusterOfCAPZ + oldPool, "a Windows machine needs a WindowsMachineTemplate"},
		{
			migrationPage, strings.Replace(wrong("kind: MachineDeployment", "kind: MachinePool"), "  selector: {}\n", "", 1),
			"write the MachineDeployment and its two templates",
		},
		{limitsPage, wrong("cni: Calico", "cni: Cilium"), "Cilium does not run on Windows; write Calico or Flannel"},
		{limitsPage, strings.Replace(wrong("", ""), "10.244.0.0/16", "fd00::/56", 1), "which pods on Windows do not support"},
	} {
		if !strings.Contains(readText(t, c.page), c.says) {
			t.Errorf("%s does not show: %s", c.page, c.says)
		}
		if got := call(t, "", "plan", "-f", inFile(t, c.file)); got.Code == exitDone || !strings.Contains(got.Err, c.says) {
			t.Errorf("the command does not print what %s shows: %s\nbut, with exit code %d,\n%s", c.page, c.says, got.Code, got.Err)
		}
	}
}
