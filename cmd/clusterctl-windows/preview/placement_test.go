package preview

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	azureFile = "testdata/azure.yaml"

	// ofAzure is where the AzureCluster of azureFile says what a placement needs.
	subscriptionLine = "  subscriptionID: 22222222-2222-2222-2222-222222222222\n"
	groupLine        = "  resourceGroup: rg-blue\n"
	locationLine     = "  location: northeurope\n"
	vnetLine         = "    vnet: {name: net, resourceGroup: rg-net}\n"
	nodesLine        = "    - {name: nodes, role: node, securityGroup: {name: nsg}, routeTable: {name: routes}}\n"
	sizeLine         = "        vmSize: Standard_D4s_v5\n"
	configLine       = "{bootstrapDeadlineSeconds: 1500}"
)

// inSpec says in the template what an AzureCluster would say.
// noLocation is what stands for the location of a cluster whose files do not say where it is.
const noLocation = "placeholder"

const inSpec = sizeLine + "        subscriptionID: 22222222-2222-2222-2222-222222222222\n        resourceGroup: rg-blue\n" +
	"        location: northeurope\n        networkInterfaces: [{name: node, subnet: {id: /subscriptions/" +
	"22222222-2222-2222-2222-222222222222/resourceGroups/rg-net/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes}}]\n"

// TestPoolsOfAzure has pools that an API server takes, with what the files leave to the Cluster's infrastructure.
func TestPoolsOfAzure(t *testing.T) {
	const (
		full   = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/rg-blue/"
		absent = "AzureCluster default/blue is not in the files; using the placeholder "
		exact  = "; for the exact plan, add it, or set the "
		lacks  = "AzureCluster default/blue has no "
	)
	without := func(lines ...string) string {
		var oldnew []string
		for _, line := range lines {
			oldnew = append(oldnew, line, "")
		}
		return edited(t, azureFile, oldnew...)
	}
	for name, c := range map[string]struct {
		reason, text, home string
		notes              []string
	}{
		"all there": {"nothing is left out", textOf(t, azureFile), full, nil},
		"no AzureCluster": {
			"the cluster is in another repository", withoutKind(textOf(t, azureFile), "AzureCluster"),
			"/subscriptions/" + noID + "/resourceGroups/blue/",
			[]string{
				absent + noID + " for the subscription, which its spec.subscriptionID sets" + exact + "subscription in spec.azure",
				absent + "blue for the resource group, which its spec.resourceGroup sets" + exact + "resource group in spec.azure",
				absent + "placeholder for the location, which its spec.location sets" + exact + "location in spec.azure",
				absent + "blue-vnet for the virtual network, which its spec.networkSpec.vnet.name sets" + exact +
					"virtual network in spec.azure",
				absent + "blue-node-subnet for the subnet, which its spec.networkSpec.subnets sets" + exact + "subnet in spec.azure",
			},
		},
		"no AzureCluster, and the spec says all": {
			"none is needed", withoutKind(edited(t, azureFile, sizeLine, inSpec), "AzureCluster"), full, nil,
		},
		"another infrastructure": {
			"a control plane elsewhere", withoutKind(edited(t, azureFile, "kind: AzureCluster,", "kind: OtherCluster,", sizeLine, inSpec),
				"AzureCluster"), full, nil,
		},
		"what the webhook fills in": {
			"names follow from that of the AzureCluster", without(groupLine, vnetLine, nodesLine),
			"/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/blue/",
			[]string{
				lacks + "spec.resourceGroup; using blue for the resource group, which Cluster API Provider Azure sets there",
				lacks + "spec.networkSpec.vnet.name; using blue-vnet for the virtual network, which Cluster API Provider Azure sets there",
				lacks + "spec.networkSpec.subnets; using blue-node-subnet for the subnet, which Cluster API Provider Azure sets there",
			},
		},
		"what nobody fills in": {
			"a template of a cluster", without(subscriptionLine, locationLine), "/subscriptions/" + noID + "/resourceGroups/rg-blue/",
			[]string{
				lacks + "spec.subscriptionID; using the placeholder " + noID +
					" for the subscription; for the exact plan, set it there or in spec.azure",
				lacks + "spec.location; using the placeholder " + noLocation +
					" for the location; for the exact plan, set it there or in spec.azure",
			},
		},
		"a group that is in the spec": {
			"nothing else depends on that of the AzureCluster",
			edited(t, azureFile, groupLine, "", sizeLine, sizeLine+"        resourceGroup: rg-blue\n"), full, nil,
		},
		"paused": {
			"people pause clusters while they move them",
			edited(t, azureFile, "kind: AzureCluster\nmetadata: {name: blue}",
				"kind: AzureCluster\nmetadata: {name: blue, annotations: {cluster.x-k8s.io/paused: \"\"}}"), full,
			[]string{
				"AzureCluster default/blue has the annotation cluster.x-k8s.io/paused: no machine gets a VM until that is removed",
			},
		},
		"a topology": {
			"its ClusterClass says which infrastructure there is",
			withoutKind(edited(t, azureFile, "  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, "+
				"name: blue}",
				"  topology: {version: v1.36.3, classRef: {name: blue}}", sizeLine, inSpec), "AzureCluster"), full, nil,
		},
		"no endpoint": {
			"the provider sets it", edited(t, azureFile, "  controlPlaneEndpoint: {host: blue.example.com, port: 6443}\n", ""), full,
			[]string{"the endpoint of the API server, which AzureCluster default/blue sets"},
		},
		"a Secret": {
			"it has the rights, and is not in git", edited(t, azureFile, "      azure:\n",
				"      identityRef: {kind: Secret, name: azure}\n      azure:\n"), full, nil,
		},
		"an identity of CAPZ": {
			"it is not in git", edited(t, azureFile, "      azure:\n",
				"      identityRef: {kind: AzureClusterIdentity, name: other}\n      azure:\n"), full, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, notes := gathered(t, c.text)
			expect.Same(t, c.reason, c.notes, notes)
			home := "azure://" + c.home + "providers/Microsoft.Compute/virtualMachines/" + m.identity.Name
			expect.Same(t, "provider ID", strings.ToLower(home), strings.ToLower(m.Windows.Spec.ProviderID))
			if m.Shown.Plan == nil || m.Shown.Plan.Machine.Node != m.identity.Name || len(m.Guest.UserData) == 0 {
				t.Errorf("no plan for %s: %+v", m.identity.Name, m.Shown.Plan)
			}
		})
	}
}

