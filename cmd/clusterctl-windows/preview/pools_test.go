package preview

import (
	"bytes"
	"strings"
	"testing"
	"text/template"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOlderClusterAPI: a cluster in v1beta1, in which the flavors of Cluster API Provider Azure are written. Its references
// arrive: the identity has the subscription of the AzureCluster, and the file for Azure's programs the tenant of its identity.
func TestOlderClusterAPI(t *testing.T) {
	m := expect.Got(Gather(setOf(t, textOf(t, "testdata/capz.yaml")), "mixed-win-1"))(t)
	expect.Same(t, "control plane", "mixed-masters", m.cluster.Spec.ControlPlaneRef.Name)
	expect.Same(t, "pods", []string{"10.244.0.0/16"}, m.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks)
	expect.Same(t, "time to drain", int32(600), *m.Owner.Spec.Deletion.NodeDrainTimeoutSeconds)
	const home = "azure:///subscriptions/33333333-3333-3333-3333-333333333333/resourceGroups/mixed-rg/"
	if !strings.HasPrefix(m.Windows.Spec.ProviderID, home) {
		t.Errorf("the provider ID %s does not begin with %s", m.Windows.Spec.ProviderID, home)
	}
	file := azureJSON(t, m)
	expect.Same(t, "tenant", any("55555555-5555-5555-5555-555555555555"), file["tenantId"])
	expect.Same(t, "subnet", any("workers"), file["subnetName"])
	for _, note := range m.Notes {
		if strings.Contains(note, "subscription") || strings.Contains(note, "tenant") {
			t.Errorf("a placeholder for what the files say: %s", note)
		}
	}
}

// TestOlderMachine: a Machine in v1beta1 refers to its objects with a version, which need not be there.
func TestOlderMachine(t *testing.T) {
	older := strings.NewReplacer("cluster.x-k8s.io/v1beta2\nkind: Machine\n", "cluster.x-k8s.io/v1beta1\nkind: Machine\n",
		"apiGroup: bootstrap.cluster.x-k8s.io,", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1,",
		"apiGroup: infrastructure.cluster.x-k8s.io,", "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1,",
	).Replace(machineOf("windows-1"))
	text := textOf(t, vsphereFile) + older + windowsMachine + configOf("")
	m, _ := gathered(t, text)
	expect.Same(t, "infrastructure", "infrastructure.cluster.x-k8s.io", m.Owner.Spec.InfrastructureRef.APIGroup)
	expect.Same(t, "config", "windows-1", m.config.Name)
}

// TestPoolOfThePage: docs/azure.md's template is one of a pool.
func TestPoolOfThePage(t *testing.T) {
	page := blocksOf(t, "../../../docs/azure.md", "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: "+
		"WindowsMachineTemplate")[0]
	pool := withoutKind(textOf(t, azureFile), "WindowsMachineTemplate") + "---\n" + page
	pool = strings.ReplaceAll(pool, "kind: WindowsMachineTemplate, name: windows}", "kind: WindowsMachineTemplate, name: "+
		"windows-nodes}")
	m, notes := gathered(t, pool)
	expect.Same(t, "notes", []string(nil), notes)
	expect.Same(t, "subnet", []string{"/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/rg-net/providers/" +
		"Microsoft.Network/virtualNetworks/net/subnets/nodes"}, m.Windows.Status.Azure.SubnetIDs)
}

// TestPoolsOfTheDemo takes the lab's own files, as the demo applies them, before there is a machine of them.
func TestPoolsOfTheDemo(t *testing.T) {
	const lab = "../../../test/suites/lab/"
	filled := func(file string, azure bool) string {
		var text bytes.Buffer
		expect.OK(t, template.Must(template.New(file).Parse(textOf(t, lab+file))).Execute(&text, map[string]any{
			"Name": "demo", "Namespace": "default", "Cluster": "demo", "Replicas": 2, "Version": "v1.36.3", "Template": "windows-2022",
			"Datacenter": "DC0", "ResourcePool": "pool", "Folder": "folder", "Credentials": map[string]string{"server": "YQ=="},
			"Azure": azure, "Size": "Standard_D4s_v5", "FallbackSize": "Standard_D4as_v5",
			"Image": "/subscriptions/77777777-7777-7777-7777-777777777777/resourceGroups/images/providers/Microsoft.Compute/images/ws2022",
			"Host":  "127.0.0.1", "Port": 6443, "Subscription": "77777777-7777-7777-7777-777777777777", "Group": "machines",
			"NetworkGroup": "networks", "Location": "northeurope", "VNet": "net", "Subnet": "nodes",
			"Tenant": "88888888-8888-8888-8888-888888888888", "Client": "99999999-9999-9999-9999-999999999999",
			"Secret": "s3cret-of-azure",
		}))
		return text.String()
	}
	const cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: demo}\nspec:\n" +
		"  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}\n" +
		"  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: demo}\n---\n"
	for name, c := range map[string]struct {
		text, begins string
	}{
		"Azure": {
			cluster + filled("azurecluster.yaml", true) + "---\n" + filled("pool.yaml", true),
			"azure:///subscriptions/77777777-7777-7777-7777-777777777777/resourceGroups/machines/",
		},
		"vSphere": {cluster + filled("azurecluster.yaml", true) + "---\n" + filled("pool.yaml", false), "vsphere://"},
	} {
		m := expect.Got(Gather(setOf(t, c.text), "demo-1"))(t)
		if !strings.HasPrefix(m.Windows.Spec.ProviderID, c.begins) || m.Shown.Plan == nil {
			t.Errorf("%s: the provider ID is %s", name, m.Windows.Spec.ProviderID)
		}
	}
}

// TestPools: each pool of the files has one machine that stands for it, whatever the others are called, and each Machine is one.
func TestPools(t *testing.T) {
	text := textOf(t, vsphereFile)
	_, deployment, _ := strings.Cut(text, "kind: MachineDeployment\n")
	deployment = "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\n" + deployment
	other := strings.NewReplacer("metadata: {name: windows}", "metadata: {name: windows-1}",
		"v1.36.3", "v1.35.2").Replace(deployment)
	linux := strings.NewReplacer("metadata: {name: windows}", "metadata: {name: linux}", "kind: WindowsMachineTemplate",
		"kind: VSphereMachineTemplate").Replace(deployment)
	all := text + other + linux + machineOf("machine") + windowsMachine + configOf("")
	named := func(text, machine string) (names []string) {
		for _, m := range expect.Got(Pools(setOf(t, text), machine))(t) {
			names = append(names, m.Source+" "+m.Owner.Spec.Version)
		}
		return names
	}
	expect.Same(t, "all", []string{
		"MachineDeployment default/windows v1.36.3", "MachineDeployment default/windows-1 v1.35.2", "Machine default/machine v1.36.3",
	}, named(all, ""))
	expect.Same(t, "of a machine", []string{"MachineDeployment default/windows-1 v1.35.2"}, named(all, "windows-1-x"))
	for name, c := range map[string]struct{ text, want string }{
		"no pool": {
			withoutKind(text, "MachineDeployment"), "standard input has neither a Machine nor a MachineDeployment of Windows machines; " +
				"write the MachineDeployment and its two templates",
		},
		"one of two is refused": {
			text + strings.Replace(other, "v1.35.2", "v1.29.0", 1), "default/windows-1-aaaaa-aaaaa: Machine spec.version: \"v1.29.0\" " +
				"is not supported; use v1.30.0 or a later v1",
		},
	} {
		_, err := Pools(setOf(t, c.text), "")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", name, err, c.want)
		}
	}
}