// TestRefusedPlacements are those that the controller refuses, too.
func TestRefusedPlacements(t *testing.T) {
	const vm = "WindowsMachine default/windows-1: "
	for name, c := range map[string]struct{ old, becomes, want string }{
		"another infrastructure": {
			"kind: AzureCluster,", "kind: OtherCluster,", vm + "spec.azure.subscriptionID is not set, but a VM needs it; set it in a " +
				"new WindowsMachineTemplate, or in a patch of the ClusterClass, and use that in the MachineDeployment, which then " +
				"replaces its machines",
		},
		"a cloud that is none": {
			locationLine, locationLine + "  azureEnvironment: Moon\n", vm + `AzureCluster default/blue is in the cloud "Moon", which is ` +
				"not defined: spec.azureEnvironment must be one of [AzurePublicCloud AzureUSGovernmentCloud AzureChinaCloud]",
		},
		"subnets that are none": {
			"    subnets:\n    - {name: masters, role: control-plane}\n" + nodesLine, "    subnets: nodes\n", vm + "AzureCluster " +
				"default/blue has a value of another type than v1beta1 in spec.networkSpec.subnets: use a version of its provider " +
				"whose AzureClusters have the fields of v1beta1",
		},
		"tags that Azure refuses": {
			locationLine, locationLine + "  additionalTags: {'a<b': c}\n", vm + "spec.additionalTags of AzureCluster default/blue: " +
				`the tag "a<b" has one of the characters < > % & \ ? / in its name, which Azure refuses: use another name`,
		},
		"a group whose Nodes would be deleted": {
			sizeLine, sizeLine + "        resourceGroup: windows(nodes)\n", vm + `spec.azure.resourceGroup "windows(nodes)" is another ` +
				`group than "rg-blue" of AzureCluster default/blue, and cannot be the value of the label ` +
				`kubernetes.azure.com/resource-group, by which Azure's cloud controller manager finds the VM of a Node: use a group of ` +
				`at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit, or the cluster's`,
		},
		"a public IP beside a fixed address": {
			sizeLine, sizeLine + "        networkInterfaces: [{name: a, publicIP: Enabled}, {name: b, privateAddress: 10.1.0.9}]\n",
			vm + "spec.azure.networkInterfaces: a has a public IP, which no adapter can have if another has a privateAddress or the " +
				"cloud needs adapters made before their VM: remove the one or the other",
		},
		"no image": {
			"        image: {computeGallery: {gallery: images, name: ws2022, version: 1.36.3}}\n", "", vm +
				"spec.azure.image is not set, but a VM needs " +
				"it; set it in a new WindowsMachineTemplate, or in a patch of the ClusterClass, and use that in the " +
				"MachineDeployment, which then replaces its machines",
		},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, edited(t, azureFile, c.old, c.becomes), c.want) })
	}
}

// azureJSON is the file of a plan for the programs of Azure.
func azureJSON(t *testing.T, m *Machine) map[string]any {
	t.Helper()
	for _, phase := range m.Guest.Plan.Phases {
		for _, one := range phase.Steps {
			file, ok := one.(*plan.File)
			if !ok || one.Base().Name != "azure-json" {
				continue
			}
			content := file.Content
			for _, part := range file.Text {
				content = append(content, part.Text...)
			}
			var read map[string]any
			expect.OK(t, json.Unmarshal(content, &read))
			return read
		}
	}
	t.Fatal("the plan has no azure.json")
	return nil
}

// TestCloudConfigFile has what only the file for Azure's programs shows of a placement.
func TestCloudConfigFile(t *testing.T) {
	const (
		config   = "{node: {cloudConfigFile: Managed}}"
		tenant   = "66666666-6666-6666-6666-666666666666"
		stands   = "the tenant's ID in the file of spec.node.cloudConfigFile, which "
		identity = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n" +
			"metadata: {name: deployer}\nspec: {type: WorkloadIdentity, tenantID: "
		secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: azure}\n" +
			"stringData: {clientID: 77777777-7777-7777-7777-777777777777, clientSecret: s3cret, tenantID: "
		own  = "      identityRef: {kind: Secret, name: azure}\n      azure:\n"
		risk = "WindowsMachine spec.azure.identities: the VM has no identity"
	)
	managed := func(oldnew ...string) string {
		return edited(t, azureFile, append([]string{configLine, config}, oldnew...)...)
	}
	for name, c := range map[string]struct {
		text, tenant, securityGroup string
		notes                       []string
	}{
		"an identity": {managed() + identity + tenant + "}\n", tenant, "nsg", nil},
		"an identity that is elsewhere": {
			managed(), noID, "nsg", []string{stands + "spec.tenantID of AzureClusterIdentity default/deployer has"},
		},
		"a domain": {
			managed() + identity + "example.com}\n", noID, "nsg",
			[]string{stands + "spec.tenantID of AzureClusterIdentity default/deployer has"},
		},
		"a Secret": {managed("      azure:\n", own) + secret + tenant + "}\n", tenant, "nsg", nil},
		"a Secret that is elsewhere": {
			managed("      azure:\n", own), noID, "nsg", []string{stands + "the key tenantID of Secret default/azure has"},
		},
		"no identity": {
			managed("  identityRef: {kind: AzureClusterIdentity, name: deployer}\n", ""), noID, "nsg",
			[]string{stands + "the manager's own identity has"},
		},
		"names that follow": {
			managed(", securityGroup: {name: nsg}, routeTable: {name: routes}", "") + identity + tenant + "}\n", tenant, "blue-node-nsg",
			[]string{
				"AzureCluster default/blue has no spec.networkSpec.subnets[].securityGroup.name; using blue-node-nsg for the security " +
					"group, which Cluster API Provider Azure sets there",
				"AzureCluster default/blue has no spec.networkSpec.subnets[].routeTable.name; using blue-node-routetable for the route " +
					"table, which Cluster API Provider Azure sets there",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, notes := gathered(t, c.text)
			if last := len(notes) - 1; last < 0 || !strings.HasPrefix(notes[last], risk) {
				t.Errorf("the last note is no warning of Render: %q", notes)
			} else {
				expect.Same(t, "notes", c.notes, append([]string(nil), notes[:last]...))
			}
			file := azureJSON(t, m)
			expect.Same(t, "tenant", any(c.tenant), file["tenantId"])
			expect.Same(t, "security group", any(c.securityGroup), file["securityGroupName"])
		})
	}
}

// TestGroupOfAzure: a pool in a group of its own has the label by which its Nodes are kept.
func TestGroupOfAzure(t *testing.T) {
	m, notes := gathered(t, edited(t, azureFile, sizeLine, sizeLine+"        resourceGroup: Windows-Nodes\n"))
	expect.Same(t, "notes", []string(nil), notes)
	for _, phase := range m.Guest.Plan.Phases {
		for _, one := range phase.Steps {
			service, is := one.(*plan.Service)
			if is && slices.ContainsFunc(service.Command, func(v plan.Value) bool {
				return v.String() == "--node-labels=kubernetes.azure.com/resource-group=windows-nodes"
			}) {
				return
			}
		}
	}
	t.Error("no service of the plan has the label")
}
